resource "digitalocean_database_cluster" "opensearch" {
  name       = "tf-opensearch"
  engine     = "opensearch"
  version    = "2"
  region     = "nyc3"
  size       = var.step == 1 ? "db-s-1vcpu-2gb" : "db-s-2vcpu-4gb"
  node_count = 1
}

resource "digitalocean_database_opensearch_config" "opensearch" {
  cluster_id                  = digitalocean_database_cluster.opensearch.id
  cluster_max_shards_per_node = var.step == 1 ? 1000 : 2000
}

output "imports" {
  value = {
    "digitalocean_database_cluster.opensearch"           = digitalocean_database_cluster.opensearch.id
    "digitalocean_database_opensearch_config.opensearch" = digitalocean_database_cluster.opensearch.id
  }
}
