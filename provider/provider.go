// Package provider lists the clouds that this control plane serves. A cloud is
// a package below this one that implements cloud.Provider; it is added by one
// line in Clouds and changes nothing elsewhere.
//
// What every cloud's calls need alike (the account's budget, metrics, bounds,
// where a token may go) is in package transport; each cloud builds its client
// over it. What every cloud must do alike is package providertest.
package provider

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean"
	"github.com/better-compute/cloud-resources/provider/transport"
)

// Clouds are the clouds that are served.
func Clouds() []cloud.Provider {
	return []cloud.Provider{
		digitalocean.New(),
	}
}

// Find returns the cloud of a name; ok is false when it is not served.
func Find(name string) (found cloud.Provider, ok bool) {
	for _, c := range Clouds() {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

// Collectors are the metrics of all clouds' calls, for a registry.
func Collectors() []prometheus.Collector { return transport.Collectors() }
