package apps

import (
	"fmt"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// object is a JSON object of a spec.
type object = map[string]any

// componentLists are the fields that hold components.
var componentLists = []string{"services", "static_sites", "workers", "jobs", "functions", "databases"}

// keys say by what the elements of a list are told apart. Their order counts
// for none of them.
var keys = map[string]func(object) string{
	"services": named("name"), "static_sites": named("name"), "workers": named("name"), "jobs": named("name"),
	"functions": named("name"), "databases": named("name"), "envs": named("key"), "alerts": named("rule"),
	"log_destinations": named("name"), "routes": named("path"),
	"domains": func(o object) string { return hostName(cloud.Spec(o).String("domain")) },
	"rules":   ruleKey,
}

func named(field string) func(object) string {
	return func(o object) string { return cloud.Spec(o).String(field) }
}

func hostName(text string) string { return strings.TrimSuffix(strings.ToLower(text), ".") }

// ruleKey is what an ingress rule matches: host and path. No path is all paths.
func ruleKey(o object) string {
	match := cloud.Spec(o).Object("match")
	prefix := match.Object("path").String("prefix")
	if prefix == "" {
		prefix = "/"
	}
	return match.Object("authority").String("exact") + " " + prefix
}

// keyedBy gives a list's elements by their keys, a repeated key with a number.
// order keeps the list's own order.
func keyedBy(list string, v any) (items map[string]object, order []string) {
	items = map[string]object{}
	elements, _ := v.([]any)
	for _, e := range elements {
		o, ok := e.(object)
		if !ok {
			continue
		}
		base := keys[list](o)
		key := base
		for n := 2; items[key] != nil; n++ {
			key = fmt.Sprintf("%s#%d", base, n)
		}
		items[key] = o
		order = append(order, key)
	}
	return items, order
}

// wantedForm is the wanted spec in the provider's form: without what is not
// part of it, the network as its VPC. vpc is "" when the network has none there.
func wantedForm(spec cloud.Spec, networks map[string]cloud.NetworkRef) (form cloud.Spec, vpc string) {
	form = spec.Clone()
	delete(form, "project_id")
	name := form.String("network")
	delete(form, "network")
	if name == "" {
		return form, form.Object("vpc").String("id")
	}
	for _, center := range appManifest.RegionMap[spec.String("region")] {
		if vpc = networks[name][center]; vpc != "" {
			break
		}
	}
	form["vpc"] = object{"id": vpc}
	return form, vpc
}

// CheckSpec refuses what the schema cannot tell.
func (k *app) CheckSpec(s cloud.Spec) error {
	var parts int
	seen := map[string]string{}
	routed := ""
	if err := checkPart("spec", object(s)); err != nil {
		return err
	}
	for _, list := range componentLists {
		for i, e := range s.List(list) {
			o, _ := e.(object)
			part, at := cloud.Spec(o), fmt.Sprintf("spec.%s[%d]", list, i)
			parts++
			if first, taken := seen[part.String("name")]; taken {
				return cloud.InvalidField("two components have the same name", first+".name", at+".name")
			}
			seen[part.String("name")] = at
			if routed == "" && (len(part.List("routes")) > 0 || part["cors"] != nil) {
				routed = at
			}
			if err := checkSource(list, at, part); err != nil {
				return err
			}
			if err := checkPart(at, o); err != nil {
				return err
			}
		}
	}
	rules := s.Object("ingress").List("rules")
	switch {
	case parts == 0:
		return cloud.InvalidField("an app needs at least one component", "spec.services")
	case routed != "" && len(rules) > 0:
		return cloud.InvalidField("routes and cors of a component and ingress.rules are two forms of one thing; use ingress.rules", routed, "spec.ingress.rules")
	case s["network"] != nil && s["vpc"] != nil:
		return cloud.InvalidField("network and vpc name the same thing; give one", "spec.network", "spec.vpc")
	case s["network"] != nil && s["region"] == nil:
		return cloud.InvalidField("a network needs a region", "spec.region")
	}
	return checkRules(rules, seen)
}

func checkRules(rules []any, components map[string]string) error {
	for i, e := range rules {
		o, _ := e.(object)
		rule, at := cloud.Spec(o), fmt.Sprintf("spec.ingress.rules[%d]", i)
		to := rule.Object("component")
		if (to == nil) == (rule["redirect"] == nil) {
			return cloud.InvalidField("a rule leads either to a component or to a redirect", at)
		}
		if to != nil && components[to.String("name")] == "" {
			return cloud.InvalidField("the rule leads to a component that the app does not have", at+".component.name")
		}
	}
	return nil
}

func checkSource(list, at string, part cloud.Spec) error {
	if list == "databases" {
		if on, _ := part.Bool("production"); on && part["cluster_name"] == nil {
			return cloud.InvalidField("a production database needs cluster_name", at+".cluster_name")
		}
		return nil
	}
	n := 0
	for _, source := range sources {
		if part[source] != nil {
			n++
		}
	}
	image := part.Object("image")
	switch {
	case n != 1:
		return cloud.InvalidField("a component has exactly one source: "+strings.Join(sources, ", "), at)
	case image["tag"] != nil && image["digest"] != nil:
		return cloud.InvalidField("an image is named by tag or digest", at+".image.digest")
	case part["autoscaling"] != nil && part["instance_count"] != nil:
		return cloud.InvalidField("instance_count and autoscaling exclude each other", at+".instance_count")
	case part["error_document"] != nil && part["catchall_document"] != nil:
		return cloud.InvalidField("error_document and catchall_document exclude each other", at+".catchall_document")
	case list == "jobs" && part.String("kind") == "SCHEDULED" && part["schedule"] == nil:
		return cloud.InvalidField("a scheduled job needs a schedule", at+".schedule")
	}
	return nil
}

var sources = []string{"git", "github", "gitlab", "bitbucket", "image"}

// checkPart checks the lists that the app and its components have alike.
func checkPart(at string, part object) error {
	for _, list := range []string{"envs", "alerts", "log_destinations", "domains"} {
		seen := map[string]bool{}
		for i, e := range cloud.Spec(part).List(list) {
			o, _ := e.(object)
			key := keys[list](o)
			if seen[key] {
				return cloud.InvalidField("stands there twice", fmt.Sprintf("%s.%s[%d]", at, list, i))
			}
			seen[key] = true
		}
	}
	for i, e := range cloud.Spec(part).List("envs") {
		o, _ := e.(object)
		env, field := cloud.Spec(o), fmt.Sprintf("%s.envs[%d].value", at, i)
		isRef, isSecret := isSecretRef(env.String("value")), env.String("type") == "SECRET"
		switch {
		case isSecret && !isRef:
			return cloud.InvalidField("the value of a SECRET variable is a SecretRef", field)
		case isRef && !isSecret:
			return cloud.InvalidField("a SecretRef needs type SECRET, or the value would be shown", field)
		}
	}
	return nil
}

func isSecretRef(text string) bool { return strings.HasPrefix(text, "secret://") }
