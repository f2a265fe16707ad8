resource "digitalocean_certificate" "web" {
  name    = "tf-web"
  type    = "lets_encrypt"
  domains = ["terraform.example"]
}

resource "digitalocean_loadbalancer" "front" {
  name                   = "tf-front"
  region                 = "nyc3"
  size_unit              = var.step == 1 ? 1 : 2
  redirect_http_to_https = var.step == 2

  forwarding_rule {
    entry_port       = 443
    entry_protocol   = "https"
    target_port      = 80
    target_protocol  = "http"
    certificate_name = digitalocean_certificate.web.name
  }
}

output "imports" {
  value = {
    "digitalocean_certificate.web"    = digitalocean_certificate.web.id
    "digitalocean_loadbalancer.front" = digitalocean_loadbalancer.front.id
  }
}
