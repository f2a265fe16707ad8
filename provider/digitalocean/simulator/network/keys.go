package network

import (
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// serviceKey is what the partner asks for. While it is being made it has a state
// and no value.
func serviceKey(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	key := core.Map{"state": "CREATING", "created_at": core.Time(a.CreatedAt)}
	if a.Value.ServiceKey != "" {
		key["state"] = "CREATED"
		if !c.Account.HideCredentials {
			key["value"] = a.Value.ServiceKey
		}
	}
	return core.OK(core.Map{"service_key": key})
}

// newServiceKey makes another one, which takes a while.
func newServiceKey(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if a.State != "CREATED" || a.Value.ServiceKey == "" {
		return core.Answer{}, core.Conflict("a service key is being created already, try again later")
	}
	a.Value.ServiceKey = ""
	a.Then(c.Now.Add(time.Duration(c.Settings().UpdateTime)), "CREATED", core.Map{"service_key": core.NewUUID()})
	attachments.Save(c, a)
	return core.Accepted(core.Map{})
}

func bgpKey(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if a.Value.BGP == nil {
		return core.Answer{}, core.NotFound("no BGP is configured")
	}
	key := core.Map{}
	if a.State != "CREATING" && !c.Account.HideCredentials {
		key["value"] = a.Value.BGP.AuthKey
	}
	return core.OK(core.Map{"bgp_auth_key": key})
}
