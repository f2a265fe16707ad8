package certificates

import (
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type rule struct {
	EntryProtocol  string `json:"entry_protocol"`
	EntryPort      int    `json:"entry_port"`
	TargetProtocol string `json:"target_protocol"`
	TargetPort     int    `json:"target_port"`
	CertificateID  string `json:"certificate_id"`
	TLSPassthrough bool   `json:"tls_passthrough"`
}

type balancer struct {
	Region string `json:"region"`
	Rules  []rule `json:"forwarding_rules"`
}

func (b balancer) uses(certificate string) bool {
	for _, r := range b.Rules {
		if r.CertificateID == certificate {
			return true
		}
	}
	return false
}

var balancers = core.Table[balancer]{Type: "load_balancer"}

type balancerInput struct {
	Name   string `json:"name"`
	Region string `json:"region"`
	Rules  []rule `json:"forwarding_rules"`
}

func readBalancer(c *core.Call) (balancerInput, error) {
	var in balancerInput
	if err := c.Decode(&in); err != nil {
		return in, err
	}
	switch {
	case in.Name == "":
		return in, core.Unprocessable("Name can't be blank")
	case !basics.IsRegion(in.Region):
		return in, core.Unprocessable("region %q is invalid", in.Region)
	case len(in.Rules) == 0:
		return in, core.Unprocessable("at least one forwarding rule is required")
	}
	for _, r := range in.Rules {
		if r.CertificateID != "" && !certificates.Exists(c, r.CertificateID) {
			return in, core.Unprocessable("certificate %s was not found", r.CertificateID)
		}
	}
	return in, nil
}

func createBalancer(c *core.Call) (core.Answer, error) {
	in, err := readBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name}
	c.Provision(&meta, "new", "active", "errored")
	b := balancers.Insert(c, meta, balancer{Region: in.Region, Rules: in.Rules})
	return core.Accepted(core.Map{"load_balancer": balancerView(b)})
}

func listBalancers(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, b := range balancers.All(c, "") {
		views = append(views, balancerView(b))
	}
	return core.Paged(c, "load_balancers", views)
}

func findBalancer(c *core.Call) (*core.Record[balancer], error) {
	b, ok := balancers.Get(c, c.Param("balancer"))
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return b, nil
}

func getBalancer(c *core.Call) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"load_balancer": balancerView(b)})
}

func updateBalancer(c *core.Call) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	in, err := readBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	b.Name, b.Value.Rules = in.Name, in.Rules
	balancers.Save(c, b)
	return core.OK(core.Map{"load_balancer": balancerView(b)})
}

func removeBalancer(c *core.Call) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	balancers.Remove(c, b.ID)
	return core.NoContent()
}

func balancerView(b *core.Record[balancer]) core.Map {
	return core.Map{
		"id": b.ID, "name": b.Name, "status": b.State, "ip": "203.0.113.10", "algorithm": "round_robin",
		"size": "lb-small", "size_unit": 1, "created_at": core.Time(b.CreatedAt),
		"forwarding_rules": b.Value.Rules, "droplet_ids": []int{}, "tag": "",
		"region": basics.RegionView(b.Value.Region),
	}
}
