resource "digitalocean_database_cluster" "pg" {
  name       = "tf-pg"
  engine     = "pg"
  version    = var.step == 1 ? "16" : "17"
  region     = "nyc3"
  size       = var.step == 1 ? "db-s-1vcpu-2gb" : "db-s-2vcpu-4gb"
  node_count = 1
  tags       = var.step == 1 ? ["env:test"] : ["env:prod", "team:web"]

  maintenance_window {
    day  = var.step == 1 ? "friday" : "monday"
    hour = "13:00"
  }
}

resource "digitalocean_database_user" "app" {
  cluster_id = digitalocean_database_cluster.pg.id
  name       = "app"
}

resource "digitalocean_database_db" "shop" {
  cluster_id = digitalocean_database_cluster.pg.id
  name       = "shop"
}

resource "digitalocean_database_connection_pool" "shop" {
  cluster_id = digitalocean_database_cluster.pg.id
  name       = "shop-pool"
  mode       = "transaction"
  size       = 10
  db_name    = digitalocean_database_db.shop.name
  user       = digitalocean_database_user.app.name
}

resource "digitalocean_database_replica" "copy" {
  cluster_id = digitalocean_database_cluster.pg.id
  name       = "copy"
  region     = "nyc3"

  # The size is not read back; a change of the cluster comes first.
  depends_on = [digitalocean_database_connection_pool.shop]
}

resource "digitalocean_database_firewall" "all" {
  cluster_id = digitalocean_database_cluster.pg.id

  rule {
    type  = "ip_addr"
    value = "192.0.2.1"
  }

  dynamic "rule" {
    for_each = var.step == 1 ? [] : ["192.0.2.2"]
    content {
      type  = "ip_addr"
      value = rule.value
    }
  }
}

resource "digitalocean_database_logsink_rsyslog" "logs" {
  cluster_id = digitalocean_database_cluster.pg.id
  name       = "logs"
  server     = "logs.example.com"
  port       = var.step == 1 ? 514 : 6514
}

resource "digitalocean_database_logsink_opensearch" "search" {
  cluster_id     = digitalocean_database_cluster.pg.id
  name           = "search"
  endpoint       = "https://user:password@logs.example.com:9200"
  index_prefix   = var.step == 1 ? "db" : "database"
  index_days_max = 7
}

resource "digitalocean_database_postgresql_config" "pg" {
  cluster_id = digitalocean_database_cluster.pg.id
  timezone   = var.step == 1 ? "UTC" : "Europe/Berlin"
}

output "imports" {
  value = {
    "digitalocean_database_cluster.pg"                = digitalocean_database_cluster.pg.id
    "digitalocean_database_user.app"                  = "${digitalocean_database_cluster.pg.id},app"
    "digitalocean_database_db.shop"                   = "${digitalocean_database_cluster.pg.id},shop"
    "digitalocean_database_connection_pool.shop"      = "${digitalocean_database_cluster.pg.id},shop-pool"
    "digitalocean_database_replica.copy"              = "${digitalocean_database_cluster.pg.id},copy"
    "digitalocean_database_firewall.all"              = digitalocean_database_cluster.pg.id
    "digitalocean_database_logsink_rsyslog.logs"      = digitalocean_database_logsink_rsyslog.logs.id
    "digitalocean_database_logsink_opensearch.search" = digitalocean_database_logsink_opensearch.search.id
    "digitalocean_database_postgresql_config.pg"      = digitalocean_database_cluster.pg.id
  }
}
