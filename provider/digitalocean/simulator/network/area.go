// Package network simulates partner attachments: connections of VPCs with the
// network of a partner.
//
// Its quirks are kept: a delete while an attachment is on its way is answered
// 403, which means "later"; the service key has a state of its own and is there
// some time after the attachment; what is not configured is left out of answers.
//
// The OpenAPI document spells the partner in either case; Terraform's users write
// MEGAPORT and see no change planned. Believed: any case, shown as it was sent.
package network

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	root = "/v2/partner_network_connect/attachments"
	one  = root + "/{attachment}"
)

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "network",
		Routes: []core.Route{
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "GET", Pattern: one, Handle: get},
			{Method: "PATCH", Pattern: one, Handle: update},
			{Method: "DELETE", Pattern: one, Handle: remove},
			{Method: "GET", Pattern: one + "/bgp_auth_key", Handle: bgpKey},
			{Method: "GET", Pattern: one + "/remote_routes", Handle: routes},
			{Method: "GET", Pattern: one + "/service_key", Handle: serviceKey},
			{Method: "POST", Pattern: one + "/service_key", Handle: newServiceKey},
		},
		SecretFields: []string{"auth_key"},
	}
}
