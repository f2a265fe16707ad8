// Package edge simulates domains with their DNS records, and the CDN of Spaces.
//
// Its quirks are kept:
//   - A zone is claimed by whoever asks first, in any account, and deleting it
//     deletes every record.
//   - Host names in records must end with a dot, and are shown without one.
//   - Records may stand there twice.
//   - All requests for CDN endpoints together may be 5 in 10 seconds
//     (Settings.CDNPerTenSeconds); more are answered 429 with retry-after.
package edge

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	zones     = "/v2/domains"
	zone      = zones + "/{domain}"
	endpoints = "/v2/cdn/endpoints"
)

// Area is the products' routes.
func Area() core.Area {
	return core.Area{
		Name: "edge",
		Routes: []core.Route{
			{Method: "GET", Pattern: zones, Handle: listDomains},
			{Method: "POST", Pattern: zones, Handle: createDomain},
			{Method: "GET", Pattern: zone, Handle: getDomain},
			{Method: "DELETE", Pattern: zone, Handle: removeDomain},
			{Method: "GET", Pattern: zone + "/records", Handle: listRecords},
			{Method: "POST", Pattern: zone + "/records", Handle: createRecord},
			{Method: "GET", Pattern: zone + "/records/{record}", Handle: getRecord},
			{Method: "PUT", Pattern: zone + "/records/{record}", Handle: updateRecord},
			{Method: "PATCH", Pattern: zone + "/records/{record}", Handle: updateRecord},
			{Method: "DELETE", Pattern: zone + "/records/{record}", Handle: removeRecord},

			{Method: "GET", Pattern: endpoints, Handle: limited(listEndpoints)},
			{Method: "POST", Pattern: endpoints, Handle: limited(createEndpoint)},
			{Method: "GET", Pattern: endpoints + "/{cdn}", Handle: limited(getEndpoint)},
			{Method: "PUT", Pattern: endpoints + "/{cdn}", Handle: limited(updateEndpoint)},
			{Method: "DELETE", Pattern: endpoints + "/{cdn}", Handle: limited(removeEndpoint)},
			{Method: "DELETE", Pattern: endpoints + "/{cdn}/cache", Handle: limited(purge)},
		},
		URNs: map[string]string{"domain": domains.Type},
	}
}
