package apps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// The meaning of a spec, in which two forms of one thing are equal: lists whose
// order counts for nothing become maps or sets, words that say the default are
// dropped, and the routes and CORS of components stand with the components
// however they are written.

// keyed is a list of objects by their keys.
type keyed struct {
	list  string
	owner string // the component that the list belongs to
	items map[string]any
}

// set is a list of words.
type set map[string]bool

// shape is which parts of a spec are there, without their values.
type shape map[string]shape

// words are the lists of scalars, and how their letters count.
var words = map[string]func(string) string{
	"features": asIs, "internal_ports": asIs, "allow_methods": strings.ToUpper,
	"allow_headers": strings.ToLower, "expose_headers": strings.ToLower,
}

func asIs(s string) string { return s }

// unset are words that say nothing.
var unset = map[string][]string{
	"scope": {"UNSET"}, "kind": {"UNSPECIFIED"}, "engine": {"UNSET"}, "type": {"UNSPECIFIED"},
	"operator": {"UNSPECIFIED_OPERATOR"}, "window": {"UNSPECIFIED_WINDOW"},
}

// defaults are what a field means when it is absent; several where it depends
// on what it stands in. false, "" and empty mean absent everywhere.
var defaults = map[string][]any{
	"scope": {"RUN_AND_BUILD_TIME"}, "kind": {"POST_DEPLOY"}, "type": {"GENERAL", "AUTOASSIGN"}, "engine": {"PG"},
	"protocol": {"HTTP"}, "tag": {"latest"}, "instance_count": {1}, "http_port": {8080},
	"instance_size_slug": {"apps-s-1vcpu-0.5gb", "basic-xxs"}, "source_dir": {"/"}, "time_zone": {"UTC"},
	"index_document": {"index.html"}, "error_document": {"404.html"}, "index_name": {"logs"},
	"redirect_code": {302}, "scheme": {"https"}, "minimum_tls_version": {"1.2"}, "percent": {80},
	"initial_delay_seconds": {0, 5}, "period_seconds": {10}, "timeout_seconds": {1}, "success_threshold": {1},
	"failure_threshold": {9, 18}, "drain_seconds": {15}, "grace_period_seconds": {120},
}

// wantedMeaning is the meaning of a wanted spec in the provider's form.
func wantedMeaning(form cloud.Spec) object {
	m, _ := meaning("", "", object(form)).(object)
	return m
}

// observedMeaning is that of the provider's spec: each component gets the
// routes and the CORS that ingress rules give it.
func observedMeaning(spec cloud.Spec) object {
	m := wantedMeaning(spec)
	routes, cors := map[string]map[string]any{}, map[string]any{}
	rules, _ := keyedBy("rules", spec.Object("ingress")["rules"])
	for key, rule := range rules {
		to := cloud.Spec(rule).Object("component")
		host, path, _ := strings.Cut(key, " ")
		if to == nil || host != "" {
			continue
		}
		name := to.String("name")
		if routes[name] == nil {
			routes[name] = map[string]any{}
		}
		route := object{"path": path}
		if keep, ok := to.Bool("preserve_path_prefix"); ok {
			route["preserve_path_prefix"] = keep
		}
		routes[name][path] = route
		if c := meaning("cors", name, rule["cors"]); c != nil {
			cors[name] = c
		}
	}
	for _, list := range componentLists {
		parts, _ := m[list].(keyed)
		for name, p := range parts.items {
			part, _ := p.(object)
			if part["routes"] == nil && len(routes[name]) > 0 {
				part["routes"] = keyed{"routes", name, routes[name]}
			}
			if part["cors"] == nil && cors[name] != nil {
				part["cors"] = cors[name]
			}
		}
	}
	return m
}

func meaning(field, owner string, v any) any {
	switch t := v.(type) {
	case object:
		out := object{}
		for k, e := range t {
			if m := meaning(k, owner, e); m != nil {
				out[k] = m
			}
		}
		return out
	case []any:
		return listMeaning(field, owner, t)
	case string:
		if slices.Contains(unset[field], t) {
			return nil
		}
		if field == "max_age" || field == "timeout" {
			if d, err := time.ParseDuration(t); err == nil {
				return d.String()
			}
		}
	}
	return v
}

func listMeaning(field, owner string, list []any) any {
	if keys[field] != nil {
		out := keyed{field, owner, map[string]any{}}
		items, _ := keyedBy(field, list)
		for key, item := range items {
			inside := owner
			if slices.Contains(componentLists, field) {
				inside = key
			}
			m, _ := meaning("", inside, item).(object)
			switch field {
			case "rules":
				delete(m, "match") // it is the key
			case "domains":
				m["domain"] = key
			case "envs":
				if m["type"] == "SECRET" {
					delete(m, "value") // compared on its own, see secretDiffers
				}
			}
			out.items[key] = m
		}
		return out
	}
	out := set{}
	for _, e := range list {
		switch t := e.(type) {
		case object: // an origin
			out[origin(t)] = true
		default:
			text := fmt.Sprint(t)
			if fold := words[field]; fold != nil {
				text = fold(text)
			}
			out[text] = true
		}
	}
	return out
}

// origin is a CORS origin as one word. The provider takes a prefix as exact.
func origin(o object) string {
	s := cloud.Spec(o)
	if s["regex"] != nil {
		return "~" + s.String("regex")
	}
	return "=" + s.String("exact") + s.String("prefix")
}

func shapeOf(m any) shape {
	s := shape{}
	switch t := m.(type) {
	case object:
		for k, e := range t {
			s[k] = shapeOf(e)
		}
	case keyed:
		for k, e := range t.items {
			s[k] = shapeOf(e)
		}
	case set:
		for k := range t {
			s[k] = shape{}
		}
	}
	return s
}

// and is the shape of both.
func (s shape) and(other shape) shape {
	out := shape{}
	for k, v := range s {
		out[k] = v
	}
	for k, v := range other {
		out[k] = out[k].and(v)
	}
	return out
}

// secretFields are compared by version and fingerprint, not by value.
var secretFields = []string{"registry_credentials", "api_key", "token", "password"}

// comparison compares meanings. sent is true when this very wish was sent
// before: what the provider then added by itself is no difference.
type comparison struct{ sent bool }

// same reports whether the provider has what is wanted. What is not wanted and
// never was (was is nil) is the provider's own affair.
func (c comparison) same(field string, want, have any, was shape) bool {
	switch w := want.(type) {
	case nil:
		return was == nil || absent(field, have) || c.cleared(field, have, was)
	case keyed:
		h, _ := have.(keyed)
		for k, item := range w.items {
			other, ok := h.items[k]
			if !ok || !c.same(field, item, other, was[k]) {
				return false
			}
		}
		for k := range h.items {
			if _, wanted := w.items[k]; !wanted && !c.ownDoing(h, k) {
				return false
			}
		}
		return true
	case set:
		h, _ := have.(set)
		for k := range w {
			if !h[k] {
				return false
			}
		}
		for k := range h {
			if !w[k] && (field != "features" || was[k] != nil && !c.sent) {
				return false
			}
		}
		return true
	case object:
		h, _ := have.(object)
		for k, v := range w {
			if !c.same(k, v, h[k], was[k]) {
				return false
			}
		}
		for k, v := range h {
			if _, wanted := w[k]; !wanted && !c.same(k, nil, v, was[k]) {
				return false
			}
		}
		return true
	}
	if slices.Contains(secretFields, field) {
		return have != nil
	}
	if have == nil {
		return absent(field, want)
	}
	return cloud.SameValue(want, have)
}

// cleared: what was taken out of the wish is gone at the provider too.
func (c comparison) cleared(field string, have any, was shape) bool {
	switch have.(type) {
	case keyed:
		return c.same(field, keyed{list: field}, have, was)
	case set:
		return c.same(field, set{}, have, was)
	case object:
		return c.same(field, object{}, have, was)
	}
	return false
}

// ownDoing: an element that the provider adds by itself.
func (c comparison) ownDoing(h keyed, key string) bool {
	item, _ := h.items[key].(object)
	switch h.list {
	case "domains":
		return item["type"] == "DEFAULT"
	case "rules":
		return c.sent && isDefaultRule(key, item)
	case "routes":
		return c.sent && (key == "/" || key == "/"+h.owner)
	}
	return false
}

// isDefaultRule: a rule as the provider makes for components when there is none.
func isDefaultRule(key string, rule object) bool {
	to, _ := rule["component"].(object)
	name, _ := to["name"].(string)
	return len(rule) == 1 && len(to) == 1 && name != "" && (key == " /" || key == " /"+name)
}

// absent: the value means the same as none.
func absent(field string, v any) bool {
	switch t := v.(type) {
	case nil:
		return true
	case bool:
		return !t
	case string:
		if t == "" {
			return true
		}
	case keyed:
		return len(t.items) == 0
	case set:
		return len(t) == 0
	case object:
		for k, e := range t {
			if !absent(k, e) {
				return false
			}
		}
		return true
	}
	return slices.ContainsFunc(defaults[field], func(d any) bool { return cloud.SameValue(d, v) })
}
