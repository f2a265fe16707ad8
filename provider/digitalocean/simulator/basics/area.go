// Package basics simulates what every account has whatever it uses: itself,
// regions, sizes, projects, tags, VPCs and Droplets.
package basics

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the product's routes.
func Area() core.Area { return core.Area{Name: "basics"} }
