package database_test

import (
	"testing"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
	"github.com/better-compute/cloud-resources/provider/providertest"
)

func TestDatabases(t *testing.T) {
	for _, engine := range []string{"pg", "mysql", "mongodb"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			kindtest.Run(t, kindtest.Case{Kind: "do.database." + engine + ".db", Create: "POST /v2/databases/*/dbs", Objects: "database.db"})
		})
	}
}

func TestPools(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind: "do.database.pg.pool", Create: "POST /v2/databases/*/pools", Objects: "database.pool",
		ParentSpec: cloud.Spec{"region": "nyc3", "version": "16", "size": "gd-16vcpu-64gb", "num_nodes": 2},
		Spec:       cloud.Spec{"name": "web", "mode": "transaction", "size": 5, "db": "shop", "user": "app"},
		Siblings: []providertest.Sibling{
			{Kind: "do.database.pg.db", Spec: cloud.Spec{"name": "shop"}},
			{Kind: "do.database.pg.user", Spec: cloud.Spec{"name": "app"}},
		},
		Updates: []cloud.Spec{
			{"mode": "session"}, {"size": 20}, {"user": "doadmin"}, {"db": "defaultdb", "size": 3}, {"user": nil},
		},
	})
}

func TestTopics(t *testing.T) {
	kindtest.Run(t, kindtest.Case{
		Kind: "do.database.kafka.topic", Create: "POST /v2/databases/*/topics", Objects: "database.topic", Async: true,
		Updates: []cloud.Spec{
			{"partition_count": 6}, {"replication_factor": 3},
			{"config": map[string]any{"retention_ms": -1, "preallocate": true, "min_cleanable_dirty_ratio": 0}},
		},
	})
}

func TestReplicas(t *testing.T) {
	for _, engine := range []string{"pg", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			kindtest.Run(t, kindtest.Case{
				Kind: "do.database." + engine + ".replica", Create: "POST /v2/databases/*/replicas", Objects: "database.replica",
				Updates: []cloud.Spec{
					{"size": "db-s-4vcpu-8gb"}, {"storage_size_mib": 184320}, {"service_cnames": []any{"r.example.com"}}, {"service_cnames": []any{}},
				},
			})
		})
	}
}
