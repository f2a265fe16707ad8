package simulator

import (
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/apps"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/certificates"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/database"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/edge"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/functions"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/harness"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/inference"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/marketplace"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/network"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/spaces"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/storage"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/uptime"
)

// areas lists what the simulator serves; a test holds it equal to the folders.
func areas() []core.Area {
	return []core.Area{
		apps.Area(),
		basics.Area(),
		certificates.Area(),
		database.Area(),
		edge.Area(),
		functions.Area(),
		harness.Area(),
		inference.Area(),
		marketplace.Area(),
		network.Area(),
		spaces.Area(),
		storage.Area(),
		uptime.Area(),
	}
}
