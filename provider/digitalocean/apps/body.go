package apps

import (
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// exclusive are groups of fields of which one stands alone: the wanted one
// drives out the others, whoever put them there.
var exclusive = [][]string{
	sources, {"tag", "digest"}, {"instance_count", "autoscaling"}, {"component", "redirect"},
	{"error_document", "catchall_document"}, {"endpoint", "cluster_name"},
	{"papertrail", "datadog", "logtail", "open_search"},
}

// body is the whole spec to send: the wanted form over what the provider has.
// Parts of the latter that the tenant never set stay as they are, known to us
// or not; parts that the tenant took out (in was, not in form) go.
func body(name string, form, now cloud.Spec, was shape) object {
	out := object(now.Clone())
	if out == nil {
		out = object{}
	}
	out["name"] = name
	for field, p := range form {
		out[field] = overlay(field, out[field], p, was[field])
	}
	for field, set := range was {
		if form[field] != nil || out[field] == nil || field == "region" {
			continue
		}
		if rest, ok := overlay(field, out[field], nil, set).(object); ok && len(rest) > 0 {
			out[field] = rest
		} else {
			delete(out, field)
		}
	}
	if form["ingress"] == nil {
		keepRules(out, form, was)
	}
	return out
}

// overlay puts a wanted value over the provider's.
func overlay(field string, now, want any, was shape) any {
	switch w := want.(type) {
	case nil:
		have, ok := now.(object)
		if !ok || len(was) == 0 {
			return nil
		}
		return overlay(field, have, object{}, was)
	case []any:
		return overlayList(field, now, w, was)
	case object:
		out := object{}
		have, _ := now.(object)
		for k, v := range have {
			_, wanted := w[k]
			switch {
			case wanted:
			case was[k] == nil:
				out[k] = v
			default: // the tenant took it out
				if rest, ok := overlay(k, v, nil, was[k]).(object); ok && len(rest) > 0 {
					out[k] = rest
				}
			}
		}
		for k, v := range w {
			out[k] = overlay(k, have[k], v, was[k])
		}
		for _, group := range exclusive {
			if slices.ContainsFunc(group, func(f string) bool { return w[f] != nil }) {
				for _, f := range group {
					if w[f] == nil {
						delete(out, f)
					}
				}
			}
		}
		return out
	}
	return want
}

func overlayList(field string, now any, want []any, was shape) any {
	out := []any{}
	if keys[field] == nil {
		out = append(out, want...)
		if list, _ := now.([]any); field == "features" {
			for _, e := range list { // those of the provider stay
				if name, _ := e.(string); was[name] == nil && !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
		}
		return out
	}
	have, kept := keyedBy(field, now)
	items, order := keyedBy(field, want)
	for _, key := range order {
		var before any
		if o := have[key]; o != nil {
			before = o
		}
		out = append(out, overlay(field, before, items[key], was[key]))
	}
	for _, key := range kept {
		if items[key] == nil && field == "domains" && have[key]["type"] == "DEFAULT" {
			out = append(out, have[key])
		}
	}
	return out
}

// keepRules leaves out of a body those ingress rules that the provider makes
// anew from the components: the default ones, those of components with routes
// of their own, and those of components that are gone. The tenant set no rules.
func keepRules(out object, form cloud.Spec, was shape) {
	ingress, _ := out["ingress"].(object)
	rules, _ := ingress["rules"].([]any)
	if len(rules) == 0 {
		return
	}
	there, routed := map[string]bool{}, map[string]bool{}
	for _, list := range componentLists {
		parts, _ := keyedBy(list, form[list])
		for name, part := range parts {
			there[name] = true
			old := was[list][name]
			routed[name] = part["routes"] != nil || part["cors"] != nil || old["routes"] != nil || old["cors"] != nil
		}
		if form[list] == nil {
			kept, _ := keyedBy(list, out[list])
			for name := range kept {
				there[name] = true
			}
		}
	}
	left := []any{}
	for _, e := range rules {
		rule, _ := e.(object)
		to := cloud.Spec(rule).Object("component")
		name := to.String("name")
		bare, _ := meaning("", "", rule).(object)
		delete(bare, "match")
		if to != nil && (routed[name] || !there[name] || isDefaultRule(ruleKey(rule), bare)) {
			continue
		}
		left = append(left, e)
	}
	if len(left) > 0 {
		ingress["rules"] = left
		return
	}
	delete(ingress, "rules")
	if len(ingress) == 0 {
		delete(out, "ingress")
	}
}

// refusedField is the field that a refusal names, "" if it names none. The
// provider writes: error validating app spec field "services[0].image".
func refusedField(message string) string {
	_, rest, ok := strings.Cut(message, `app spec field "`)
	field, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed || strings.ContainsAny(field, " \n") {
		return ""
	}
	return field
}
