resource "digitalocean_database_cluster" "valkey" {
  name       = "tf-valkey"
  engine     = "valkey"
  version    = "8"
  region     = "nyc3"
  size       = var.step == 1 ? "db-s-1vcpu-1gb" : "db-s-1vcpu-2gb"
  node_count = 1
}

resource "digitalocean_database_valkey_config" "valkey" {
  cluster_id       = digitalocean_database_cluster.valkey.id
  maxmemory_policy = var.step == 1 ? "allkeys-lru" : "noeviction"
}

output "imports" {
  value = {
    "digitalocean_database_cluster.valkey"       = digitalocean_database_cluster.valkey.id
    "digitalocean_database_valkey_config.valkey" = digitalocean_database_cluster.valkey.id
  }
}
