resource "digitalocean_vpc" "gpu" {
  name   = "tf-gpu"
  region = "nyc2"
}

resource "digitalocean_dedicated_inference" "chat" {
  name     = "tf-chat"
  region   = "nyc2"
  vpc_uuid = digitalocean_vpc.gpu.id

  model_deployments {
    model_slug     = "mistral/mistral-7b-instruct-v3"
    model_provider = "hugging_face"

    accelerators {
      accelerator_slug = "gpu-mi300x1-192gb"
      scale            = var.step == 1 ? 1 : 2
      type             = "prefill_decode"
    }
  }
}

resource "digitalocean_dedicated_inference_token" "ci" {
  dedicated_inference_id = digitalocean_dedicated_inference.chat.id
  name                   = "ci"
}

output "imports" {
  value = {
    "digitalocean_dedicated_inference.chat"     = digitalocean_dedicated_inference.chat.id
    "digitalocean_dedicated_inference_token.ci" = digitalocean_dedicated_inference_token.ci.id
  }
}
