resource "digitalocean_uptime_check" "home" {
  name    = "tf-home"
  target  = var.step == 1 ? "https://terraform.example" : "https://www.terraform.example"
  regions = var.step == 1 ? ["us_east"] : ["us_east", "eu_west"]
}

resource "digitalocean_uptime_alert" "slow" {
  name       = "tf-slow"
  check_id   = digitalocean_uptime_check.home.id
  type       = "latency"
  threshold  = var.step == 1 ? 300 : 500
  comparison = "greater_than"
  period     = "2m"

  notifications {
    email = ["sammy@example.com"]
  }
}

# Alerts are not imported: the provider's import does not carry the check.
output "imports" {
  value = {
    "digitalocean_uptime_check.home" = digitalocean_uptime_check.home.id
  }
}
