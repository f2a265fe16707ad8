package edge

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// defaultTTL is the provider's, in seconds.
const defaultTTL = 1800

// extra are the fields that only records of a type have; they need all of them.
var extra = map[string][]string{
	"MX": {"priority"}, "SRV": {"priority", "weight", "port"}, "CAA": {"flags", "tag"},
}

func has(kind, field string) bool { return slices.Contains(extra[kind], field) }

// pointsToHost: the data is the name of a host.
func pointsToHost(s cloud.Spec) bool {
	kind := s.String("type")
	return slices.Contains([]string{"CNAME", "MX", "NS", "SRV"}, kind) || kind == "CAA" && s.String("tag") != "iodef"
}

// NormaliseSpec gives types, host names and addresses their one spelling.
func (k *record) NormaliseSpec(s cloud.Spec) cloud.Spec { return normal(s.Clone()) }

// normal changes s. It may be given anything, so it leaves alone what it does
// not understand.
func normal(s cloud.Spec) cloud.Spec {
	change := func(field string, f func(string) string) {
		if text, ok := s[field].(string); ok {
			s[field] = f(text)
		}
	}
	change("type", strings.ToUpper)
	change("tag", strings.ToLower)
	change("name", host)
	switch kind := s.String("type"); {
	case pointsToHost(s):
		change("data", host)
	case kind == "A" || kind == "AAAA":
		change("data", func(text string) string {
			if a, err := netip.ParseAddr(text); err == nil {
				return a.String()
			}
			return text
		})
	}
	return s
}

// relative is a name below the domain; "@" is the domain itself.
func relative(name, domain string) string {
	if name == domain {
		return "@"
	}
	return strings.TrimSuffix(name, "."+domain)
}

// identity tells records of a zone apart, however name and data are spelt.
func identity(s cloud.Spec, domain string) string {
	s = normal(s.Clone())
	return strings.Join([]string{s.String("type"), relative(s.String("name"), domain), target(s, domain)}, " ")
}

// target is the data, where a host that is the domain itself is written out.
func target(s cloud.Spec, domain string) string {
	if data := s.String("data"); data != "@" || !pointsToHost(s) {
		return data
	}
	return domain
}

// Diff compares names and data by meaning, and numbers that the type has. A ttl
// that was taken out of the spec is the default again.
func (k *record) Diff(r cloud.Request, o *cloud.Observed) []string {
	domain := ""
	if r.Parent != nil {
		domain = r.Parent.ProviderID
	}
	want, have := normal(r.Spec.Clone()), o.Spec
	var out []string
	if relative(want.String("name"), domain) != relative(have.String("name"), domain) {
		out = append(out, "name")
	}
	if target(want, domain) != target(have, domain) {
		out = append(out, "data")
	}
	ttl, set := want.Int("ttl")
	if _, before := r.Applied["ttl"]; before && !set {
		ttl, set = defaultTTL, true
	}
	if n, told := have.Int("ttl"); set && told && n != ttl {
		out = append(out, "ttl")
	}
	for _, field := range extra[want.String("type")] {
		n, set := want.Int(field)
		m, told := have.Int(field)
		if set && told && n != m || field == "tag" && want.String(field) != have.String(field) {
			out = append(out, field)
		}
	}
	return out
}

// CheckSpec holds what depends on the type of the record.
func (k *record) CheckSpec(s cloud.Spec) error {
	kind := s.String("type")
	for _, field := range []string{"priority", "weight", "port", "flags", "tag"} {
		switch _, set := s[field]; {
		case set && !has(kind, field):
			return cloud.InvalidField(kind+" records have no "+field, "spec."+field)
		case !set && has(kind, field):
			return cloud.InvalidField(kind+" records need a "+field, "spec."+field)
		}
	}
	data := s.String("data")
	addr, err := netip.ParseAddr(data)
	switch {
	case kind == "A" && (err != nil || !addr.Is4()):
		return cloud.InvalidField("not an IPv4 address", "spec.data")
	case kind == "AAAA" && (err != nil || !addr.Is6() || addr.Zone() != ""):
		return cloud.InvalidField("not an IPv6 address", "spec.data")
	case pointsToHost(s) && !isHost(data):
		return cloud.InvalidField("not the full name of a host", "spec.data")
	case kind == "CNAME" && s.String("name") == "@":
		return cloud.InvalidField("the domain itself cannot be another name's alias", "spec.name")
	}
	return nil
}

// isHost: labels of letters, digits, dashes and underscores, at least two of
// them, since a single one is rather a name below the domain that lacks it.
func isHost(data string) bool {
	if data == "@" {
		return true
	}
	labels := strings.Split(host(data), ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(labels) > 1
}
