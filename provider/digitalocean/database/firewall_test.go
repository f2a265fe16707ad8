package database_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

const instance = "ins_0000000000000000000000acme"

func TestFirewalls(t *testing.T) {
	droplet := strconv.Itoa(simulator.DropletID(kindtest.Token, "acme"))
	for _, engine := range []database.Engine{database.PG, database.MySQL, database.Valkey, database.MongoDB, database.Kafka, database.OpenSearch} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			kindtest.Run(t, kindtest.Case{
				Kind: "do.database." + string(engine) + ".firewall", Create: "PUT /v2/databases/*/firewall", Count: guarded,
				Instances: map[string]string{instance: droplet},
				Updates: []cloud.Spec{
					{"rules": []any{ipRule("203.0.113.2", ""), ipRule("203.0.113.1/32", "home")}},
					{"instances": []any{instance}},
					{"instances": []any{}},
					{"rules": []any{ipRule("203.0.113.0/24", "")}, "instances": []any{instance}},
				},
			})
		})
	}
}

func ipRule(value, description string) map[string]any {
	r := map[string]any{"type": "ip_addr", "value": value}
	if description != "" {
		r["description"] = description
	}
	return r
}

// guarded counts the clusters that have rules.
func guarded(t *testing.T, url string) int {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+"/v2/databases", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+kindtest.Token)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	var list struct {
		Databases []struct {
			Rules []any `json:"rules"`
		} `json:"databases"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&list))
	n := 0
	for _, d := range list.Databases {
		if len(d.Rules) > 0 {
			n++
		}
	}
	return n
}
