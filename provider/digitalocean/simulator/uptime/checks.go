package uptime

import (
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

var regions = []string{"us_east", "us_west", "eu_west", "se_asia"}

type check struct {
	Type    string   `json:"type"`
	Target  string   `json:"target"`
	Regions []string `json:"regions"`
	Enabled bool     `json:"enabled"`
}

var checks = core.Table[check]{Type: "uptime.check"}

type checkInput struct {
	Name string `json:"name"`
	check
}

func (in checkInput) validate() error {
	switch {
	case in.Name == "":
		return core.Unprocessable("name is required")
	case !slices.Contains([]string{"ping", "http", "https"}, in.Type):
		return core.Unprocessable("type must be ping, http or https")
	case in.Target == "":
		return core.Unprocessable("target is required")
	case len(in.Regions) == 0:
		return core.Unprocessable("at least one region is required")
	}
	for _, r := range in.Regions {
		if !slices.Contains(regions, r) {
			return core.Unprocessable("region %q is invalid", r)
		}
	}
	return nil
}

func createCheck(c *core.Call) (core.Answer, error) {
	var in checkInput
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.validate(); err != nil {
		return core.Answer{}, err
	}
	made := checks.Insert(c, core.Meta{ID: core.NewUUID(), Name: in.Name}, in.check)
	return core.Created(core.Map{"check": checkView(made)})
}

func listChecks(c *core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, r := range checks.All(c, "") {
		views = append(views, checkView(r))
	}
	return core.Paged(c, "checks", views)
}

func findCheck(c *core.Call) (*core.Record[check], error) {
	r, ok := checks.Get(c, c.Param("check"))
	if !ok {
		return nil, core.NotFound("check not found")
	}
	return r, nil
}

func getCheck(c *core.Call) (core.Answer, error) {
	r, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"check": checkView(r)})
}

func updateCheck(c *core.Call) (core.Answer, error) {
	r, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	in := checkInput{Name: r.Name, check: r.Value}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if err := in.validate(); err != nil {
		return core.Answer{}, err
	}
	r.Name, r.Value = in.Name, in.check
	checks.Save(c, r)
	return core.OK(core.Map{"check": checkView(r)})
}

func removeCheck(c *core.Call) (core.Answer, error) {
	r, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	checks.Remove(c, r.ID)
	return core.NoContent()
}

// checkState is what probes saw: everything up, since the check was made.
func checkState(c *core.Call) (core.Answer, error) {
	r, err := findCheck(c)
	if err != nil {
		return core.Answer{}, err
	}
	seen := core.Map{}
	for _, region := range r.Value.Regions {
		seen[region] = core.Map{
			"status": "UP", "status_changed_at": core.Time(r.CreatedAt), "thirty_day_uptime_percentage": 100,
		}
	}
	return core.OK(core.Map{"state": core.Map{"regions": seen, "previous_outage": core.Map{
		"region": "", "started_at": "", "ended_at": "", "duration_seconds": 0,
	}}})
}

func checkView(r *core.Record[check]) core.Map {
	return core.Map{
		"id": r.ID, "name": r.Name, "type": r.Value.Type, "target": r.Value.Target,
		"regions": r.Value.Regions, "enabled": r.Value.Enabled,
	}
}
