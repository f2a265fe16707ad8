resource "digitalocean_database_cluster" "mysql" {
  name       = "tf-mysql"
  engine     = "mysql"
  version    = "8"
  region     = "nyc3"
  size       = "db-s-1vcpu-1gb"
  node_count = 1
  sql_mode   = var.step == 1 ? "ANSI" : "ANSI,STRICT_ALL_TABLES"
}

resource "digitalocean_database_user" "app" {
  cluster_id        = digitalocean_database_cluster.mysql.id
  name              = "app"
  mysql_auth_plugin = var.step == 1 ? "caching_sha2_password" : "mysql_native_password"
}

resource "digitalocean_database_mysql_config" "mysql" {
  cluster_id      = digitalocean_database_cluster.mysql.id
  connect_timeout = var.step == 1 ? 10 : 20
}

# The cluster is not imported: the provider reads sql_mode only where it is known.
output "imports" {
  value = {
    "digitalocean_database_user.app"           = "${digitalocean_database_cluster.mysql.id},app"
    "digitalocean_database_mysql_config.mysql" = digitalocean_database_cluster.mysql.id
  }
}
