package basics

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// region is a datacenter of the provider.
type region struct {
	slug, name string
}

var regions = []region{
	{"nyc1", "New York 1"}, {"sgp1", "Singapore 1"}, {"lon1", "London 1"}, {"nyc3", "New York 3"},
	{"ams3", "Amsterdam 3"}, {"fra1", "Frankfurt 1"}, {"tor1", "Toronto 1"}, {"sfo2", "San Francisco 2"},
	{"blr1", "Bangalore 1"}, {"sfo3", "San Francisco 3"}, {"syd1", "Sydney 1"}, {"atl1", "Atlanta 1"},
	{"nyc2", "New York 2"}, {"ric1", "Richmond 1"},
}

// size is a Droplet size; memory in MiB, disk in GB, prices in US dollars.
type size struct {
	slug                string
	memory, vcpus, disk int
	transfer            float64
	monthly             float64
	description         string
}

var sizes = []size{
	{"s-1vcpu-512mb-10gb", 512, 1, 10, 0.5, 4, "Basic"},
	{"s-1vcpu-1gb", 1024, 1, 25, 1, 6, "Basic"},
	{"s-1vcpu-2gb", 2048, 1, 50, 2, 12, "Basic"},
	{"s-2vcpu-2gb", 2048, 2, 60, 3, 18, "Basic"},
	{"s-2vcpu-4gb", 4096, 2, 80, 4, 24, "Basic"},
	{"s-4vcpu-8gb", 8192, 4, 160, 5, 48, "Basic"},
	{"g-2vcpu-8gb", 8192, 2, 25, 4, 63, "General Purpose"},
	{"c-4", 8192, 4, 50, 5, 84, "CPU-Optimized"},
	{"m-2vcpu-16gb", 16384, 2, 50, 4, 84, "Memory-Optimized"},
}

// RegionSlugs returns the datacenters, such as nyc3.
func RegionSlugs() []string {
	var slugs []string
	for _, r := range regions {
		slugs = append(slugs, r.slug)
	}
	return slugs
}

// IsRegion tells whether a datacenter exists.
func IsRegion(slug string) bool { return slices.Contains(RegionSlugs(), slug) }

func sizeSlugs() []string {
	var slugs []string
	for _, s := range sizes {
		slugs = append(slugs, s.slug)
	}
	return slugs
}

func (r region) view() core.Map {
	return core.Map{
		"name": r.name, "slug": r.slug, "available": true,
		"features": []string{"backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"},
		"sizes":    sizeSlugs(),
	}
}

func (s size) view() core.Map {
	return core.Map{
		"slug": s.slug, "memory": s.memory, "vcpus": s.vcpus, "disk": s.disk, "transfer": s.transfer,
		"price_monthly": s.monthly, "price_hourly": s.monthly / 672, "regions": RegionSlugs(),
		"available": true, "description": s.description,
	}
}

func listRegions(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, r := range regions {
		views = append(views, r.view())
	}
	return core.Paged(c, "regions", views)
}

func listSizes(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, s := range sizes {
		views = append(views, s.view())
	}
	return core.Paged(c, "sizes", views)
}

// RegionView is the object that answers of other products hold for a datacenter.
func RegionView(slug string) core.Map {
	for _, r := range regions {
		if r.slug == slug {
			return r.view()
		}
	}
	return nil
}
