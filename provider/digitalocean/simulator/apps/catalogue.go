package apps

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// region is an App Platform region; its datacenters are those whose slug begins
// with its own.
type region struct{ slug, label, continent, flag string }

var regions = []region{
	{"ams", "Amsterdam", "Europe", "netherlands"}, {"nyc", "New York", "North America", "usa"},
	{"fra", "Frankfurt", "Europe", "germany"}, {"sfo", "San Francisco", "North America", "usa"},
	{"sgp", "Singapore", "Asia", "singapore"}, {"blr", "Bangalore", "Asia", "india"},
	{"tor", "Toronto", "North America", "canada"}, {"lon", "London", "Europe", "uk"},
	{"syd", "Sydney", "Australia", "australia"}, {"atl", "Atlanta", "North America", "usa"},
}

const nearest = "nyc" // where an app without a region goes

func isRegion(slug string) bool {
	return slices.ContainsFunc(regions, func(r region) bool { return r.slug == slug })
}

func regionView(slug string) core.Map {
	for _, r := range regions {
		if r.slug != slug {
			continue
		}
		centers := []string{}
		for _, dc := range basics.RegionSlugs() {
			if strings.HasPrefix(dc, slug) {
				centers = append(centers, dc)
			}
		}
		return core.Map{"slug": r.slug, "label": r.label, "continent": r.continent, "flag": r.flag,
			"data_centers": centers, "default": slug == nearest}
	}
	return core.Map{}
}

func listRegions(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, r := range regions {
		views = append(views, regionView(r.slug))
	}
	return core.OK(core.Map{"regions": views})
}

// size is an instance size; memory in bytes, prices in US dollars.
type size struct {
	slug, name, kind, cpus, memory, month string
	scalable                              bool
}

var sizes = []size{
	{"apps-s-1vcpu-0.5gb", "Shared 1vCPU 0.5GB", "SHARED", "1", "536870912", "5.00", false},
	{"apps-s-1vcpu-1gb-fixed", "Shared 1vCPU 1GB (fixed)", "SHARED", "1", "1073741824", "10.00", false},
	{"apps-s-1vcpu-1gb", "Shared 1vCPU 1GB", "SHARED", "1", "1073741824", "12.00", true},
	{"apps-s-1vcpu-2gb", "Shared 1vCPU 2GB", "SHARED", "1", "2147483648", "25.00", true},
	{"apps-s-2vcpu-4gb", "Shared 2vCPU 4GB", "SHARED", "2", "4294967296", "50.00", true},
	{"apps-d-1vcpu-0.5gb", "Dedicated 1vCPU 0.5GB", "DEDICATED", "1", "536870912", "29.00", true},
	{"apps-d-1vcpu-1gb", "Dedicated 1vCPU 1GB", "DEDICATED", "1", "1073741824", "34.00", true},
	{"apps-d-1vcpu-2gb", "Dedicated 1vCPU 2GB", "DEDICATED", "1", "2147483648", "39.00", true},
	{"apps-d-1vcpu-4gb", "Dedicated 1vCPU 4GB", "DEDICATED", "1", "4294967296", "49.00", true},
	{"apps-d-2vcpu-4gb", "Dedicated 2vCPU 4GB", "DEDICATED", "2", "4294967296", "78.00", true},
	{"apps-d-2vcpu-8gb", "Dedicated 2vCPU 8GB", "DEDICATED", "2", "8589934592", "98.00", true},
	{"apps-d-4vcpu-8gb", "Dedicated 4vCPU 8GB", "DEDICATED", "4", "8589934592", "156.00", true},
	{"apps-d-4vcpu-16gb", "Dedicated 4vCPU 16GB", "DEDICATED", "4", "17179869184", "196.00", true},
	{"apps-d-8vcpu-32gb", "Dedicated 8vCPU 32GB", "DEDICATED", "8", "34359738368", "392.00", true},
}

// legacySizes are still taken in specs.
var legacySizes = []string{"basic-xxs", "basic-xs", "basic-s", "basic-m", "professional-xs", "professional-s",
	"professional-m", "professional-1l", "professional-l", "professional-xl"}

func isSize(slug string) bool {
	return slices.Contains(legacySizes, slug) || slices.ContainsFunc(sizes, func(s size) bool { return s.slug == slug })
}

func (s size) view() core.Map {
	return core.Map{"slug": s.slug, "name": s.name, "cpu_type": s.kind, "cpus": s.cpus, "memory_bytes": s.memory,
		"usd_per_month": s.month, "usd_per_second": "0.000002", "tier_slug": "professional", "scalable": s.scalable,
		"single_instance_only": !s.scalable, "bandwidth_allowance_gib": "50"}
}

func listSizes(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, s := range sizes {
		views = append(views, s.view())
	}
	return core.OK(core.Map{"instance_sizes": views, "discount_percent": 0})
}

func getSize(c *core.Call) (core.Answer, error) {
	for _, s := range sizes {
		if s.slug == c.Param("slug") {
			return core.OK(core.Map{"instance_size": s.view()})
		}
	}
	return core.Answer{}, core.NotFound("instance size not found")
}
