package marketplace

import (
	"strconv"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type addon struct {
	App      string     `json:"app_slug"`
	Plan     string     `json:"plan_slug"`
	Metadata []metadata `json:"metadata"`
	Droplet  int        `json:"linked_droplet_id"`
	Fleet    string     `json:"fleet_uuid"`
	SSO      string     `json:"sso_url"`
}

var addons = core.Table[addon]{Type: "addon"}

func create(c *core.Call) (core.Answer, error) {
	var in struct {
		Name string `json:"name"`
		addon
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	a, known := appOf(in.App)
	switch {
	case in.Name == "":
		return core.Answer{}, core.Unprocessable("name is required")
	case !known:
		return core.Answer{}, core.Unprocessable("app_slug %q is invalid", in.App)
	case in.Metadata == nil:
		return core.Answer{}, core.Unprocessable("metadata is required")
	case in.Droplet != 0 && !basics.Droplets.Exists(c, strconv.Itoa(in.Droplet)):
		return core.Answer{}, core.Unprocessable("linked_droplet_id %d was not found", in.Droplet)
	}
	if _, ok := a.plan(in.Plan); !ok {
		return core.Answer{}, core.Unprocessable("plan_slug %q is invalid", in.Plan)
	}
	if err := a.check(in.Metadata); err != nil {
		return core.Answer{}, err
	}
	in.SSO = "https://sso.example.com/login/" + core.Secret("", 16)
	meta := core.Meta{ID: core.NewUUID(), Name: in.Name}
	c.Provision(&meta, "pending", "provisioned", "provisioning-failed")
	begins := core.Step{At: c.Now.Add(time.Duration(c.Settings().ProvisionTime) / 3), State: "provisioning"}
	meta.Steps = append([]core.Step{begins}, meta.Steps...)
	return core.OK(core.Map{"resource": view(c, addons.Insert(c, meta, in.addon))})
}

func list(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, a := range addons.All(c, "") {
		views = append(views, view(c, a))
	}
	return core.OK(core.Map{"resources": views})
}

func find(c *core.Call) (*core.Record[addon], error) {
	a, ok := addons.Get(c, c.Param("addon"))
	if !ok {
		return nil, core.NotFound("add-on not found")
	}
	return a, nil
}

func get(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"resource": view(c, a)})
}

func rename(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Name string `json:"name"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if in.Name == "" {
		return core.Answer{}, core.Unprocessable("name is required")
	}
	a.Name = in.Name
	addons.Save(c, a)
	return core.OK(core.Map{"resource": view(c, a)})
}

// changePlan asks the vendor for another plan, which takes a while.
func changePlan(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Plan string `json:"plan_slug"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if a.Busy() {
		return core.Answer{}, core.Unprocessable("the add-on has an operation in progress")
	}
	of, _ := appOf(a.Value.App)
	if _, ok := of.plan(in.Plan); !ok {
		return core.Answer{}, core.Unprocessable("plan_slug %q is invalid", in.Plan)
	}
	c.Change(&a.Meta, "provisioning", "provisioned", "provisioning-failed", core.Map{"plan_slug": in.Plan})
	addons.Save(c, a)
	return core.OK(core.Map{"resource": view(c, a)})
}

// remove asks the vendor to end the service. A vendor may fail at that.
func remove(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	if !a.Dying() {
		in := time.Duration(c.Settings().DeleteTime)
		if reason := c.FailWith(); reason != "" {
			a.Become("deprovisioning")
			a.Steps = []core.Step{{At: c.Now.Add(in), State: "deprovisioning-failed", Note: reason}}
		} else {
			c.Doom(&a.Meta, "deprovisioning")
			a.Then(c.Now.Add(in/2), "deprovisioned", nil)
		}
		addons.Save(c, a)
	}
	return core.OK(core.Map{})
}

func view(c *core.Call, a *core.Record[addon]) core.Map {
	of, _ := appOf(a.Value.App)
	p, _ := of.plan(a.Value.Plan)
	v := core.Map{
		"uuid": a.ID, "name": a.Name, "state": a.State, "app_name": of.name, "app_slug": a.Value.App,
		"plan_name": p.name, "plan_slug": a.Value.Plan, "plan_price_per_month": p.price,
		"has_config": a.State == "provisioned", "metadata": a.Value.Metadata, "message": a.Note,
	}
	if a.State == "provisioned" && !c.Account.HideCredentials {
		v["sso_url"] = a.Value.SSO
	}
	return v
}
