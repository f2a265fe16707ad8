// Package certificates simulates TLS certificates (uploaded ones and Let's
// Encrypt's, renewed by time) and the regional load balancers that use them: a
// certificate in use cannot be deleted. A load balancer balances nothing; it is
// kept as it was asked for, completed by the documented defaults.
package certificates

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the area of certificates and load balancers.
func Area() core.Area {
	return core.Area{
		Name: "certificates",
		Routes: []core.Route{
			{Method: "POST", Pattern: "/v2/certificates", Handle: create},
			{Method: "GET", Pattern: "/v2/certificates", Handle: list},
			{Method: "GET", Pattern: "/v2/certificates/{certificate}", Handle: get},
			{Method: "DELETE", Pattern: "/v2/certificates/{certificate}", Handle: remove},
			{Method: "POST", Pattern: "/v2/load_balancers", Handle: createBalancer},
			{Method: "GET", Pattern: "/v2/load_balancers", Handle: listBalancers},
			{Method: "GET", Pattern: "/v2/load_balancers/{balancer}", Handle: getBalancer},
			{Method: "PUT", Pattern: "/v2/load_balancers/{balancer}", Handle: updateBalancer},
			{Method: "DELETE", Pattern: "/v2/load_balancers/{balancer}", Handle: removeBalancer},
			{Method: "POST", Pattern: "/v2/load_balancers/{balancer}/droplets", Handle: changeBackends(plus)},
			{Method: "DELETE", Pattern: "/v2/load_balancers/{balancer}/droplets", Handle: changeBackends(minus)},
			{Method: "POST", Pattern: "/v2/load_balancers/{balancer}/forwarding_rules", Handle: changeRules(plus)},
			{Method: "DELETE", Pattern: "/v2/load_balancers/{balancer}/forwarding_rules", Handle: changeRules(minus)},
		},
		URNs:         map[string]string{"loadbalancer": balancers.Type},
		SecretFields: []string{"private_key"},
	}
}
