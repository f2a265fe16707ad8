package inference

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

var regions = []string{"atl1", "nyc2", "tor1"}

// size is what one replica takes: a machine with count GPUs.
type size struct {
	slug    string
	gpu     string
	count   int
	vram    int // GB of each GPU
	price   string
	regions []string
}

var sizes = []size{
	{"gpu-mi300x1-192gb", "mi300x", 1, 192, "1.99", []string{"atl1", "nyc2"}},
	{"gpu-mi300x8-1536gb", "mi300x", 8, 192, "15.92", []string{"atl1"}},
	{"gpu-h100x1-80gb", "h100", 1, 80, "3.39", regions},
	{"gpu-h100x8-640gb", "h100", 8, 80, "23.92", []string{"nyc2", "tor1"}},
	{"gpu-l40sx1-48gb", "l40s", 1, 48, "1.57", []string{"tor1"}},
}

func sizeIn(slug, region string) bool {
	return slices.ContainsFunc(sizes, func(s size) bool { return s.slug == slug && slices.Contains(s.regions, region) })
}

// model is one of the catalogue. A gated one needs the token of a person whom
// its makers gave access.
type model struct {
	slug, name string
	gated      bool
	sizes      []string
}

var models = []model{
	{"mistral/mistral-7b-instruct-v3", "Mistral 7B Instruct v3", false, []string{"gpu-mi300x1-192gb", "gpu-h100x1-80gb", "gpu-l40sx1-48gb"}},
	{"meta/llama-3.3-70b-instruct", "Llama 3.3 70B Instruct", true, []string{"gpu-mi300x1-192gb", "gpu-h100x8-640gb"}},
}

func gated(slug string) bool {
	return slices.ContainsFunc(models, func(m model) bool { return m.slug == slug && m.gated })
}

func listSizes(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, s := range sizes {
		views = append(views, core.Map{
			"gpu_slug": s.slug, "price_per_hour": s.price, "currency": "USD", "region": s.regions[0], "regions": s.regions,
			"cpu": 20 * s.count, "memory": 240 * s.count,
			"gpu": core.Map{"count": s.count, "vram_gb": s.vram, "slug": s.gpu},
		})
	}
	return core.OK(core.Map{"enabled_regions": regions, "sizes": views})
}

func listModels(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, m := range models {
		views = append(views, core.Map{
			"gpu_slugs": m.sizes, "model_slug": m.slug, "model_name": m.name,
			"is_gated_model": m.gated, "is_model_gated": m.gated,
		})
	}
	return core.OK(core.Map{"gpu_model_configs": views})
}
