//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// console is somebody who uses the provider's API past us.
func (w *world) console(t testing.TB, method, path string, body any) (answer object) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(context.Background(), method, w.sim.URL+path, strings.NewReader(string(raw)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.ownToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Less(t, res.StatusCode, 300, "%s %s: %s", method, path, data)
	if len(data) > 0 {
		require.NoError(t, json.Unmarshal(data, &answer))
	}
	return answer
}

func (w *world) database(t testing.TB) simulator.Object {
	t.Helper()
	all := w.objects(t, w.ownToken, "database")
	require.Len(t, all, 1)
	return all[0]
}

// testDriftIsRepaired: a wanted field that somebody changed is put back and
// told as such; a field that nobody asked for is the provider's (D5).
func testDriftIsRepaired(t *testing.T, w *world) {
	p := w.acme
	c := p.create(t, w.poolOwn, pg, "main", pgSpec(object{"size": "db-s-1vcpu-2gb", "num_nodes": 2}))
	c = p.ready(t, c.ID)
	path := "/v2/databases/" + c.ProviderID
	w.console(t, "PUT", path+"/resize", object{"size": "db-s-1vcpu-2gb", "num_nodes": 3})
	w.wait(t, "the repair", func() bool { return len(p.told(t, c.ID)) == 4 && p.get(t, c.ID).State == cloud.StateReady })
	require.EqualValues(t, 2, w.database(t)["num_nodes"])
	events := p.events(t, c.ID)
	for i, kind := range []string{"updating", "updated"} {
		e := events[2+i]
		require.Equal(t, "cloud.resource."+kind, e.Type)
		require.Equal(t, "drift", e.Data["reason"])
		require.Equal(t, []any{"num_nodes"}, e.Data["fields"])
		require.Equal(t, "reconciler", e.Data["actor"])
	}
	require.Empty(t, p.get(t, c.ID).Drift)

	w.console(t, "PUT", path+"/maintenance", object{"day": "friday", "hour": "12:00"})
	w.console(t, "PUT", path+"/resize", object{"size": "db-s-1vcpu-2gb", "num_nodes": 2, "storage_size_mib": 51200})
	p.until(t, c.ID, "the new storage", func(v cloud.View) bool { return numberOf(t, v.Outputs["storage_size_mib"]) == 51200 })
	require.Len(t, p.told(t, c.ID), 4, "what nobody asked for is no drift")

	// A repair that has no effect is made twice, then stops with an error (D5).
	ignored := w.fault(t, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/maintenance", Effect: simulator.Effect{Status: 204}})
	p.update(t, c.ID, object{"maintenance_window": object{"day": "friday", "hour": "12:00"}})
	p.until(t, c.ID, "the equal window to count as applied", func(v cloud.View) bool { return v.State == cloud.StateReady })
	told := len(p.told(t, c.ID))
	ignored()
	w.console(t, "PUT", path+"/maintenance", object{"day": "monday", "hour": "01:00"})
	ignored = w.fault(t, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/maintenance", Effect: simulator.Effect{Status: 204}})
	sent := len(w.asked(t, w.ownToken, "PUT", "/v2/databases/*/maintenance"))
	v := p.reaches(t, c.ID, cloud.StateError)
	require.Contains(t, v.Message, "spec.maintenance_window")
	require.Len(t, w.asked(t, w.ownToken, "PUT", "/v2/databases/*/maintenance"), sent+2)
	require.Equal(t, []string{"updating", "failed"}, p.told(t, c.ID)[told:])
	ignored()
	// What was wrong is put right by hand, or the tenant wants something else.
	w.console(t, "PUT", path+"/maintenance", object{"day": "friday", "hour": "12:00"})
	p.ready(t, c.ID)
}

// testSecretsChangeAtTheProvider: a password that was reset there is sealed
// anew under its reference, and told by name (D20).
func testSecretsChangeAtTheProvider(t *testing.T, w *world) {
	p := w.acme
	c := p.create(t, w.poolOwn, pg, "main", pgSpec())
	u := p.create(t, w.poolOwn, pgUser, "app", object{"name": "app"}, object{"parentId": c.ID})
	c, u = p.ready(t, c.ID), p.ready(t, u.ID)
	for _, who := range []struct {
		name string
		v    cloud.View
	}{{"app", u}, {"doadmin", c}} {
		before := p.reveal(t, who.v.SecretOutputs["password"])
		w.console(t, "POST", "/v2/databases/"+c.ProviderID+"/users/"+who.name+"/reset_auth", object{})
		w.wait(t, "the event of "+who.name, func() bool { return len(p.told(t, who.v.ID)) == 3 })
		now := p.get(t, who.v.ID)
		require.Equal(t, who.v.SecretOutputs, now.SecretOutputs, "the references stay")
		after := p.reveal(t, now.SecretOutputs["password"])
		require.NotEqual(t, before, after)
		require.Contains(t, p.reveal(t, now.SecretOutputs["uri"]), after)
		e := p.events(t, who.v.ID)[2]
		require.Equal(t, "cloud.resource.updated", e.Type)
		require.Equal(t, "secrets", e.Data["reason"])
		require.Subset(t, e.Data["secretOutputs"], []any{"password", "uri"})
		require.Equal(t, cloud.StateReady, now.State)
	}
	seen := len(p.events(t, ""))
	w.wait(t, "another sweep", func() bool { return len(w.since(t, w.mark(t), "/v2/databases")) > 0 })
	require.Len(t, p.events(t, ""), seen, "told once")
}

// mark remembers the ledger's end at its first call in a test.
func (w *world) mark(t testing.TB) int64 {
	t.Helper()
	if w.marked == 0 {
		w.marked = w.lastRequest(t)
	}
	return w.marked
}

// testVanished: what is gone at the provider is an error, never made again by
// itself; it may come back, and a delete ends it without a call (D4).
func testVanished(t *testing.T, w *world) {
	p := w.acme
	back := p.create(t, w.poolOwn, pg, "back", pgSpec())
	gone := p.create(t, w.poolOwn, volume, "gone", volumeSpec())
	back, gone = p.ready(t, back.ID), p.ready(t, gone.ID)

	list := w.fault(t, simulator.Fault{Method: "GET", Path: "/v2/databases", Effect: simulator.Effect{Status: 200, Body: object{"databases": []any{}}}})
	one := w.fault(t, simulator.Fault{Method: "GET", Path: "/v2/databases/*", Effect: simulator.Effect{Status: 404, Body: object{"id": "not_found", "message": "cluster not found"}}})
	w.console(t, "DELETE", "/v2/volumes/"+gone.ProviderID, nil)
	for _, id := range []string{back.ID, gone.ID} {
		require.Contains(t, p.reaches(t, id, cloud.StateError).Message, "no longer exists at the provider")
		require.Equal(t, []string{"created", "ready", "failed"}, p.told(t, id))
	}
	looks := len(w.asked(t, w.ownToken, "GET", "/v2/volumes/*"))
	w.wait(t, "another look", func() bool { return len(w.asked(t, w.ownToken, "GET", "/v2/volumes/*")) > looks })
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/volumes"), 1, "never made again by itself")
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/databases"), 1)

	list()
	one()
	p.ready(t, back.ID)
	require.Equal(t, []string{"created", "ready", "failed", "updated"}, p.told(t, back.ID))

	deletes := len(w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"))
	p.delete(t, gone.ID)
	p.reaches(t, gone.ID, cloud.StateDeleted)
	require.Len(t, w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"), deletes, "ended without a call")
}

// testLabelsAreKept: our labels come back when they are lost, those of others
// are left alone, and what another deployment took is not touched any more.
func testLabelsAreKept(t *testing.T, w *world) {
	p := w.acme
	v := p.create(t, w.poolOwn, volume, "disk", volumeSpec())
	v = p.ready(t, v.ID)
	tags := func() []string {
		var out []string
		all, _ := w.objects(t, w.ownToken, "volume")[0]["tags"].([]any)
		for _, tag := range all {
			out = append(out, tag.(string))
		}
		return out
	}
	on := object{"resources": []object{{"resource_id": v.ProviderID, "resource_type": "volume"}}}
	tag := func(name string) {
		t.Helper()
		w.console(t, "POST", "/v2/tags", object{"name": name})
		w.console(t, "POST", "/v2/tags/"+name+"/resources", on)
	}
	untag := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.console(t, "DELETE", "/v2/tags/"+name+"/resources", on)
		}
	}
	ours := tags()
	require.Len(t, ours, 3)
	tag("team:web")
	untag(ours...)
	w.wait(t, "the labels to come back", func() bool { return len(tags()) == 4 })
	require.ElementsMatch(t, append([]string{"team:web"}, ours...), tags())
	require.Equal(t, []string{"created", "ready"}, p.told(t, v.ID), "a repair of labels is nobody's news")

	untag(ours...)
	tag("better-compute-managed:other")
	tag("better-compute-resource:" + strings.Repeat("0", 24))
	require.Contains(t, p.reaches(t, v.ID, cloud.StateError).Message, "not managed by this deployment")
	deletes := len(w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"))
	p.delete(t, v.ID)
	require.Contains(t, p.until(t, v.ID, "the delete to be refused", func(v cloud.View) bool {
		return v.State == cloud.StateError && strings.Contains(v.Message, "nothing was deleted")
	}).Message, "not managed")
	require.Len(t, w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"), deletes, "what is not ours is not deleted")
	require.Len(t, w.objects(t, w.ownToken, "volume"), 1)
	untag("better-compute-managed:other", "better-compute-resource:"+strings.Repeat("0", 24))
	for _, name := range ours {
		tag(name)
	}
	p.reaches(t, v.ID, cloud.StateDeleted)
	require.Empty(t, w.objects(t, w.ownToken, "volume"))
}
