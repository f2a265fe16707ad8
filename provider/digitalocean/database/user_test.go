package database_test

import (
	"testing"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

func acl(pairs ...string) map[string]any {
	list := []any{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, map[string]any{"topic": pairs[i], "permission": pairs[i+1]})
	}
	return map[string]any{"acl": list}
}

func TestUsers(t *testing.T) {
	for engine, updates := range map[database.Engine][]cloud.Spec{
		database.PG:    {{"settings": map[string]any{"pg_allow_replication": true}}, {"settings": map[string]any{"pg_allow_replication": false}}},
		database.MySQL: {{"mysql_settings": map[string]any{"auth_plugin": "mysql_native_password"}}},
		database.MongoDB: {
			{"settings": map[string]any{"mongo_user_settings": map[string]any{"databases": []any{"b", "a"}, "role": "readOnly"}}},
		},
		database.Kafka: {
			{"settings": acl("b", "consume", "a", "produceconsume", "orders", "admin")}, {"settings": acl("b", "consume")},
		},
		database.OpenSearch: {
			{"settings": map[string]any{"opensearch_acl": []any{map[string]any{"index": "b", "permission": "deny"}}}},
		},
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			kindtest.Run(t, kindtest.Case{
				Kind: "do.database." + string(engine) + ".user", Create: "POST /v2/databases/*/users",
				Objects: "database.user", Updates: updates,
			})
		})
	}
}
