package apps

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// destinations are who hears of an alert.
type destinations struct {
	Emails []string   `json:"emails"`
	Slack  []core.Map `json:"slack_webhooks"`
}

// alertViews are the alerts of the app and of its components.
func alertViews(a *core.Record[App]) []core.Map {
	views := []core.Map{}
	add := func(component string, specs []core.Map) {
		for _, spec := range specs {
			id := core.StableUUID("alert", a.ID, component, text(spec, "rule"))
			to := a.Value.Alerts[id]
			view := core.Map{"id": id, "spec": spec, "phase": "ACTIVE", "emails": to.Emails, "slack_webhooks": to.Slack,
				"progress": core.Map{"steps": []core.Map{}}}
			if to.Emails == nil {
				view["emails"] = []string{"owner@example.com"}
			}
			if to.Slack == nil {
				view["slack_webhooks"] = []core.Map{}
			}
			if component != "" {
				view["component_name"] = component
			}
			views = append(views, view)
		}
	}
	add("", objects(a.Value.Spec, "alerts"))
	for _, part := range components(a.Value.Spec) {
		add(text(part, "name"), objects(part, "alerts"))
	}
	return views
}

func listAlerts(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"alerts": alertViews(a)})
}

func setDestinations(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	to := destinations{Emails: []string{}, Slack: []core.Map{}}
	if err := c.Decode(&to); err != nil {
		return core.Answer{}, err
	}
	id := c.Param("alert")
	for _, known := range alertViews(a) {
		if known["id"] != id {
			continue
		}
		if a.Value.Alerts == nil {
			a.Value.Alerts = map[string]destinations{}
		}
		a.Value.Alerts[id] = to
		Apps.Save(c, a)
		known["emails"], known["slack_webhooks"] = to.Emails, to.Slack
		return core.OK(core.Map{"alert": known})
	}
	return core.Answer{}, core.NotFound("alert not found")
}

func health(c *core.Call) (core.Answer, error) {
	a, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	state := "UNKNOWN"
	if activeOf(deployments.All(c, a.ID)) != nil {
		state = "HEALTHY"
	}
	parts := []core.Map{}
	for _, kind := range []string{"services", "workers"} {
		for _, part := range objects(a.Value.Spec, kind) {
			parts = append(parts, core.Map{"name": part["name"], "state": state, "replicas_desired": 1, "replicas_ready": 1,
				"cpu_usage_percent": 1.5, "memory_usage_percent": 12.5})
		}
	}
	return core.OK(core.Map{"app_health": core.Map{"components": parts}})
}
