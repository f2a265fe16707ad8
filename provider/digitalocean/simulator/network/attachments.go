package network

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// The autonomous system of the provider's own routers.
const localASN = 64532

type bgp struct {
	LocalRouterIP string `json:"local_router_ip"`
	PeerRouterIP  string `json:"peer_router_ip"`
	PeerASN       int    `json:"peer_router_asn"`
	AuthKey       string `json:"auth_key"`
}

type attachment struct {
	Bandwidth int      `json:"connection_bandwidth_in_mbps"`
	Region    string   `json:"region"`
	Provider  string   `json:"naas_provider"`
	VPCs      []string `json:"vpc_ids"`
	Parent    string   `json:"parent_uuid"`
	Zone      string   `json:"redundancy_zone"`
	BGP       *bgp     `json:"bgp,omitempty"`
	// ServiceKey is empty until it is made.
	ServiceKey string `json:"service_key"`
}

var attachments = core.Table[attachment]{Type: "attachment"}

// The parts of the world, and the datacenters whose VPCs they reach.
var regions = map[string][]string{
	"nyc": {"nyc1", "nyc2", "nyc3"}, "sfo": {"sfo2", "sfo3"}, "fra": {"fra1"}, "ams": {"ams3"}, "sgp": {"sgp1"},
}

var goodName = regexp.MustCompile(`^[a-zA-Z0-9\-.]+$`)

type input struct {
	Name string `json:"name"`
	attachment
}

func (in input) check(c *core.Call, id string) error {
	switch {
	case !goodName.MatchString(in.Name):
		return core.Unprocessable("name may only contain alphanumeric characters, dashes, and periods")
	case !slices.Contains([]int{1000, 2000, 5000, 10000}, in.Bandwidth):
		return core.Unprocessable("connection_bandwidth_in_mbps %d is invalid", in.Bandwidth)
	case regions[in.Region] == nil:
		return core.Unprocessable("region %q is invalid", in.Region)
	case !strings.EqualFold(in.Provider, "megaport"):
		return core.Unprocessable("naas_provider %q is invalid", in.Provider)
	case len(in.VPCs) == 0:
		return core.Unprocessable("vpc_ids must not be empty")
	case in.Zone != "" && in.Zone != "MEGAPORT_BLUE" && in.Zone != "MEGAPORT_RED":
		return core.Unprocessable("redundancy_zone %q is invalid", in.Zone)
	case in.Parent != "" && !attachments.Exists(c, in.Parent):
		return core.Unprocessable("parent_uuid %s was not found", in.Parent)
	case in.BGP != nil && (in.BGP.LocalRouterIP == "" || in.BGP.PeerRouterIP == "" || in.BGP.PeerASN == 0 || in.BGP.AuthKey == ""):
		return core.Unprocessable("bgp needs local_router_ip, peer_router_ip, peer_router_asn and auth_key")
	}
	if other, taken := attachments.Named(c, "", in.Name); taken && other.ID != id {
		return core.Unprocessable("a partner attachment with this name already exists")
	}
	for _, vpc := range in.VPCs {
		v, ok := basics.VPCs.Get(c, vpc)
		if !ok || !slices.Contains(regions[in.Region], v.Value.Region) {
			return core.Unprocessable("VPC %s was not found in region %s", vpc, in.Region)
		}
	}
	return nil
}

func create(c *core.Call) (core.Answer, error) {
	var in input
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.check(c, ""); err != nil {
		return core.Answer{}, err
	}
	in.ServiceKey = ""
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name, VPCs: in.VPCs}
	c.Provision(&meta, "CREATING", "CREATED", "ERROR")
	if c.FailWith() == "" {
		half := time.Duration(c.Settings().ProvisionTime) / 2
		meta.Then(meta.Steps[0].At.Add(half), "CREATED", core.Map{"service_key": core.NewUUID()})
	}
	return core.Accepted(core.Map{"partner_attachment": view(c, attachments.Insert(c, meta, in.attachment))})
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, a := range attachments.All(c, "") {
		views = append(views, view(c, a))
	}
	return core.Paged(c, "partner_attachments", views)
}

func find(c *core.Call) (*core.Record[attachment], error) {
	a, ok := attachments.Get(c, c.Param("attachment"))
	if !ok {
		return nil, core.NotFound("partner attachment not found")
	}
	return a, nil
}

func get(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"partner_attachment": view(c, a)})
}

// update changes name, VPCs or BGP, each if it is there.
func update(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if a.State != "CREATED" {
		return core.Answer{}, core.Conflict("partner attachment is currently in state %s, try again later", a.State)
	}
	var change struct {
		Name *string  `json:"name"`
		VPCs []string `json:"vpc_ids"`
		BGP  *bgp     `json:"bgp"`
	}
	if err := c.Decode(&change); err != nil {
		return core.Answer{}, err
	}
	in := input{Name: a.Name, attachment: a.Value}
	if change.Name != nil {
		in.Name = *change.Name
	}
	if change.VPCs != nil {
		in.VPCs = change.VPCs
	}
	if change.BGP != nil {
		in.BGP = change.BGP
	}
	if err := in.check(c, a.ID); err != nil {
		return core.Answer{}, err
	}
	a.Name = in.Name
	if in.ServiceKey == "" { // the change overtakes the making of the key
		in.ServiceKey = core.NewUUID()
	}
	c.Change(&a.Meta, "UPDATING", "CREATED", "ERROR", core.Map{"vpc_ids": in.VPCs, "bgp": in.BGP, "service_key": in.ServiceKey})
	if len(a.Steps) > 0 && c.FailWith() == "" {
		a.Steps[0].VPCs = in.VPCs
	}
	attachments.Save(c, a)
	return core.Accepted(core.Map{"partner_attachment": view(c, a)})
}

func remove(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	switch {
	case a.State != "CREATED" && a.State != "ERROR":
		return core.Answer{}, core.Forbidden("partner attachment cannot be deleted in state %s", a.State)
	case len(children(c, a.ID)) > 0:
		return core.Answer{}, core.Forbidden("partner attachment has children")
	}
	c.Doom(&a.Meta, "DELETING")
	attachments.Save(c, a)
	return core.Accepted(core.Map{"partner_attachment": view(c, a)})
}

func children(c *core.Call, id string) (ids []string) {
	for _, a := range attachments.Everything(c, "") {
		if a.Value.Parent == id {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func routes(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	if a.State == "CREATED" && a.Value.BGP != nil {
		views = append(views, core.Map{"cidr": "172.16.0.0/24"})
	}
	return core.Paged(c, "remote_routes", views)
}

func view(c *core.Call, a *core.Record[attachment]) core.Map {
	v := core.Map{
		"id": a.ID, "name": a.Name, "state": a.State, "connection_bandwidth_in_mbps": a.Value.Bandwidth,
		"region": a.Value.Region, "naas_provider": a.Value.Provider, "vpc_ids": a.Value.VPCs,
		"created_at": core.Time(a.CreatedAt),
	}
	if b := a.Value.BGP; b != nil {
		v["bgp"] = core.Map{
			"local_asn": localASN, "peer_asn": b.PeerASN, "local_router_ip": b.LocalRouterIP, "peer_router_ip": b.PeerRouterIP,
		}
	}
	for field, text := range map[string]string{"parent_uuid": a.Value.Parent, "redundancy_zone": a.Value.Zone} {
		if text != "" {
			v[field] = text
		}
	}
	if ids := children(c, a.ID); len(ids) > 0 {
		v["children"] = ids
	}
	return v
}
