package apps

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

const (
	root = "/v2/apps"
	one  = root + "/{app}"
)

// Area is the product's routes.
func Area() core.Area {
	return core.Area{
		Name: "apps",
		Routes: []core.Route{
			{Method: "GET", Pattern: root, Handle: list},
			{Method: "POST", Pattern: root, Handle: create},
			{Method: "POST", Pattern: root + "/propose", Handle: propose},
			{Method: "GET", Pattern: root + "/regions", Handle: listRegions},
			{Method: "GET", Pattern: root + "/tiers/instance_sizes", Handle: listSizes},
			{Method: "GET", Pattern: root + "/tiers/instance_sizes/{slug}", Handle: getSize},
			{Method: "GET", Pattern: one, Handle: get},
			{Method: "PUT", Pattern: one, Handle: update},
			{Method: "DELETE", Pattern: one, Handle: remove},
			{Method: "POST", Pattern: one + "/restart", Handle: restart},
			{Method: "GET", Pattern: one + "/health", Handle: health},
			{Method: "GET", Pattern: one + "/alerts", Handle: listAlerts},
			{Method: "POST", Pattern: one + "/alerts/{alert}/destinations", Handle: setDestinations},
			{Method: "GET", Pattern: one + "/deployments", Handle: listDeployments},
			{Method: "POST", Pattern: one + "/deployments", Handle: createDeployment},
			{Method: "GET", Pattern: one + "/deployments/{deployment}", Handle: getDeployment},
			{Method: "POST", Pattern: one + "/deployments/{deployment}/cancel", Handle: cancelDeployment},
		},
		URNs:         map[string]string{"app": Apps.Type},
		SecretFields: []string{"registry_credentials", "api_key"},
	}
}
