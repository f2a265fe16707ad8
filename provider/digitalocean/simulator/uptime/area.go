// Package uptime simulates uptime checks and their alerts.
package uptime

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// Area is the area of uptime checks.
func Area() core.Area {
	return core.Area{
		Name: "uptime",
		Routes: []core.Route{
			{Method: "POST", Pattern: "/v2/uptime/checks", Handle: createCheck},
			{Method: "GET", Pattern: "/v2/uptime/checks", Handle: listChecks},
			{Method: "GET", Pattern: "/v2/uptime/checks/{check}", Handle: getCheck},
			{Method: "PUT", Pattern: "/v2/uptime/checks/{check}", Handle: updateCheck},
			{Method: "DELETE", Pattern: "/v2/uptime/checks/{check}", Handle: removeCheck},
			{Method: "GET", Pattern: "/v2/uptime/checks/{check}/state", Handle: checkState},
			{Method: "POST", Pattern: "/v2/uptime/checks/{check}/alerts", Handle: createAlert},
			{Method: "GET", Pattern: "/v2/uptime/checks/{check}/alerts", Handle: listAlerts},
			{Method: "GET", Pattern: "/v2/uptime/checks/{check}/alerts/{alert}", Handle: getAlert},
			{Method: "PUT", Pattern: "/v2/uptime/checks/{check}/alerts/{alert}", Handle: updateAlert},
			{Method: "DELETE", Pattern: "/v2/uptime/checks/{check}/alerts/{alert}", Handle: removeAlert},
		},
	}
}
