package digitalocean

import (
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/apps"
	"github.com/better-compute/cloud-resources/provider/digitalocean/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
	"github.com/better-compute/cloud-resources/provider/digitalocean/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/functions"
	"github.com/better-compute/cloud-resources/provider/digitalocean/harness"
	"github.com/better-compute/cloud-resources/provider/digitalocean/inference"
	"github.com/better-compute/cloud-resources/provider/digitalocean/marketplace"
	"github.com/better-compute/cloud-resources/provider/digitalocean/network"
	"github.com/better-compute/cloud-resources/provider/digitalocean/observability"
	"github.com/better-compute/cloud-resources/provider/digitalocean/spaces"
	"github.com/better-compute/cloud-resources/provider/digitalocean/storage"
)

// kinds is every kind, in the order that callers see. a is nil when only
// manifests are asked for.
func kinds(a *doapi.Account) []cloud.Kind {
	return []cloud.Kind{
		database.Cluster(a, database.PG),
		database.User(a, database.PG),
		database.DB(a, database.PG),
		database.Pool(a, database.PG),
		database.Replica(a, database.PG),
		database.Firewall(a, database.PG),
		database.Cluster(a, database.MySQL),
		database.User(a, database.MySQL),
		database.DB(a, database.MySQL),
		database.Replica(a, database.MySQL),
		database.Firewall(a, database.MySQL),
		database.Cluster(a, database.Valkey),
		database.Firewall(a, database.Valkey),
		database.Cluster(a, database.MongoDB),
		database.User(a, database.MongoDB),
		database.DB(a, database.MongoDB),
		database.Firewall(a, database.MongoDB),
		database.Cluster(a, database.Kafka),
		database.User(a, database.Kafka),
		database.Topic(a, database.Kafka),
		database.Firewall(a, database.Kafka),
		database.Cluster(a, database.OpenSearch),
		database.User(a, database.OpenSearch),
		database.Firewall(a, database.OpenSearch),
		apps.App(a),
		functions.Namespace(a),
		spaces.Key(a),
		marketplace.Addon(a),
		network.Attachment(a),
		edge.Domain(a),
		edge.Record(a),
		edge.CDN(a),
		inference.Dedicated(a),
		inference.Token(a),
		harness.Environment(a),
		storage.Volume(a),
		observability.Check(a),
		observability.Alert(a),
	}
}
