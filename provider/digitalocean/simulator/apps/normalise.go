package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// take replaces the app's spec by a checked one, in the shape in which it will
// be shown. An EV value that was not made for this app is refused.
func (a *App) take(spec core.Map) error {
	if err := a.encrypt(spec); err != nil {
		return err
	}
	normalise(spec)
	a.Spec = spec
	return nil
}

// encrypt replaces every secret by an EV value.
func (a *App) encrypt(spec core.Map) error {
	for field, place := range secretPlaces(spec) {
		value := text(place.in, place.field)
		switch {
		case value == "":
		case strings.HasPrefix(value, "EV["):
			if _, known := a.Plain[value]; !known {
				return invalid(field, "the encrypted value could not be decrypted")
			}
		default:
			sealed := fmt.Sprintf("EV[1:%s:%s]", core.Blob(24), core.Blob(36))
			a.Plain[sealed] = value
			place.in[place.field] = sealed
		}
	}
	return nil
}

type place struct {
	in    core.Map
	field string
}

// secretPlaces are the places of a spec whose text the provider encrypts.
func secretPlaces(spec core.Map) map[string]place {
	found := map[string]place{}
	scan := func(at string, part core.Map) {
		for i, env := range objects(part, "envs") {
			if text(env, "type") == "SECRET" {
				found[fmt.Sprintf("%senvs[%d].value", at, i)] = place{env, "value"}
			}
		}
		if image := object(part, "image"); image != nil {
			found[at+"image.registry_credentials"] = place{image, "registry_credentials"}
		}
		for i, log := range objects(part, "log_destinations") {
			at := fmt.Sprintf("%slog_destinations[%d].", at, i)
			for _, p := range []struct{ object, field string }{{"datadog", "api_key"}, {"logtail", "token"}} {
				if o := object(log, p.object); o != nil {
					found[at+p.object+"."+p.field] = place{o, p.field}
				}
			}
			if auth := object(object(log, "open_search"), "basic_auth"); auth != nil {
				found[at+"open_search.basic_auth.password"] = place{auth, "password"}
			}
		}
	}
	scan("", spec)
	for _, kind := range componentKinds {
		for i, part := range objects(spec, kind) {
			scan(fmt.Sprintf("%s[%d].", kind, i), part)
		}
	}
	return found
}

// normalise rewrites the spec as the provider does.
func normalise(spec core.Map) {
	spec["region"] = regionOr(spec)
	if list, _ := spec["features"].([]any); !slices.Contains(list, any("buildpack-stack=ubuntu-22")) {
		spec["features"] = append(list, "buildpack-stack=ubuntu-22")
	}
	rules := moveRoutes(spec)
	plainEnvs(spec)
	for _, kind := range []string{"services", "workers", "jobs"} {
		for _, part := range objects(spec, kind) {
			fill(part, "instance_size_slug", "apps-s-1vcpu-0.5gb")
			if part["autoscaling"] == nil {
				fill(part, "instance_count", 1)
			}
		}
	}
	for _, part := range objects(spec, "services") {
		fill(part, "http_port", 8080)
	}
	for _, part := range components(spec) {
		plainEnvs(part)
	}
	for i, d := range objects(spec, "domains") {
		if t := text(d, "type"); t == "" || t == "UNSPECIFIED" {
			d["type"] = "ALIAS"
			if i == 0 {
				d["type"] = "PRIMARY"
			}
		}
	}
	if len(rules) == 0 {
		rules = defaultRules(spec)
	}
	for _, rule := range rules {
		origins(object(rule, "cors"))
	}
	if ingress := object(spec, "ingress"); ingress != nil || len(rules) > 0 {
		if ingress == nil {
			ingress = core.Map{}
			spec["ingress"] = ingress
		}
		list := []any{}
		for _, r := range rules {
			list = append(list, r)
		}
		ingress["rules"] = list
	}
	prune(spec)
}

func fill(m core.Map, field string, value any) {
	if m[field] == nil {
		m[field] = value
	}
}

// plainEnvs leaves GENERAL out, which is the default.
func plainEnvs(part core.Map) {
	for _, env := range objects(part, "envs") {
		if text(env, "type") == "GENERAL" {
			delete(env, "type")
		}
	}
}

// moveRoutes turns routes and CORS of components into ingress rules and returns
// all rules.
func moveRoutes(spec core.Map) []core.Map {
	rules := objects(object(spec, "ingress"), "rules")
	for _, part := range components(spec) {
		cors, routes := part["cors"], objects(part, "routes")
		if cors != nil && len(routes) == 0 {
			routes = []core.Map{{"path": "/"}}
		}
		for _, route := range routes {
			to := core.Map{"name": part["name"]}
			if route["preserve_path_prefix"] == true {
				to["preserve_path_prefix"] = true
			}
			rule := core.Map{"match": core.Map{"path": core.Map{"prefix": route["path"]}}, "component": to}
			if c, ok := cors.(core.Map); ok {
				copied := core.Map{}
				for k, v := range c {
					copied[k] = v
				}
				rule["cors"] = copied
			}
			rules = append(rules, rule)
		}
		delete(part, "routes")
		delete(part, "cors")
	}
	return rules
}

// defaultRules route the first component that serves at / and the others at
// their names.
func defaultRules(spec core.Map) []core.Map {
	var rules []core.Map
	for _, kind := range []string{"services", "static_sites", "functions"} {
		for _, part := range objects(spec, kind) {
			prefix := "/"
			if len(rules) > 0 {
				prefix += text(part, "name")
			}
			rules = append(rules, core.Map{"match": core.Map{"path": core.Map{"prefix": prefix}}, "component": core.Map{"name": part["name"]}})
		}
	}
	return rules
}

// origins makes prefix matches exact ones.
func origins(cors core.Map) {
	if cors == nil {
		return
	}
	for _, o := range objects(cors, "allow_origins") {
		if p, ok := o["prefix"]; ok {
			delete(o, "prefix")
			o["exact"] = p
		}
	}
}

// prune drops empty lists and nulls, at every depth.
func prune(value any) {
	switch v := value.(type) {
	case core.Map:
		for name, field := range v {
			if list, ok := field.([]any); field == nil || ok && len(list) == 0 {
				delete(v, name)
				continue
			}
			prune(field)
		}
	case []any:
		for _, e := range v {
			prune(e)
		}
	}
}
