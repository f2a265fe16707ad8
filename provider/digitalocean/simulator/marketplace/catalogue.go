package marketplace

import (
	"slices"
	"strconv"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

type plan struct {
	slug, name string
	price      int // US dollars a month
}

// field is one metadata item that an app asks for.
type field struct {
	name, kind, about string
	options           []string
}

type app struct {
	slug, name string
	plans      []plan
	fields     []field
}

var apps = []app{
	{"beacon_logs", "Beacon Logs",
		[]plan{{"starter", "Starter", 0}, {"team", "Team", 29}, {"business", "Business", 149}},
		[]field{
			{"retention", "string", "Days that lines are kept", []string{"7", "30", "90"}},
			{"alerts", "boolean", "Whether alerts are sent", nil},
			{"owner_email", "string", "Who is told", nil},
		}},
	{"quick_mail", "Quick Mail",
		[]plan{{"10k", "10,000 messages", 15}, {"100k", "100,000 messages", 90}},
		[]field{{"sender_domain", "string", "Domain that mail is sent from", nil}}},
}

// since is when the catalogue was written.
var since = core.Time(time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC))

func appOf(slug string) (app, bool) {
	i := slices.IndexFunc(apps, func(a app) bool { return a.slug == slug })
	if i < 0 {
		return app{}, false
	}
	return apps[i], true
}

func (a app) plan(slug string) (plan, bool) {
	i := slices.IndexFunc(a.plans, func(p plan) bool { return p.slug == slug })
	if i < 0 {
		return plan{}, false
	}
	return a.plans[i], true
}

func listApps(*core.Call) (core.Answer, error) {
	views := []core.Map{}
	for _, a := range apps {
		plans := []core.Map{}
		for i, p := range a.plans {
			plans = append(plans, core.Map{
				"id": core.StableNumber("plan", a.slug, p.slug), "app_id": core.StableNumber("app", a.slug),
				"uuid": core.StableUUID("plan", a.slug, p.slug), "slug": p.slug, "display_name": p.name,
				"description": p.name + " of " + a.name, "price_per_month": p.price, "active": true, "available": true,
				"state": "approved", "by_default": i == 0, "created_at": since, "updated_at": since,
			})
		}
		views = append(views, core.Map{
			"app_slug": a.slug, "tos": "https://example.com/tos", "eula": "https://example.com/eula", "plans": plans,
		})
	}
	return core.OK(core.Map{"apps": views})
}

func listMetadata(c *core.Call) (core.Answer, error) {
	a, ok := appOf(c.Param("app"))
	if !ok {
		return core.Answer{}, core.NotFound("app not found")
	}
	views := []core.Map{}
	for i, f := range a.fields {
		v := core.Map{"id": i + 1, "name": f.name, "display_name": f.about, "description": f.about, "type": f.kind}
		if len(f.options) > 0 {
			v["options"] = f.options
		}
		views = append(views, v)
	}
	return core.OK(core.Map{"metadata": views})
}

// metadata is a value that the buyer gave, a string or a boolean.
type metadata struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// check: every item is one that the app asks for, of its type, and all are there.
func (a app) check(given []metadata) error {
	for _, m := range given {
		i := slices.IndexFunc(a.fields, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			return core.Unprocessable("metadata %q is unknown to %s", m.Name, a.slug)
		}
		f := a.fields[i]
		text, isText := m.Value.(string)
		_, isBool := m.Value.(bool)
		switch {
		case f.kind == "boolean" && !isBool, f.kind == "string" && !isText:
			return core.Unprocessable("metadata %q must be a %s", m.Name, f.kind)
		case len(f.options) > 0 && !slices.Contains(f.options, text):
			return core.Unprocessable("metadata %q must be one of %s", m.Name, strconv.Quote(f.options[0]))
		}
	}
	for _, f := range a.fields {
		if !slices.ContainsFunc(given, func(m metadata) bool { return m.Name == f.name }) {
			return core.Unprocessable("metadata %q is required", f.name)
		}
	}
	return nil
}
