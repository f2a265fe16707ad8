# Beside each configuration: the provider, pointed at the simulator.

terraform {
  required_providers {
    digitalocean = {
      source = "digitalocean/digitalocean"
    }
  }
}

variable "endpoint" {
  type        = string
  description = "URL of the simulator"
}

variable "step" {
  type        = number
  description = "1 creates; 2 has another value for everything that can be updated"
}

provider "digitalocean" {
  token          = "dop_v1_terraform"
  api_endpoint   = var.endpoint
  http_retry_max = 0
}
