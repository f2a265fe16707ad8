resource "digitalocean_app" "shop" {
  spec {
    name   = "tf-shop"
    region = "nyc"

    service {
      name               = "web"
      http_port          = 80
      instance_count     = var.step == 1 ? 1 : 2
      instance_size_slug = "apps-s-1vcpu-1gb"

      image {
        registry_type = "DOCKER_HUB"
        registry      = "library"
        repository    = "nginx"
        tag           = "1"
      }
    }
  }
}

output "imports" {
  value = {
    "digitalocean_app.shop" = digitalocean_app.shop.id
  }
}
