resource "digitalocean_vpc" "first" {
  name   = "tf-first"
  region = "nyc3"
}

resource "digitalocean_vpc" "second" {
  name   = "tf-second"
  region = "nyc3"
}

resource "digitalocean_partner_attachment" "line" {
  name                         = var.step == 1 ? "tf-line" : "tf-wire"
  connection_bandwidth_in_mbps = 1000
  region                       = "nyc"
  naas_provider                = "MEGAPORT"
  vpc_ids                      = var.step == 1 ? [digitalocean_vpc.first.id] : [digitalocean_vpc.first.id, digitalocean_vpc.second.id]
}

output "imports" {
  value = {
    "digitalocean_partner_attachment.line" = digitalocean_partner_attachment.line.id
  }
}
