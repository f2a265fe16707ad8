package basics

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

func getAccount(c *core.Call) (core.Answer, error) {
	a := c.Account
	return core.OK(core.Map{"account": core.Map{
		"droplet_limit":     25,
		"floating_ip_limit": 5,
		"reserved_ip_limit": 5,
		"volume_limit":      100,
		"email":             "sammy@example.com",
		"name":              "Sammy the Shark",
		"uuid":              core.StableUUID("user", a.Token),
		"email_verified":    true,
		"status":            a.Status,
		"status_message":    a.StatusMessage,
		"team":              core.Map{"uuid": a.UUID, "name": "Team " + a.UUID[:8]},
	}})
}
