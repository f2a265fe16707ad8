package uptime

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type slack struct {
	Channel string `json:"channel"`
	URL     string `json:"url"`
}

type notifications struct {
	Email []string `json:"email"`
	Slack []slack  `json:"slack"`
}

type alert struct {
	Type          string        `json:"type"`
	Threshold     int           `json:"threshold"`
	Comparison    string        `json:"comparison"`
	Period        string        `json:"period"`
	Notifications notifications `json:"notifications"`
}

var alerts = core.Table[alert]{Type: "uptime.alert"}

type alertInput struct {
	Name string `json:"name"`
	alert
}

func (in alertInput) validate() error {
	switch {
	case in.Name == "":
		return core.Unprocessable("name is required")
	case !slices.Contains([]string{"latency", "down", "down_global", "ssl_expiry"}, in.Type):
		return core.Unprocessable("type is invalid")
	case !slices.Contains([]string{"2m", "3m", "5m", "10m", "15m", "30m", "1h"}, in.Period):
		// The real API answers a missing period with an error of its own (B26).
		return core.Refuse(500, "Server Error")
	case in.Comparison != "" && in.Comparison != "greater_than" && in.Comparison != "less_than":
		return core.Unprocessable("comparison is invalid")
	case len(in.Notifications.Email)+len(in.Notifications.Slack) == 0:
		return core.Unprocessable("a notification destination is required")
	}
	return nil
}

func createAlert(c *core.Call) (core.Answer, error) {
	parent, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in alertInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.validate(); err != nil {
		return core.Answer{}, err
	}
	made := alerts.Insert(c, core.Meta{ID: core.NewUUID(), Parent: parent.ID, Name: in.Name}, in.alert)
	return core.Created(core.Map{"alert": alertView(made)})
}

func listAlerts(c *core.Call) (core.Answer, error) {
	parent, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	views := []core.Map{}
	for _, r := range alerts.All(c, parent.ID) {
		views = append(views, alertView(r))
	}
	return core.Paged(c, "alerts", views)
}

func findAlert(c *core.Call) (*core.Record[alert], error) {
	r, ok := alerts.Get(c, c.Param("alert"))
	if !ok || r.Parent != c.Param("check") {
		return nil, core.NotFound("alert not found")
	}
	return r, nil
}

func getAlert(c *core.Call) (core.Answer, error) {
	r, err := findAlert(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"alert": alertView(r)})
}

func updateAlert(c *core.Call) (core.Answer, error) {
	r, err := findAlert(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := alertInput{Name: r.Name, alert: r.Value}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.validate(); err != nil {
		return core.Answer{}, err
	}
	r.Name, r.Value = in.Name, in.alert
	alerts.Save(c, r)
	return core.OK(core.Map{"alert": alertView(r)})
}

func removeAlert(c *core.Call) (core.Answer, error) {
	r, err := findAlert(c)
	if err != nil {
		return core.Answer{}, err
	}
	alerts.Remove(c, r.ID)
	return core.NoContent()
}

func alertView(r *core.Record[alert]) core.Map {
	to := r.Value.Notifications
	if to.Email == nil {
		to.Email = []string{}
	}
	if to.Slack == nil {
		to.Slack = []slack{}
	}
	v := core.Map{
		"id": r.ID, "name": r.Name, "type": r.Value.Type, "threshold": r.Value.Threshold,
		"period": r.Value.Period, "notifications": to,
	}
	if r.Value.Comparison != "" {
		v["comparison"] = r.Value.Comparison
	}
	return v
}
