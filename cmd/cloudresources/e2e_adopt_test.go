//go:build unix

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// byHand makes a volume at the provider past us and returns its id.
func (w *world) byHand(t testing.TB, name string, tags ...string) string {
	t.Helper()
	made := w.console(t, "POST", "/v2/volumes", object{"name": name, "region": "ams3", "size_gigabytes": 50, "tags": tags})
	return made["volume"].(map[string]any)["id"].(string)
}

type discovered struct {
	ProviderID, Name, Region, ManagedBy, ResourceID string
	Spec                                            map[string]any
}

func (w *world) discover(t testing.TB, kind string) map[string]discovered {
	t.Helper()
	found := map[string]discovered{}
	for _, d := range call[listing[discovered]](t, w.acme, "cloudResources/discover", object{"tenantId": w.acme.tenant, "poolId": w.poolOwn, "kind": kind}).Items {
		found[d.ProviderID] = d
	}
	return found
}

func (w *world) adoption(kind, providerID, name string, more ...object) object {
	return merged(object{"tenantId": w.acme.tenant, "poolId": w.poolOwn, "kind": kind, "providerId": providerID, "name": name, "idempotencyKey": "adopt-" + name}, more)
}

func (w *world) tagsOf(t testing.TB, id string) (out []string) {
	t.Helper()
	for _, o := range w.objects(t, w.ownToken, "volume") {
		if o.Text("id") == id {
			all, _ := o["tags"].([]any)
			for _, tag := range all {
				out = append(out, tag.(string))
			}
		}
	}
	return out
}

// testAdopt: what is found, what can be taken over, and that it is watched and
// not changed until the tenant changes it.
func testAdopt(t *testing.T, w *world) {
	w.share(t)
	p := w.acme
	ours := p.ready(t, p.create(t, w.poolOwn, volume, "ours", volumeSpec()).ID)
	legacy := w.byHand(t, "legacy", "team:web")
	foreign := w.byHand(t, "foreign", "better-compute-managed:other", "better-compute-resource:"+strings.Repeat("0", 24))
	found := w.discover(t, volume)
	require.Len(t, found, 3)
	require.Equal(t, "this", found[ours.ProviderID].ManagedBy)
	require.Equal(t, ours.ID, found[ours.ProviderID].ResourceID)
	require.Equal(t, "other", found[foreign].ManagedBy)
	require.Empty(t, found[legacy].ManagedBy)
	require.Empty(t, found[legacy].ResourceID)
	require.Equal(t, "legacy", found[legacy].Name)
	require.Equal(t, "ams3", found[legacy].Region)
	require.EqualValues(t, 50, numberOf(t, found[legacy].Spec["size_gigabytes"]))

	theirs := w.adoption(volume, legacy, "theirs", object{"poolId": w.poolShared})
	w.refuses(t, p, []badCall{
		{name: "nothing there", method: "cloudResources/adopt", in: w.adoption(volume, "00000000-0000-4000-8000-000000000000", "x"), code: cloud.CodeNotFound, fields: []string{"providerId"}},
		{name: "an id that is none", method: "cloudResources/adopt", in: w.adoption(volume, "../volumes", "x"), code: cloud.CodeNotFound, fields: []string{"providerId"}},
		{name: "another deployment's", method: "cloudResources/adopt", in: w.adoption(volume, foreign, "x"), code: cloud.CodeInvalidState, reason: "managedByAnother"},
		{name: "recorded", method: "cloudResources/adopt", in: w.adoption(volume, ours.ProviderID, "x"), code: cloud.CodeConflict, reason: "recorded"},
		{name: "a platform account", method: "cloudResources/adopt", in: theirs, code: cloud.CodeAccessDenied, reason: "notAccountOwner"},
		{name: "what lives in a parent", method: "cloudResources/adopt", in: w.adoption(pgUser, "app", "x"), code: cloud.CodeUnsupported, reason: "adopt"},
		{name: "what is owned by its name", method: "cloudResources/adopt", in: w.adoption(app, "00000000-0000-4000-8000-000000000000", "x"), code: cloud.CodeUnsupported, reason: "adopt"},
		{name: "a name that is taken", method: "cloudResources/adopt", in: w.adoption(volume, legacy, "ours"), code: cloud.CodeConflict, reason: "name"},
	})

	// Until the labels stand there the spec cannot change.
	busy := w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/tags/**", Effect: simulator.Effect{Busy: http.StatusPreconditionFailed}})
	v := call[cloud.View](t, p, "cloudResources/adopt", w.adoption(volume, legacy, "legacy"))
	require.Equal(t, cloud.StatePending, v.State)
	require.True(t, v.Adopted)
	require.JSONEq(t, `{}`, string(v.Spec))
	require.Equal(t, v.ID, call[cloud.View](t, p, "cloudResources/adopt", w.adoption(volume, legacy, "legacy")).ID, "a repeat")
	r := p.refused(t, "cloudResources/update", object{"tenantId": p.tenant, "resourceId": v.ID, "spec": object{"size_gigabytes": 60}})
	require.Equal(t, "adopting", r.reason())
	require.Equal(t, "old", p.update(t, v.ID, nil, object{"description": "old"}).Description)
	busy()
	v = p.ready(t, v.ID)
	require.Equal(t, "ams3", v.Region)
	require.Contains(t, string(v.Spec), `"size_gigabytes":50`)
	require.Contains(t, w.tagsOf(t, legacy), "team:web", "the tags of others stay")
	require.Contains(t, w.tagsOf(t, legacy), "better-compute-resource:"+cloud.LabelKey(v.ID))
	require.Equal(t, []string{"adopted", "ready"}, p.told(t, v.ID))
	require.Equal(t, "this", w.discover(t, volume)[legacy].ManagedBy)
	require.NotZero(t, pgtest.Value[int](w.db, "SELECT count(*) FROM resources WHERE id = $1 AND billed_from >= taken_over_at", v.ID), "charged from its first ready")

	// Observed: a change at the provider is no drift, it is the spec.
	w.console(t, "POST", "/v2/volumes/"+legacy+"/actions", object{"type": "resize", "size_gigabytes": 60, "region": "ams3"})
	p.until(t, v.ID, "the spec to follow", func(v cloud.View) bool { return strings.Contains(string(v.Spec), `"size_gigabytes":60`) })
	require.Equal(t, []string{"adopted", "ready"}, p.told(t, v.ID))
	// Managed from the first change on.
	p.update(t, v.ID, object{"size_gigabytes": 70})
	p.until(t, v.ID, "the new size", func(v cloud.View) bool {
		return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 70
	})
	w.console(t, "DELETE", "/v2/volumes/"+foreign, nil)
}

// testAdoptionIsCutShort: an adoption that never completed is let go by a
// delete, and nothing is done to the object.
func testAdoptionIsCutShort(t *testing.T, w *world) {
	p := w.acme
	id := w.byHand(t, "legacy", "team:web")
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/tags/**", Effect: simulator.Effect{Busy: http.StatusPreconditionFailed}})
	v := call[cloud.View](t, p, "cloudResources/adopt", w.adoption(volume, id, "legacy"))
	w.wait(t, "a refused label", func() bool { return len(w.asked(t, w.ownToken, "POST", "/v2/tags")) > 0 })
	p.delete(t, v.ID)
	p.reaches(t, v.ID, cloud.StateReleased)
	require.Equal(t, []string{"team:web"}, w.tagsOf(t, id))
	require.Empty(t, w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"))
	require.Equal(t, []string{"adopted", "deleting", "released"}, p.told(t, v.ID))
	w.console(t, "DELETE", "/v2/volumes/"+id, nil)
}

// testRelease: labels go, the object lives on, the name is free; a delete
// overrides, and a provider's refusal withdraws it.
func testRelease(t *testing.T, w *world) {
	p := w.acme
	release := func(id string) object { return object{"tenantId": p.tenant, "resourceId": id} }
	c := p.create(t, w.poolOwn, pg, "main", pgSpec())
	r := p.refused(t, "cloudResources/release", release(c.ID))
	require.Equal(t, "notAccepted", r.reason())
	u := p.create(t, w.poolOwn, pgUser, "app", object{"name": "app"}, object{"parentId": c.ID})
	c = p.ready(t, c.ID)
	p.ready(t, u.ID)
	require.Equal(t, "children", p.refused(t, "cloudResources/release", release(c.ID)).reason())
	p.delete(t, u.ID)
	p.reaches(t, u.ID, cloud.StateDeleted)

	refusal := w.fault(t, simulator.Fault{Method: "DELETE", Path: "/v2/tags/*/resources", Times: times(1), Effect: answers403("tags of this cluster are protected")})
	require.True(t, call[cloud.View](t, p, "cloudResources/release", release(c.ID)).Releasing)
	v := p.reaches(t, c.ID, cloud.StateError)
	require.Contains(t, v.Message, "tags of this cluster are protected")
	require.False(t, v.Releasing)
	p.ready(t, c.ID)
	refusal()

	v = call[cloud.View](t, p, "cloudResources/release", release(c.ID))
	require.Equal(t, cloud.StateReady, v.State, "it keeps its state while it is being released")
	v = p.reaches(t, c.ID, cloud.StateReleased)
	require.Empty(t, v.SecretOutputs)
	require.Equal(t, cloud.CodeNotFound, p.refused(t, "secrets/reveal", object{"tenantId": p.tenant, "ref": c.SecretOutputs["password"]}).Code)
	require.Empty(t, w.database(t)["tags"], "it lives on without our labels")
	require.Equal(t, []string{"created", "ready", "releasing", "failed", "updated", "releasing", "released"}, p.told(t, c.ID))
	require.Equal(t, c.ID, call[cloud.View](t, p, "cloudResources/release", release(c.ID)).ID, "again")
	w.console(t, "DELETE", "/v2/databases/"+c.ProviderID, nil)

	// A delete overrides a release that has not got through.
	d := p.ready(t, p.create(t, w.poolOwn, volume, "disk", volumeSpec()).ID)
	held := w.fault(t, simulator.Fault{Method: "DELETE", Path: "/v2/tags/*/resources", Effect: simulator.Effect{Busy: http.StatusLocked}})
	call[cloud.View](t, p, "cloudResources/release", release(d.ID))
	w.wait(t, "a label that cannot be removed", func() bool { return len(w.asked(t, w.ownToken, "DELETE", "/v2/tags/*/resources")) > 4 })
	require.Equal(t, cloud.StateDeleting, p.delete(t, d.ID).State)
	p.reaches(t, d.ID, cloud.StateDeleted)
	held()
	require.Empty(t, w.objects(t, w.ownToken, "volume"))
	require.Equal(t, []string{"created", "ready", "releasing", "deleting", "deleted"}, p.told(t, d.ID))

	a := p.create(t, w.poolOwn, app, "web", appSpec())
	p.ready(t, a.ID)
	r = p.refused(t, "cloudResources/release", release(a.ID))
	require.Equal(t, cloud.CodeUnsupported, r.Code)
	require.Equal(t, "release", r.reason())
}
