package database_test

import (
	"testing"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/kindtest"
)

// clusterUpdates change what every engine's clusters have; each is one or more
// calls at the provider.
var clusterUpdates = []cloud.Spec{
	{"size": "db-s-4vcpu-8gb"},
	{"storage_size_mib": 184320},
	{"maintenance_window": map[string]any{"day": "Friday", "hour": "18:00:00"}},
	{"storage_autoscale": map[string]any{"enabled": true, "threshold_percent": 85, "increment_gib": 20}},
	{"storage_autoscale": map[string]any{"enabled": false}},
	{"service_cnames": []any{"db.example.com", "DB2.example.com"}},
	{"service_cnames": []any{}},
	{"tags": []any{"Team:web", "prod"}},
	{"tags": []any{"prod"}},
}

func TestClusters(t *testing.T) {
	for engine, own := range map[database.Engine][]cloud.Spec{
		database.PG: {
			{"version": "17"}, {"num_nodes": 2}, {"region": "ams3"},
			{"config": map[string]any{"autovacuum_naptime": 30, "jit": false}},
			{"size": "gd-4vcpu-16gb", "num_nodes": 3, "maintenance_window": map[string]any{"day": "monday", "hour": "01:00"}},
		},
		database.MySQL:      {{"version": "8.4"}, {"num_nodes": 2}, {"region": "ams3"}, {"sql_mode": "STRICT_ALL_TABLES,ANSI,NO_ZERO_DATE"}, {"config": map[string]any{"connect_timeout": 20}}},
		database.Valkey:     {{"version": "9"}, {"num_nodes": 2}, {"region": "ams3"}, {"eviction_policy": "volatile_ttl"}, {"config": map[string]any{"valkey_timeout": 600}}},
		database.MongoDB:    {{"version": "8.0"}, {"num_nodes": 3}, {"region": "ams3"}, {"config": map[string]any{"slow_op_threshold_ms": 50}}},
		database.Kafka:      {{"version": "3.9"}, {"size": "gd-4vcpu-16gb", "num_nodes": 6}, {"region": "ams3"}, {"config": map[string]any{"auto_create_topics_enable": true}}},
		database.OpenSearch: {{"version": "3"}, {"num_nodes": 3}, {"region": "ams3"}, {"config": map[string]any{"http_max_content_length_bytes": 200000000}}},
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			updates := append(append([]cloud.Spec{}, clusterUpdates...), own...)
			if engine == database.Kafka {
				updates = append([]cloud.Spec{{"size": "gd-2vcpu-8gb"}}, updates[1:]...)
			}
			kindtest.Run(t, kindtest.Case{
				Kind: "do.database." + string(engine), Create: "POST /v2/databases", Objects: "database", Updates: updates,
			})
		})
	}
}
