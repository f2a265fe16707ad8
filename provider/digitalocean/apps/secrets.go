package apps

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// place is a field of a spec that holds a secret.
type place struct {
	in    object
	field string
}

func (p place) text() string { return cloud.Spec(p.in).String(p.field) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// secretPlaces are the fields of a spec that the provider encrypts, by paths
// that stay the same when lists are reordered: services/web/envs/KEY. The first
// part of a path is the top-level field.
func secretPlaces(spec object) map[string]place {
	found := map[string]place{}
	inPart("", spec, found)
	for _, list := range componentLists {
		items, _ := keyedBy(list, spec[list])
		for name, part := range items {
			inPart(list+"/"+name+"/", part, found)
		}
	}
	return found
}

func inPart(at string, part object, found map[string]place) {
	envs, _ := keyedBy("envs", part["envs"])
	for key, env := range envs {
		if cloud.Spec(env).String("type") == "SECRET" {
			found[at+"envs/"+key] = place{env, "value"}
		}
	}
	add := func(path string, in cloud.Spec, field string) {
		if in != nil && in[field] != nil {
			found[at+path] = place{object(in), field}
		}
	}
	add("image", cloud.Spec(part).Object("image"), "registry_credentials")
	logs, _ := keyedBy("log_destinations", part["log_destinations"])
	for name, log := range logs {
		l, path := cloud.Spec(log), "log_destinations/"+name+"/"
		add(path+"datadog", l.Object("datadog"), "api_key")
		add(path+"logtail", l.Object("logtail"), "token")
		add(path+"open_search", l.Object("open_search").Object("basic_auth"), "password")
	}
}

// fingerprint stands for an encrypted value in Observed.Spec: it tells a change
// and gives nothing that could be sent to the provider. Anything else in a
// secret's place is not told.
func fingerprint(encrypted string) string {
	if !strings.HasPrefix(encrypted, "EV[") {
		return ""
	}
	sum := sha256.Sum256([]byte(encrypted))
	return "EV[" + hex.EncodeToString(sum[:8]) + "]"
}

// conceal replaces the secrets of a spec by their fingerprints.
func conceal(spec object) {
	for _, p := range secretPlaces(spec) {
		p.in[p.field] = fingerprint(p.text())
	}
}

// secretDiffers reports whether the provider lacks the present value of the
// SecretRef at path. shown is the fingerprint that it shows there, "" for none.
func (n notes) secretDiffers(path, version, shown string) bool {
	s, known := n.Secrets[path]
	switch {
	case version == "": // the reference's value is not known now
		return false
	case !known || s.Version != version:
		return true
	case shown == "":
		return false // it has one, and does not show it
	case s.Shown != "":
		return s.Shown != shown
	}
	return s.Before != "" && s.Before == shown // sent, but the old one is still there
}

// see notes under which fingerprints the provider shows what was sent. spec is
// an observed one. After a good answer it is certain that what stands there is
// what was sent; otherwise only when it has changed.
func (n notes) see(spec object, answered bool) {
	places := secretPlaces(spec)
	for path, s := range n.Secrets {
		p, ok := places[path]
		if !ok || s.Shown != "" {
			continue
		}
		if shown := p.text(); shown != "" && (answered || shown != s.Before) {
			s.Shown, s.Before = shown, ""
			n.Secrets[path] = s
		}
	}
}

// fillSecrets puts the values of SecretRefs into a body that is about to be
// sent: the provider's own encrypted value where it has the present one, else
// the value itself. now is the provider's spec. It notes what it sends.
func (n notes) fillSecrets(r cloud.Request, body, now object) {
	have := secretPlaces(now)
	places := secretPlaces(body)
	for path, p := range places {
		ref := p.text()
		if !isSecretRef(ref) {
			continue // the provider's own, of a part that the tenant never set
		}
		version, shown, encrypted := r.SecretVersions[ref], "", ""
		if h, ok := have[path]; ok {
			encrypted = h.text()
			shown = fingerprint(encrypted)
		}
		if shown != "" && version != "" && !n.secretDiffers(path, version, shown) {
			p.in[p.field] = encrypted
			continue
		}
		p.in[p.field] = r.Resolve(ref)
		n.Secrets[path] = sealed{Version: version, Before: shown}
	}
	for path := range n.Secrets {
		if _, still := places[path]; !still {
			delete(n.Secrets, path)
		}
	}
}

// anySecret reports whether the provider lacks a secret of a top-level field.
func (n notes) anySecret(r cloud.Request, field string, wanted, shown map[string]place) bool {
	for path, p := range wanted {
		if top, _, _ := strings.Cut(path, "/"); top != field {
			continue
		}
		text := ""
		if s, ok := shown[path]; ok {
			text = s.text()
		}
		if n.secretDiffers(path, r.SecretVersions[p.text()], text) {
			return true
		}
	}
	return false
}
