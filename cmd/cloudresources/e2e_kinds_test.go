//go:build unix

package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider"
)

var exampleSecret = regexp.MustCompile(`secret://acme/([a-z0-9-]+)`)

// exampleOf is the first example of a kind as a tenant of this world would
// write it; the secrets that it names are put.
func (w *world) exampleOf(t *testing.T, m *cloud.Manifest) (spec object) {
	t.Helper()
	require.NotEmpty(t, m.Examples, m.Kind)
	raw := marshal(m.Examples[0])
	for _, found := range exampleSecret.FindAllStringSubmatch(raw, -1) {
		call[object](t, w.acme, "secrets/put", object{"tenantId": w.acme.tenant, "name": found[1], "value": "the-value-of-" + found[1]})
	}
	raw = strings.NewReplacer("secret://acme/", "secret://"+w.acme.tenant+"/", "net_0000000000000000000000acme", w.network("a")).Replace(raw)
	require.NoError(t, json.Unmarshal([]byte(raw), &spec))
	return spec
}

// testEveryKind lives a life of every kind there is by its own example: with its
// parent, with all that it promises to report, and to its end with the parent.
func testEveryKind(t *testing.T, w *world) {
	p := w.acme
	w.change(t, func() { w.capacity = []object{{"tenant": p.tenant, "pool": w.poolOwn, "name": "gpu", "amount": 8}} })
	cloudOf, ok := provider.Find("digitalocean")
	require.True(t, ok)
	manifests := cloudOf.Manifests()
	listed := map[string]bool{}
	for _, k := range call[listing[struct{ Kind string }]](t, p, "cloudResources/kinds", object{"tenantId": p.tenant, "poolId": w.poolOwn}).Items {
		listed[k.Kind] = true
	}
	made := map[string]string{}
	for _, m := range manifests {
		require.True(t, listed[m.Kind], "%s is listed", m.Kind)
		in := object{}
		if m.Parent != "" {
			require.NotEmpty(t, made[m.Parent], "the parent of %s", m.Kind)
			in["parentId"] = made[m.Parent]
		}
		name := strings.NewReplacer(".", "-").Replace(m.Kind)
		made[m.Kind] = p.create(t, w.poolOwn, m.Kind, name, w.exampleOf(t, m), in).ID
	}
	for _, m := range manifests {
		v := p.ready(t, made[m.Kind])
		promised := map[string]bool{}
		for _, o := range m.Outputs {
			promised[o.Name] = true
		}
		for name := range v.Outputs {
			require.True(t, promised[name], "%s reports %s, which its manifest does not name", m.Kind, name)
		}
		for _, s := range m.SecretOutputs {
			if !s.Optional {
				require.NotEmpty(t, p.reveal(t, v.SecretOutputs[s.Name]), "%s of %s", s.Name, m.Kind)
			}
		}
	}
	since := w.lastRequest(t)
	w.wait(t, "a sweep of all of it", func() bool { return len(w.since(t, since, "/v2/volumes")) > 1 })
	for _, m := range manifests {
		v := p.get(t, made[m.Kind])
		require.Equal(t, cloud.StateReady, v.State, "%s: %s", m.Kind, v.Message)
		require.Empty(t, v.Drift, "%s just as it was asked for is no drift", m.Kind)
		require.Equal(t, []string{"created", "ready"}, p.told(t, v.ID), m.Kind)
	}
	for _, m := range manifests {
		if m.Parent == "" {
			p.delete(t, made[m.Kind])
		}
	}
	for _, m := range manifests {
		p.reaches(t, made[m.Kind], cloud.StateDeleted)
	}
}

// testCapacity: GPUs are booked with the record, and given back once it ended.
func testCapacity(t *testing.T, w *world) {
	p := w.acme
	const kind = "do.ai.dedicated-inference"
	w.change(t, func() { w.capacity = []object{{"tenant": p.tenant, "pool": w.poolOwn, "name": "gpu", "amount": 2}} })
	var m *cloud.Manifest
	cloudOf, _ := provider.Find("digitalocean")
	for _, candidate := range cloudOf.Manifests() {
		if candidate.Kind == kind {
			m = candidate
		}
	}
	require.NotNil(t, m)
	spec := func(replicas int) object { return merged(w.exampleOf(t, m), []object{{"replicas": replicas}}) }
	w.refuses(t, p, []badCall{{name: "more than there are", in: p.wish(w.poolOwn, kind, "big", spec(3)), code: cloud.CodeQuotaExceeded}})
	one := p.create(t, w.poolOwn, kind, "one", spec(1))
	w.refuses(t, p, []badCall{
		{name: "what is left is less", in: p.wish(w.poolOwn, kind, "two", spec(2)), code: cloud.CodeQuotaExceeded},
		{name: "growth beyond it", method: "cloudResources/update", in: object{"tenantId": p.tenant, "resourceId": one.ID, "spec": object{"replicas": 3}}, code: cloud.CodeQuotaExceeded},
	})
	p.ready(t, one.ID)
	p.delete(t, one.ID)
	p.reaches(t, one.ID, cloud.StateDeleted)
	p.create(t, w.poolOwn, kind, "two", spec(2))
}
