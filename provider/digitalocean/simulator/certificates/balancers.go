package certificates

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type balancer struct {
	Region string `json:"region"`
	options
}

func (b balancer) uses(certificate string) bool {
	return slices.ContainsFunc(b.Rules, func(r rule) bool { return r.CertificateID == certificate })
}

var balancers = core.Table[balancer]{Type: "load_balancer"}

func createBalancer(c *core.Call) (core.Answer, error) {
	in, err := readBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	vpc, err := basics.VPCIn(c, in.VPC, in.Region)
	if err != nil {
		return core.Answer{}, err
	}
	project, err := basics.ProjectFor(c, in.Project)
	if err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name, VPCs: []string{vpc.ID}}
	c.Provision(&meta, "new", "active", "errored")
	b := balancers.Insert(c, meta, balancer{Region: in.Region, options: in.options})
	basics.Assign(c, project, urn(b))
	return core.Accepted(core.Map{"load_balancer": balancerView(c, b)})
}

func listBalancers(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, b := range balancers.All(c, "") {
		views = append(views, balancerView(c, b))
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
	return core.OK(core.Map{"load_balancer": balancerView(c, b)})
}

// updateBalancer keeps region, VPC, network and type, which cannot change.
func updateBalancer(c *core.Call) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	in, err := readBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	if in.Region != b.Value.Region {
		return core.Answer{}, core.Unprocessable("the region of a load balancer cannot be changed")
	}
	in.Network, in.Stack, in.Type = b.Value.Network, b.Value.Stack, b.Value.Type
	b.Name, b.Value.options = in.Name, in.options
	balancers.Save(c, b)
	return core.OK(core.Map{"load_balancer": balancerView(c, b)})
}

func removeBalancer(c *core.Call) (core.Answer, error) {
	b, err := findBalancer(c)
	if err != nil {
		return core.Answer{}, err
	}
	balancers.Remove(c, b.ID)
	return core.NoContent()
}

func urn(b *core.Record[balancer]) string { return "do:loadbalancer:" + b.ID }

func balancerView(c *core.Call, b *core.Record[balancer]) core.Map {
	v := b.Value
	size := "lb-small"
	for word, n := range units {
		if n == v.SizeUnit {
			size = word
		}
	}
	ip := ""
	if b.State != "new" {
		ip = "203.0.113.10"
	}
	return core.Map{
		"id": b.ID, "name": b.Name, "status": b.State, "ip": ip, "ipv6": "", "created_at": core.Time(b.CreatedAt),
		"region": basics.RegionView(v.Region), "vpc_uuid": b.VPCs[0], "project_id": basics.ProjectOf(c, urn(b)),
		"size": size, "size_unit": v.SizeUnit, "algorithm": v.Algorithm, "forwarding_rules": v.Rules,
		"health_check": v.Health, "sticky_sessions": v.Sticky, "redirect_http_to_https": v.Redirect,
		"enable_proxy_protocol": v.Proxy, "enable_backend_keepalive": v.Keepalive, "http_idle_timeout_seconds": v.Idle,
		"disable_lets_encrypt_dns_records": v.NoDNS, "firewall": v.Firewall, "type": v.Type, "network": v.Network,
		"network_stack": v.Stack, "tls_cipher_policy": v.TLSPolicy, "droplet_ids": v.DropletIDs, "tag": v.Tag,
	}
}
