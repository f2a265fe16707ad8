package apps

import (
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// App is an app as the provider keeps it.
type App struct {
	// Spec is what GET shows: normalised, with its secrets encrypted.
	Spec core.Map `json:"spec"`
	// Plain maps each EV value that was made for the app to what it stands for.
	Plain map[string]string `json:"plain"`
	Host  string            `json:"host"`
	// Alerts holds the destinations of alerts, by alert id.
	Alerts map[string]destinations `json:"alerts,omitempty"`
}

// Apps is the table of apps; their deployments have them as parent.
var Apps = core.Table[App]{Type: "app"}

type appInput struct {
	Spec    core.Map `json:"spec"`
	Project string   `json:"project_id"`
}

func list(c *core.Call) (core.Answer, error) {
	deployed := map[string][]*core.Record[deployment]{}
	for _, d := range deployments.All(c, "") {
		deployed[d.Parent] = append(deployed[d.Parent], d)
	}
	views := []core.Map{}
	for _, a := range Apps.All(c, "") {
		views = append(views, view(c, a, deployed[a.ID]))
	}
	page, links, meta := core.Page(c, views)
	return core.OK(core.Map{"apps": page, "links": links, "meta": meta})
}

func create(c *core.Call) (core.Answer, error) {
	var in appInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := check(c, in.Spec); err != nil {
		return core.Answer{}, err
	}
	name := text(in.Spec, "name")
	if _, taken := Apps.Named(c, "", name); taken {
		return core.Answer{}, core.Conflict("App name already exists")
	}
	app := App{Plain: map[string]string{}, Host: name + "-" + strings.ToLower(core.StableUUID(c.Account.Token, name)[:5]) + ".ondigitalocean.app"}
	if err := app.take(in.Spec); err != nil {
		return core.Answer{}, err
	}
	meta := core.Meta{ID: core.NewUUID(), Name: name, Project: in.Project, VPCs: vpcs(in.Spec)}
	made := Apps.Insert(c, meta, app)
	deploy(c, made, "initial deployment", c.Settings().ProvisionTime)
	return core.OK(core.Map{"app": view(c, made, deployments.Everything(c, made.ID))})
}

func find(c *core.Call) (*core.Record[App], error) {
	a, ok := Apps.Get(c, c.Param("app"))
	if !ok {
		return nil, core.NotFound("App not found")
	}
	return a, nil
}

func get(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		if name := c.Query("name"); name != "" { // the name may stand in for the id
			for _, other := range Apps.All(c, "") {
				if other.Name == name {
					return core.OK(core.Map{"app": view(c, other, deployments.All(c, other.ID))})
				}
			}
		}
		return core.Answer{}, err
	}
	return core.OK(core.Map{"app": view(c, a, deployments.All(c, a.ID))})
}

func update(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in appInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := check(c, in.Spec); err != nil {
		return core.Answer{}, err
	}
	if other, taken := Apps.Named(c, "", text(in.Spec, "name")); taken && other.ID != a.ID {
		return core.Answer{}, core.Conflict("App name already exists")
	}
	if err := a.Value.take(in.Spec); err != nil {
		return core.Answer{}, err
	}
	a.Name, a.VPCs = text(in.Spec, "name"), vpcs(in.Spec)
	Apps.Save(c, a)
	deploy(c, a, "app spec updated", c.Settings().UpdateTime)
	return core.OK(core.Map{"app": view(c, a, deployments.All(c, a.ID))})
}

func remove(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	Apps.Remove(c, a.ID)
	return core.OK(core.Map{"id": a.ID})
}

func propose(c *core.Call) (core.Answer, error) {
	var in struct {
		appInput
		App string `json:"app_id"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := check(c, in.Spec); err != nil {
		return core.Answer{}, err
	}
	name := text(in.Spec, "name")
	other, taken := Apps.Named(c, "", name)
	preview := App{Plain: map[string]string{}}
	if known, ok := Apps.Get(c, in.App); ok {
		preview.Plain = known.Value.Plain
	}
	if err := preview.take(in.Spec); err != nil {
		return core.Answer{}, err
	}
	answer := core.Map{"app_name_available": !taken || other.ID == in.App, "existing_static_apps": "0", "spec": preview.Spec, "app_cost": 5}
	if taken && other.ID != in.App {
		answer["app_name_suggestion"] = name + "-2"
	}
	return core.OK(answer)
}

func vpcs(spec core.Map) []string {
	if id := text(object(spec, "vpc"), "id"); id != "" {
		return []string{id}
	}
	return nil
}

// view shows an app with its deployments, oldest first.
func view(c *core.Call, a *core.Record[App], deployed []*core.Record[deployment]) core.Map {
	v := core.Map{
		"id": a.ID, "owner_uuid": c.Account.UUID, "spec": a.Value.Spec, "tier_slug": tier(a.Value.Spec),
		"created_at": core.Time(a.CreatedAt), "updated_at": core.Time(a.ChangedAt),
		"region": regionView(text(a.Value.Spec, "region")), "project_id": core.ProjectID(c.Account.Token),
	}
	if a.Project != "" {
		v["project_id"] = a.Project
	}
	if id := text(object(a.Value.Spec, "vpc"), "id"); id != "" {
		v["vpc"] = core.Map{"id": id, "egress_ips": []core.Map{{"ip": "10.244.0.7"}}}
	}
	if text(object(a.Value.Spec, "egress"), "type") == "DEDICATED_IP" {
		v["dedicated_ips"] = []core.Map{{"ip": "192.0.2.10", "id": core.StableUUID("ip", a.ID, "1"), "status": "ASSIGNED"},
			{"ip": "192.0.2.11", "id": core.StableUUID("ip", a.ID, "2"), "status": "ASSIGNED"}}
	}
	domains := []core.Map{}
	for _, d := range objects(a.Value.Spec, "domains") {
		domains = append(domains, core.Map{"id": core.StableUUID("domain", a.ID, text(d, "domain")), "phase": "ACTIVE", "spec": d})
	}
	v["domains"] = domains
	active := activeOf(deployed)
	if active != nil {
		v["active_deployment"] = deploymentView(active, active)
		v["default_ingress"], v["live_url"], v["live_url_base"] = "https://"+a.Value.Host, "https://"+a.Value.Host, "https://"+a.Value.Host
		v["live_domain"] = a.Value.Host
		v["last_deployment_active_at"] = core.Time(active.ChangedAt)
	}
	for _, d := range deployed {
		v["last_deployment_created_at"] = core.Time(d.CreatedAt)
		switch d.State {
		case pendingBuild:
			v["pending_deployment"] = deploymentView(d, active)
		case building, deploying:
			v["in_progress_deployment"] = deploymentView(d, active)
		}
	}
	return v
}

func tier(spec core.Map) string {
	if len(objects(spec, "services"))+len(objects(spec, "workers"))+len(objects(spec, "jobs")) == 0 {
		return "starter"
	}
	return "professional"
}
