// Package marketplace simulates add-ons: services of third parties, sold on the
// provider's account.
//
// Its quirks are kept: names are not unique, lists have no pages, a create and a
// delete are answered 200 before anything happened, and a removed add-on is still
// shown as deprovisioned for a while.
package marketplace

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	root = "/v2/add-ons/saas"
	one  = root + "/{addon}"
)

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "marketplace",
		Routes: []core.Route{
			{Method: "GET", Pattern: "/v2/add-ons/apps", Handle: listApps},
			{Method: "GET", Pattern: "/v2/add-ons/apps/{app}/metadata", Handle: listMetadata},
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "GET", Pattern: one, Handle: get},
			{Method: "PATCH", Pattern: one, Handle: rename},
			{Method: "DELETE", Pattern: one, Handle: remove},
			{Method: "PATCH", Pattern: one + "/plan", Handle: changePlan},
		},
	}
}
