resource "digitalocean_database_cluster" "kafka" {
  name       = "tf-kafka"
  engine     = "kafka"
  version    = "3.8"
  region     = "nyc3"
  size       = var.step == 1 ? "db-s-2vcpu-2gb" : "db-s-2vcpu-4gb"
  node_count = 3
}

resource "digitalocean_database_kafka_topic" "orders" {
  cluster_id         = digitalocean_database_cluster.kafka.id
  name               = "orders"
  partition_count    = var.step == 1 ? 3 : 4
  replication_factor = 2

  config {
    cleanup_policy = "compact"
    retention_ms   = var.step == 1 ? "3600000" : "7200000"
  }
}

# One entry: the provider keeps access lists in order, DigitalOcean does not.
resource "digitalocean_database_user" "app" {
  cluster_id = digitalocean_database_cluster.kafka.id
  name       = "app"

  settings {
    acl {
      topic      = "orders"
      permission = var.step == 1 ? "consume" : "produceconsume"
    }
  }
}

resource "digitalocean_database_kafka_schema_registry" "order" {
  cluster_id   = digitalocean_database_cluster.kafka.id
  subject_name = "order"
  schema_type  = "AVRO"
  schema       = jsonencode({ type = "string" })
}

resource "digitalocean_database_kafka_config" "kafka" {
  cluster_id                   = digitalocean_database_cluster.kafka.id
  group_max_session_timeout_ms = var.step == 1 ? 1800000 : 1700000
  auto_create_topics_enable    = true
  log_retention_ms             = "-1"
}

# Not imported: what the provider never reads back (access lists, partitions), and
# schemas, whose import does not carry their name.
output "imports" {
  value = {
    "digitalocean_database_cluster.kafka"      = digitalocean_database_cluster.kafka.id
    "digitalocean_database_kafka_config.kafka" = digitalocean_database_cluster.kafka.id
  }
}
