package database

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// differs reports whether a field of a cluster that the tenant set is not what
// the provider shows. What is not set, or not shown, never differs.
func differs(field string, r cloud.Request, o *cloud.Observed) bool {
	if field == "tags" {
		add, remove := tagChanges(r, o)
		return o.Outputs["tags"] != nil && (len(add) > 0 || len(remove) > 0)
	}
	want, have := r.Spec[field], o.Spec[field]
	if want == nil && field == "service_cnames" && len(r.Applied.List(field)) > 0 {
		want = []any{} // taken out of the spec: clearing it is the wish
	}
	if want == nil || have == nil {
		return false
	}
	switch field {
	case "region":
		return !strings.EqualFold(r.Spec.String(field), o.Spec.String(field))
	case "version":
		return !sameVersion(r.Spec.String(field), o.Spec.String(field)) && unlikeApplied(field, r)
	case "storage_size_mib":
		return storageDiffers(r, o)
	case "maintenance_window":
		return !cloud.SameValue(normalWindow(r.Spec.Object(field)), normalWindow(o.Spec.Object(field)))
	case "sql_mode":
		return !slices.Equal(sqlModes(r.Spec.String(field)), sqlModes(o.Spec.String(field)))
	case "service_cnames":
		return !slices.Equal(hostNames(want), hostNames(have))
	case "storage_autoscale":
		return autoscaleDiffers(r.Spec.Object(field), o.Spec.Object(field))
	case "config":
		return !covers(want, have, configSent(r))
	}
	return !cloud.SameValue(want, have)
}

// unlikeApplied: the tenant changed the field since it was last seen applied.
// When not, the provider moved it by itself (a forced upgrade, a minor version)
// and could not be moved back.
func unlikeApplied(field string, r cloud.Request) bool {
	was, ok := r.Applied[field]
	return !ok || !cloud.SameValue(was, r.Spec[field])
}

// sameVersion: the provider answers "14.5" for a wanted "14"; by components,
// so that 1 is not 14.
func sameVersion(want, have string) bool {
	w, h := strings.Split(want, "."), strings.Split(have, ".")
	return len(w) <= len(h) && slices.Equal(w, h[:len(w)])
}

// storageDiffers: more storage than wanted is no difference unless the tenant
// changed its wish, since a bigger size and autoscaling bring more.
func storageDiffers(r cloud.Request, o *cloud.Observed) bool {
	want, ok := r.Spec.Int("storage_size_mib")
	have, known := o.Spec.Int("storage_size_mib")
	if !ok || !known || want == have {
		return false
	}
	return have < want || unlikeApplied("storage_size_mib", r)
}

// normalHour is an hour whose spelling may be changed; others are refused as
// they stand.
var normalHour = regexp.MustCompile(`^\d{2}:\d{2}(:\d{2})?$`)

// normalWindow is a maintenance window in one spelling: the day in lower case,
// the hour as HH:MM (the provider adds seconds).
func normalWindow(w map[string]any) map[string]any {
	s := cloud.Spec(w)
	hour := s.String("hour")
	if parts := strings.Split(hour, ":"); len(parts) >= 2 {
		if len(parts[0]) == 1 {
			parts[0] = "0" + parts[0]
		}
		hour = parts[0] + ":" + parts[1]
	}
	return map[string]any{"day": strings.ToLower(s.String("day")), "hour": hour}
}

func hostNames(v any) []string {
	names := cloud.Spec{"n": v}.Strings("n")
	for i, n := range names {
		names[i] = strings.TrimSuffix(strings.ToLower(n), ".")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// autoscaleDiffers: while it is off, the provider keeps no numbers.
func autoscaleDiffers(want, have cloud.Spec) bool {
	on, _ := want.Bool("enabled")
	is, _ := have.Bool("enabled")
	if on != is || !on {
		return on != is
	}
	return !covers(map[string]any(want), map[string]any(have), true)
}

// covers reports whether have holds every value of want; want may be partial at
// every depth. What have does not show is taken as it was sent, if it was.
func covers(want, have any, sent bool) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return cloud.SameValue(want, have)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for name, v := range w {
		shown, ok := h[name]
		if !ok && !sent || ok && !covers(v, shown, sent) {
			return false
		}
	}
	return true
}

// memoConfig keeps which settings were last sent, as a fingerprint.
const memoConfig = "config"

func configSent(r cloud.Request) bool {
	return r.Memo[memoConfig] != "" && r.Memo[memoConfig] == fingerprint(r.Spec.Object("config"))
}

func noteConfig(r cloud.Request) {
	if r.Memo != nil && r.Spec["config"] != nil {
		r.Memo[memoConfig] = fingerprint(r.Spec.Object("config"))
	}
}

func fingerprint(s cloud.Spec) string {
	sum := sha256.Sum256(s.JSON())
	return hex.EncodeToString(sum[:8])
}

// NormaliseSpec gives values that have several spellings one of them.
func (k *cluster) NormaliseSpec(s cloud.Spec) cloud.Spec {
	s = s.Clone()
	if region, ok := s["region"].(string); ok {
		s["region"] = strings.ToLower(region)
	}
	if w, ok := s["maintenance_window"].(map[string]any); ok {
		day, hour := w["day"], w["hour"]
		if _, ok := day.(string); ok {
			w["day"] = normalWindow(w)["day"]
		}
		if _, ok := hour.(string); ok && normalHour.MatchString(hour.(string)) {
			w["hour"] = normalWindow(w)["hour"]
		}
	}
	return s
}

// CheckSpec refuses what the schema cannot tell.
func (k *cluster) CheckSpec(s cloud.Spec) error {
	if err := oneNetwork(s); err != nil {
		return err
	}
	for _, t := range s.Strings("tags") {
		if len(doapi.Foreign([]string{t})) == 0 {
			return cloud.InvalidField("tags that begin with better-compute- are ours", "spec.tags")
		}
	}
	return nil
}

func oneNetwork(s cloud.Spec) error {
	if s["network"] != nil && s["private_network_uuid"] != nil {
		return cloud.InvalidField("network and private_network_uuid name the same thing; give one", "spec.network", "spec.private_network_uuid")
	}
	return nil
}
