package database

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

//go:embed firewall.json
var firewallJSON []byte

var firewallManifests = manifests(firewallJSON)

// firewall is the one list of trusted sources of a cluster. The provider has no
// object for it: the list is always there, and empty means that there is none
// of ours.
type firewall struct {
	doapi.Base
	engine Engine
}

// Firewall is the kind of an engine's trusted sources.
func Firewall(a *doapi.Account, e Engine) cloud.Kind {
	return &firewall{doapi.NewBase(a, firewallManifests[string(e)]), e}
}

// firewallID is the provider id of a cluster's list, which has none there.
const firewallID = "firewall"

const maxRules = 100

// rule is a rule on the wire. godo's has no description, and would erase it.
type rule struct {
	UUID        string `json:"uuid,omitempty"`
	Type        string `json:"type"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
}

type rules struct {
	Rules []rule `json:"rules"`
}

// Find answers that there is none while the list is empty.
func (k *firewall) Find(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	o, err := k.look(ctx, doapi.Look, r, r.Parent)
	if err == nil && len(o.Spec.List("rules")) == 0 {
		return nil, cloud.NotFound(k.Op(doapi.Look))
	}
	return o, err
}

// Create writes the list.
func (k *firewall) Create(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	return k.put(ctx, doapi.Create, r, k.wanted(r))
}

// Observe reads the list. Once its delete was sent, an empty one is gone.
func (k *firewall) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	if doapi.DeleteNoted(r) {
		return k.Find(ctx, r)
	}
	return k.look(ctx, doapi.Look, r, r.Parent)
}

func (k *firewall) look(ctx context.Context, v doapi.Verb, r cloud.Request, p *cloud.ParentRef) (*cloud.Observed, error) {
	parent, err := k.ParentID(v, p)
	if err != nil {
		return nil, err
	}
	var have struct {
		Rules *[]rule `json:"rules"`
	}
	if err := k.Get(ctx, firewallPath(parent), &have); err != nil {
		return nil, k.Fail(v, r, err)
	}
	if have.Rules == nil {
		return nil, k.Missing(v) // nothing that we know; not an empty list
	}
	return k.observed(*have.Rules), nil
}

func firewallPath(parent string) string { return doapi.Path("v2", "databases", parent, "firewall") }

func (k *firewall) observed(have []rule) *cloud.Observed {
	spec, out := []any{}, []any{}
	for _, h := range have {
		s := map[string]any{"type": h.Type, "value": h.Value}
		if h.Description != "" {
			s["description"] = h.Description
		}
		spec = append(spec, s)
		out = append(out, map[string]any{"type": h.Type, "value": h.Value, "uuid": h.UUID})
	}
	return &cloud.Observed{
		ProviderID: firewallID, Name: firewallID, Phase: cloud.PhaseReady, Identity: k.Manifest().IdentityOf(nil),
		Spec: cloud.Spec{"rules": spec}, Outputs: map[string]any{"rules": out},
	}
}

// wanted is the whole list: the spec's rules, and one for each of the tenant's
// instances that still lives.
func (k *firewall) wanted(r cloud.Request) []rule {
	list := []rule{}
	for _, e := range r.Spec.List("rules") {
		m, _ := e.(map[string]any)
		s := cloud.Spec(m)
		list = append(list, rule{Type: s.String("type"), Value: s.String("value"), Description: s.String("description")})
	}
	for _, id := range r.Spec.Strings("instances") {
		if droplet := r.Instances[id]; droplet != "" && !slices.ContainsFunc(list, func(l rule) bool { return l.Type == "droplet" && l.Value == droplet }) {
			list = append(list, rule{Type: "droplet", Value: droplet})
		}
	}
	return list
}

func (k *firewall) put(ctx context.Context, v doapi.Verb, r cloud.Request, list []rule) (*cloud.Observed, error) {
	parent, err := k.ParentID(v, r.Parent)
	if err != nil {
		return nil, err
	}
	err = k.Call(ctx, http.MethodPut, firewallPath(parent), rules{list}, nil)
	if err = k.Fail(v, r, err, doapi.Fields("rules"), unready(r.Parent)); err != nil {
		return nil, err
	}
	return k.observed(list), nil
}

// Diff compares the lists as sets; a description counts only where the spec
// gives one.
func (k *firewall) Diff(r cloud.Request, o *cloud.Observed) []string {
	want := k.wanted(r)
	var have []rule
	for _, e := range o.Spec.List("rules") {
		m, _ := e.(map[string]any)
		s := cloud.Spec(m)
		have = append(have, rule{Type: s.String("type"), Value: s.String("value"), Description: s.String("description")})
	}
	var rulesDiffer, instancesDiffer bool
	note := func(l rule) {
		if l.Type == "droplet" && r.Spec["instances"] != nil {
			instancesDiffer = true
		} else {
			rulesDiffer = true
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h rule) bool { return w.same(h) && (w.Description == "" || w.Description == h.Description) }) {
			note(w)
		}
	}
	for _, h := range have {
		if !slices.ContainsFunc(want, h.same) {
			note(h)
		}
	}
	var out []string
	if rulesDiffer {
		out = append(out, "rules")
	}
	if instancesDiffer {
		out = append(out, "instances")
	}
	return out
}

// same: one source in two spellings.
func (l rule) same(other rule) bool {
	return l.Type == other.Type && canonicalSource(l) == canonicalSource(other)
}

func canonicalSource(l rule) string {
	if l.Type != "ip_addr" {
		return strings.ToLower(l.Value)
	}
	if p, err := netip.ParsePrefix(l.Value); err == nil {
		if p.IsSingleIP() {
			return p.Addr().String()
		}
		return p.Masked().String()
	}
	if a, err := netip.ParseAddr(l.Value); err == nil {
		return a.String()
	}
	return l.Value
}

// Update writes the whole list again, built from the newest spec.
func (k *firewall) Update(ctx context.Context, r cloud.Request, _ *cloud.Observed, fields []string) (*cloud.Updated, error) {
	if _, err := k.put(ctx, doapi.Change, r, k.wanted(r)); err != nil {
		return nil, err
	}
	return &cloud.Updated{Settles: fields}, nil
}

// Delete empties the list, which opens the cluster. With the cluster it goes
// without a call, so that a dying cluster is not opened.
func (k *firewall) Delete(ctx context.Context, r cloud.Request) error {
	if r.Parent != nil && r.Parent.Deleting {
		return cloud.NotFound(k.Op(doapi.Delete))
	}
	if _, err := k.put(ctx, doapi.Delete, r, []rule{}); err != nil {
		return err
	}
	doapi.NoteDelete(r)
	return nil
}

// List returns the list of one cluster, or those of all the engine's clusters.
// An empty one counts only where a record of ours may stand behind it.
func (k *firewall) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	of := &child{Base: k.Base, engine: k.engine}
	parents, err := of.parents(ctx, s)
	if err != nil {
		return nil, err
	}
	out := []*cloud.Observed{}
	for _, id := range parents {
		o, err := k.look(ctx, doapi.List, cloud.Request{}, &cloud.ParentRef{ProviderID: id})
		switch {
		case s.Parent == nil && cloud.IsNotFound(err): // went away meanwhile
			continue
		case err != nil:
			return nil, err
		case (s.Parent == nil || s.Parent.ResourceID == "") && len(o.Spec.List("rules")) == 0:
			continue
		case s.Limit > 0 && len(out) == s.Limit:
			return out, nil
		}
		out = append(out, o)
	}
	return out, nil
}

// CheckSpec refuses IPv6, words that are no address, doubles and lists that are
// too long together.
func (k *firewall) CheckSpec(s cloud.Spec) error {
	if n := len(s.List("rules")) + len(s.List("instances")); n > maxRules {
		return cloud.InvalidField(fmt.Sprintf("at most %d rules and instances together", maxRules), "spec.rules")
	}
	seen := map[string]bool{}
	for i, e := range s.List("rules") {
		m, _ := e.(map[string]any)
		l := rule{Type: cloud.Spec(m).String("type"), Value: cloud.Spec(m).String("value")}
		field := fmt.Sprintf("spec.rules[%d].value", i)
		if l.Type == "ip_addr" && !isIPv4(l.Value) {
			return cloud.InvalidField("must be an IPv4 address or range", field)
		}
		key := l.Type + " " + canonicalSource(l)
		if seen[key] {
			return cloud.InvalidField("the same source twice", field)
		}
		seen[key] = true
	}
	return nil
}

func isIPv4(text string) bool {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr().Is4()
	}
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is4()
}
