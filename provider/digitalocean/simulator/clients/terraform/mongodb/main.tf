resource "digitalocean_database_cluster" "mongodb" {
  name       = "tf-mongodb"
  engine     = "mongodb"
  version    = "7.0"
  region     = "nyc3"
  size       = var.step == 1 ? "db-s-1vcpu-1gb" : "db-s-1vcpu-2gb"
  node_count = 1
}

resource "digitalocean_database_user" "app" {
  cluster_id = digitalocean_database_cluster.mongodb.id
  name       = "app"
}

resource "digitalocean_database_mongodb_config" "mongodb" {
  cluster_id           = digitalocean_database_cluster.mongodb.id
  default_read_concern = var.step == 1 ? "local" : "majority"
}

output "imports" {
  value = {
    "digitalocean_database_cluster.mongodb"        = digitalocean_database_cluster.mongodb.id
    "digitalocean_database_user.app"               = "${digitalocean_database_cluster.mongodb.id},app"
    "digitalocean_database_mongodb_config.mongodb" = digitalocean_database_cluster.mongodb.id
  }
}
