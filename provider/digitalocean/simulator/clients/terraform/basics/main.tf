resource "digitalocean_vpc" "net" {
  name        = "tf-net"
  region      = "nyc3"
  description = var.step == 1 ? "first" : "second"
}

resource "digitalocean_tag" "tag" {
  name = "tf:tag"
}

resource "digitalocean_volume" "data" {
  name   = "tf-data"
  region = "nyc3"
  size   = var.step == 1 ? 10 : 20
  tags   = var.step == 1 ? ["tf:a"] : ["tf:b"]
}

resource "digitalocean_project" "shop" {
  name        = var.step == 1 ? "tf-shop" : "tf-store"
  description = var.step == 1 ? "" : "All of the store"
  purpose     = "Web Application"
  environment = "production"
  resources   = [digitalocean_volume.data.urn]
}

output "imports" {
  value = {
    "digitalocean_vpc.net"      = digitalocean_vpc.net.id
    "digitalocean_tag.tag"      = digitalocean_tag.tag.id
    "digitalocean_volume.data"  = digitalocean_volume.data.id
    "digitalocean_project.shop" = digitalocean_project.shop.id
  }
}
