resource "digitalocean_domain" "zone" {
  name = "terraform.example"
}

resource "digitalocean_record" "www" {
  domain = digitalocean_domain.zone.id
  type   = "A"
  name   = "www"
  value  = var.step == 1 ? "192.0.2.1" : "192.0.2.2"
  ttl    = var.step == 1 ? 1800 : 300
}

resource "digitalocean_record" "mail" {
  domain   = digitalocean_domain.zone.id
  type     = "MX"
  name     = "@"
  value    = "mail.terraform.example."
  priority = var.step == 1 ? 10 : 20
}

resource "digitalocean_cdn" "assets" {
  origin = "assets.nyc3.digitaloceanspaces.com"
  ttl    = var.step == 1 ? 3600 : 600
}

output "imports" {
  value = {
    "digitalocean_domain.zone" = digitalocean_domain.zone.id
    "digitalocean_record.www"  = "${digitalocean_domain.zone.id},${digitalocean_record.www.id}"
    "digitalocean_record.mail" = "${digitalocean_domain.zone.id},${digitalocean_record.mail.id}"
    "digitalocean_cdn.assets"  = digitalocean_cdn.assets.id
  }
}
