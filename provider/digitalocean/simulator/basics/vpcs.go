package basics

import (
	"fmt"
	"net/netip"
	"regexp"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// VPC is a private network in one region.
type VPC struct {
	Region      string `json:"region"`
	Description string `json:"description"`
	IPRange     string `json:"ip_range"`
	Default     bool   `json:"default"`
}

// VPCs is the table of VPCs. Members are the objects that name one in Meta.VPCs.
var VPCs = core.Table[VPC]{Type: "vpc"}

var vpcName = regexp.MustCompile(`^[a-zA-Z0-9\-.]+$`)

func seedVPCs(c *core.Call) {
	for i, r := range regions {
		VPCs.Insert(c, core.Meta{ID: core.VPCID(c.Account.Token, r.slug), Name: "default-" + r.slug, Seeded: true},
			VPC{Region: r.slug, IPRange: fmt.Sprintf("10.%d.0.0/20", 10+i), Default: true})
	}
}

// VPCIn returns the VPC with the id if it lies in the region; for an empty id the
// region's default. The error is a 422 in the words of the API.
func VPCIn(c *core.Call, id, region string) (*core.Record[VPC], error) {
	if id == "" {
		for _, v := range VPCs.All(c, "") {
			if v.Value.Region == region && v.Value.Default {
				return v, nil
			}
		}
		return nil, core.Unprocessable("region %q has no default VPC", region)
	}
	v, ok := VPCs.Get(c, id)
	if !ok {
		return nil, core.Unprocessable("VPC %s was not found", id)
	}
	if v.Value.Region != region {
		return nil, core.Unprocessable("VPC %s is not in region %s", id, region)
	}
	return v, nil
}

func listVPCs(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, v := range VPCs.All(c, "") {
		views = append(views, vpcView(v))
	}
	return core.Paged(c, "vpcs", views)
}

func createVPC(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string `json:"name"`
		VPC
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := checkVPCName(c, "", in.Name); err != nil {
		return core.Answer{}, err
	}
	if !IsRegion(in.Region) {
		return core.Answer{}, core.Unprocessable("region %q is invalid", in.Region)
	}
	if in.IPRange == "" {
		in.IPRange = freeRange(c)
	} else if err := checkRange(c, in.IPRange); err != nil {
		return core.Answer{}, err
	}
	in.Default = false
	v := VPCs.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Name}, in.VPC)
	return core.Created(core.Map{"vpc": vpcView(v)})
}

func checkVPCName(c *core.Call, id, name string) error {
	if !vpcName.MatchString(name) {
		return core.Unprocessable("name may only contain alphanumeric characters, dashes, and periods")
	}
	if other, ok := VPCs.Named(c, "", name); ok && other.ID != id {
		return core.Unprocessable("A VPC with this name already exists")
	}
	return nil
}

func checkRange(c *core.Call, text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4() || !prefix.Addr().IsPrivate() || prefix.Bits() < 16 || prefix.Bits() > 28 {
		return core.Unprocessable("ip_range %q must be a private network between /16 and /28", text)
	}
	for _, v := range VPCs.Everything(c, "") {
		if other, err := netip.ParsePrefix(v.Value.IPRange); err == nil && other.Overlaps(prefix) {
			return core.Unprocessable("This range/size overlaps with another VPC network in your account: %s", v.Value.IPRange)
		}
	}
	return nil
}

func freeRange(c *core.Call) string {
	for third := 0; ; third += 16 {
		text := fmt.Sprintf("10.%d.%d.0/20", 116+third/256, third%256)
		if checkRange(c, text) == nil {
			return text
		}
	}
}

func findVPC(c *core.Call) (*core.Record[VPC], error) {
	v, ok := VPCs.Get(c, c.Param("vpc"))
	if !ok {
		return nil, core.NotFound("The resource you were accessing could not be found.")
	}
	return v, nil
}

func getVPC(c *core.Call) (core.Answer, error) {
	v, err := findVPC(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"vpc": vpcView(v)})
}

// updateVPC serves PUT and PATCH; the default of a region is passed on, never
// given up.
func updateVPC(c *core.Call) (core.Answer, error) {
	v, err := findVPC(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Default     bool   `json:"default"`
	}{Name: v.Name, Description: v.Value.Description}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := checkVPCName(c, v.ID, in.Name); err != nil {
		return core.Answer{}, err
	}
	if in.Default && !v.Value.Default {
		old, err := VPCIn(c, "", v.Value.Region)
		if err == nil {
			old.Value.Default = false
			VPCs.Save(c, old)
		}
		v.Value.Default = true
	}
	v.Name, v.Value.Description = in.Name, in.Description
	VPCs.Save(c, v)
	return core.OK(core.Map{"vpc": vpcView(v)})
}

func deleteVPC(c *core.Call) (core.Answer, error) {
	v, err := findVPC(c)
	if err != nil {
		return core.Answer{}, err
	}
	if v.Value.Default {
		return core.Answer{}, core.Forbidden("Can not delete default VPCs")
	}
	if len(c.InVPC(v.ID)) > 0 {
		return core.Answer{}, core.Conflict("Can not delete VPC with members")
	}
	VPCs.Remove(c, v.ID)
	return core.NoContent()
}

func listVPCMembers(c *core.Call) (core.Answer, error) {
	v, err := findVPC(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, m := range c.InVPC(v.ID) {
		if urn := c.URN(m); urn != "" {
			views = append(views, core.Map{"name": m.Name, "urn": urn, "created_at": core.Time(m.CreatedAt)})
		}
	}
	return core.Paged(c, "members", views)
}

func vpcView(v *core.Record[VPC]) core.Map {
	return core.Map{
		"id": v.ID, "urn": "do:vpc:" + v.ID, "name": v.Name, "description": v.Value.Description,
		"region": v.Value.Region, "ip_range": v.Value.IPRange, "default": v.Value.Default,
		"created_at": core.Time(v.CreatedAt),
	}
}
