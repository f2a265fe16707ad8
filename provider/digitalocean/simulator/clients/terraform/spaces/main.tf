# Grants stay: DigitalOcean documents that only the name of a key can change.
resource "digitalocean_spaces_key" "assets" {
  name = var.step == 1 ? "tf-assets" : "tf-files"

  grant {
    bucket     = "assets"
    permission = "read"
  }
}

# The provider imports no keys.
output "imports" {
  value = {}
}
