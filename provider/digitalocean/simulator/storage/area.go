// Package storage simulates block storage volumes and their actions. An action is
// found under its volume and under /v2/actions, where Terraform and doctl wait
// for it; volumes are all that has actions here.
package storage

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the area of volumes.
func Area() core.Area {
	return core.Area{
		Name: "storage",
		Routes: []core.Route{
			{Method: "POST", Pattern: "/v2/volumes", Handle: create},
			{Method: "GET", Pattern: "/v2/volumes", Handle: list},
			{Method: "GET", Pattern: "/v2/volumes/{volume}", Handle: get},
			{Method: "DELETE", Pattern: "/v2/volumes/{volume}", Handle: remove},
			{Method: "POST", Pattern: "/v2/volumes/{volume}/actions", Handle: act},
			{Method: "GET", Pattern: "/v2/volumes/{volume}/actions", Handle: listActions},
			{Method: "GET", Pattern: "/v2/volumes/{volume}/actions/{action}", Handle: getAction},
			{Method: "GET", Pattern: "/v2/actions", Handle: listActions},
			{Method: "GET", Pattern: "/v2/actions/{action}", Handle: getAction},
		},
		Taggable: map[string]string{"volume": volumes.Type},
		URNs:     map[string]string{"volume": volumes.Type},
	}
}
