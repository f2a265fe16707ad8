package database

import (
	"net/netip"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// maxRules is how many rules a cluster may have.
const maxRules = 100

// rule is one trusted source.
type rule struct {
	UUID        string    `json:"uuid"`
	Type        string    `json:"type"`
	Value       string    `json:"value"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
}

type ruleInput struct {
	Type        string `json:"type"`
	Value       string `json:"value"`
	Description string `json:"description"`
}

// makeRules builds the whole list from what was sent. A rule that was there
// before keeps its identity.
func makeRules(c *core.Call, old []rule, in []ruleInput) ([]rule, error) {
	if len(in) > maxRules {
		return nil, core.Unprocessable("invalid rules: %d at most", maxRules)
	}
	before, seen := map[string]rule{}, map[string]bool{}
	for _, r := range old {
		before[r.Type+" "+r.Value] = r
	}
	var rules []rule
	for _, sent := range in {
		if err := sent.check(c); err != nil {
			return nil, err
		}
		key := sent.Type + " " + sent.Value
		if seen[key] {
			return nil, core.Unprocessable("invalid rules: %s %s is listed twice", sent.Type, sent.Value)
		}
		seen[key] = true
		made, kept := before[key]
		if !kept {
			made = rule{UUID: core.NewUUID(), Type: sent.Type, Value: sent.Value, CreatedAt: c.Now}
		}
		made.Description = sent.Description
		rules = append(rules, made)
	}
	return rules, nil
}

// check takes apps and Kubernetes clusters on trust: their areas may not be
// served.
func (in ruleInput) check(c *core.Call) error {
	switch in.Type {
	case "ip_addr":
		address := in.Value
		if prefix, err := netip.ParsePrefix(address); err == nil {
			address = prefix.Addr().String()
		}
		if addr, err := netip.ParseAddr(address); err != nil || !addr.Is4() {
			return core.Unprocessable("invalid rule: %q is not an IPv4 address or network", in.Value)
		}
	case "droplet":
		if _, ok := c.Lookup("droplet", in.Value); !ok {
			return core.Unprocessable("invalid rule: droplet %s was not found", in.Value)
		}
	case "tag":
		if _, ok := core.Tags.Get(c, strings.ToLower(in.Value)); !ok {
			return core.Unprocessable("invalid rule: tag %s was not found", in.Value)
		}
	case "app", "k8s":
		if in.Value == "" {
			return core.Unprocessable("invalid rule: the value is missing")
		}
	default:
		return core.Unprocessable("invalid rule: unknown type %q", in.Type)
	}
	return nil
}

func getFirewall(c *core.Call) (core.Answer, error) {
	r, err := find(c)
	if err != nil {
		return core.Answer{}, err
	}
	return core.OK(core.Map{"rules": ruleViews(r)})
}

// putFirewall replaces the whole list; an empty one lets every source in.
func putFirewall(c *core.Call) (core.Answer, error) {
	r, err := usable(c)
	if err != nil {
		return core.Answer{}, err
	}
	var in struct {
		Rules []ruleInput `json:"rules"`
	}
	if err := c.Decode(&in); err != nil {
		return core.Answer{}, err
	}
	if r.Value.Rules, err = makeRules(c, r.Value.Rules, in.Rules); err != nil {
		return core.Answer{}, err
	}
	Clusters.Save(c, r)
	return core.NoContent()
}

func ruleViews(r record) []core.Map {
	views := []core.Map{}
	for _, one := range r.Value.Rules {
		view := core.Map{"uuid": one.UUID, "cluster_uuid": r.ID, "type": one.Type, "value": one.Value,
			"created_at": core.Time(one.CreatedAt)}
		if one.Description != "" {
			view["description"] = one.Description
		}
		views = append(views, view)
	}
	return views
}
