package apps

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/basics"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/database"
)

// A spec is handled as the JSON object that it is, so that fields which the
// simulator does not know live on.

func text(m core.Map, field string) string { s, _ := m[field].(string); return s }

func object(m core.Map, field string) core.Map { o, _ := m[field].(core.Map); return o }

func objects(m core.Map, field string) []core.Map {
	list, _ := m[field].([]any)
	var found []core.Map
	for _, e := range list {
		if o, ok := e.(core.Map); ok {
			found = append(found, o)
		}
	}
	return found
}

// componentKinds are the lists of components; the databases are last because
// they are not built.
var componentKinds = []string{"services", "static_sites", "workers", "jobs", "functions", "databases"}

func components(spec core.Map) []core.Map {
	var all []core.Map
	for _, kind := range componentKinds {
		all = append(all, objects(spec, kind)...)
	}
	return all
}

var (
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}[a-z0-9]$`)
	envPattern  = regexp.MustCompile(`^[_A-Za-z][_A-Za-z0-9]*$`)
)

func invalid(field, format string, args ...any) error {
	return core.BadRequest("error validating app spec field %q: %s", field, fmt.Sprintf(format, args...))
}

// check refuses a spec as the provider does, naming the field.
func check(c *core.Call, spec core.Map) error {
	if spec == nil {
		return core.BadRequest("error validating app spec: spec is required")
	}
	if !namePattern.MatchString(text(spec, "name")) {
		return invalid("name", "must be 2 to 32 lower-case letters, digits and dashes")
	}
	if r := text(spec, "region"); r != "" && !isRegion(r) {
		return invalid("region", "%q is not a region", r)
	}
	if len(components(spec)) == 0 {
		return core.BadRequest("error validating app spec: the spec must contain at least one component")
	}
	seen := map[string]bool{}
	for _, kind := range componentKinds {
		for i, part := range objects(spec, kind) {
			field := fmt.Sprintf("%s[%d]", kind, i)
			name := text(part, "name")
			if !namePattern.MatchString(name) || seen[name] {
				return invalid(field+".name", "must be a valid name that no other component has")
			}
			seen[name] = true
			if err := checkComponent(c, kind, field, part); err != nil {
				return err
			}
		}
	}
	if err := checkEnvs("envs", spec); err != nil {
		return err
	}
	if err := checkDomains(spec); err != nil {
		return err
	}
	if err := checkIngress(spec, seen); err != nil {
		return err
	}
	return checkVPC(c, spec)
}

func checkComponent(c *core.Call, kind, field string, part core.Map) error {
	if kind == "databases" {
		return checkDatabase(c, field, part)
	}
	if err := checkSource(field, part); err != nil {
		return err
	}
	if s := text(part, "instance_size_slug"); s != "" && !isSize(s) {
		return invalid(field+".instance_size_slug", "%q is not an instance size", s)
	}
	if part["autoscaling"] != nil && part["instance_count"] != nil {
		return invalid(field+".instance_count", "must not be set with autoscaling")
	}
	if kind == "jobs" && text(part, "kind") == "SCHEDULED" && text(object(part, "schedule"), "cron") == "" {
		return invalid(field+".schedule", "is required of a scheduled job")
	}
	return checkEnvs(field+".envs", part)
}

func checkSource(field string, part core.Map) error {
	var has []string
	for _, source := range []string{"git", "github", "gitlab", "bitbucket", "image"} {
		if part[source] != nil {
			has = append(has, source)
		}
	}
	if len(has) != 1 {
		return invalid(field, "exactly one source (git, github, gitlab, bitbucket, image) is required, there are %d", len(has))
	}
	source := object(part, has[0])
	var missing string
	switch has[0] {
	case "git":
		missing = firstEmpty(source, "repo_clone_url", "branch")
	case "image":
		missing = firstEmpty(source, "registry_type", "repository")
		if text(source, "tag") != "" && text(source, "digest") != "" {
			return invalid(field+".image.digest", "cannot be set with a tag")
		}
	default:
		missing = firstEmpty(source, "repo", "branch")
	}
	if missing != "" {
		return invalid(field+"."+has[0]+"."+missing, "is required")
	}
	return nil
}

func firstEmpty(m core.Map, fields ...string) string {
	i := slices.IndexFunc(fields, func(f string) bool { return text(m, f) == "" })
	if i < 0 {
		return ""
	}
	return fields[i]
}

func checkDatabase(c *core.Call, field string, part core.Map) error {
	cluster := text(part, "cluster_name")
	if part["production"] == true && cluster == "" {
		return invalid(field+".cluster_name", "is required of a production database")
	}
	if cluster != "" {
		if _, ok := database.Clusters.Named(c, "", cluster); !ok {
			return invalid(field+".cluster_name", "no database cluster %q", cluster)
		}
	}
	return nil
}

func checkEnvs(field string, part core.Map) error {
	seen := map[string]bool{}
	for i, env := range objects(part, "envs") {
		key := text(env, "key")
		if !envPattern.MatchString(key) || seen[key] {
			return invalid(fmt.Sprintf("%s[%d].key", field, i), "must be a valid name that stands there once")
		}
		seen[key] = true
	}
	return nil
}

func checkDomains(spec core.Map) error {
	seen := map[string]bool{}
	for i, d := range objects(spec, "domains") {
		if name := text(d, "domain"); name == "" || seen[name] {
			return invalid(fmt.Sprintf("domains[%d].domain", i), "must be a hostname that stands there once")
		}
		seen[text(d, "domain")] = true
	}
	return nil
}

func checkIngress(spec core.Map, names map[string]bool) error {
	rules := objects(object(spec, "ingress"), "rules")
	if len(rules) == 0 {
		return nil
	}
	for _, kind := range componentKinds {
		for i, part := range objects(spec, kind) {
			if len(objects(part, "routes")) > 0 || part["cors"] != nil {
				return invalid(fmt.Sprintf("%s[%d].routes", kind, i), "component routes cannot be used with ingress rules")
			}
		}
	}
	for i, rule := range rules {
		field := fmt.Sprintf("ingress.rules[%d]", i)
		to, redirect := object(rule, "component"), object(rule, "redirect")
		if (to == nil) == (redirect == nil) {
			return invalid(field, "exactly one of component and redirect is required")
		}
		if to != nil && !names[text(to, "name")] {
			return invalid(field+".component.name", "no component %q", text(to, "name"))
		}
	}
	return nil
}

func checkVPC(c *core.Call, spec core.Map) error {
	id := text(object(spec, "vpc"), "id")
	if id == "" {
		return nil
	}
	vpc, ok := basics.VPCs.Get(c, id)
	if !ok {
		return invalid("vpc.id", "VPC %s was not found", id)
	}
	centers, _ := regionView(regionOr(spec))["data_centers"].([]string)
	if !slices.Contains(centers, vpc.Value.Region) {
		return invalid("vpc.id", "VPC %s is not in region %s", id, regionOr(spec))
	}
	return nil
}

func regionOr(spec core.Map) string {
	if r := text(spec, "region"); r != "" {
		return r
	}
	return nearest
}
