//go:build unix

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// testWholeLife lives a life of a cluster, a user and a firewall: what callers
// see at each step, what is told, what is charged, and what is left.
func testWholeLife(t *testing.T, w *world) {
	p := w.acme
	c := p.create(t, w.poolOwn, pg, "orders", pgSpec(), object{"projectId": w.project, "description": "the orders"})
	require.Equal(t, cloud.StatePending, c.State)
	require.Equal(t, "nyc3", c.Region)
	require.Equal(t, p.tenant+"/admin", c.Owner)
	require.EqualValues(t, 1, c.Version)
	require.Empty(t, c.ProviderID)

	// Its children may be asked for at once: they wait for it.
	u := p.create(t, w.poolOwn, pgUser, "app", object{"name": "app"}, object{"parentId": c.ID})
	f := p.create(t, w.poolOwn, pgWall, "wall", object{
		"rules": []object{{"type": "ip_addr", "value": "203.0.113.10"}}, "instances": []string{w.instance("a")},
	}, object{"parentId": c.ID})
	c, u, f = p.ready(t, c.ID), p.ready(t, u.ID), p.ready(t, f.ID)

	lifeAtTheProvider(t, w, c)
	lifeSecrets(t, w, c, u)
	lifeUpdates(t, w, c.ID)
	lifeLists(t, w, c, u, f)
	p.update(t, f.ID, object{"rules": []object{{"type": "ip_addr", "value": "198.51.100.0/24"}}, "instances": nil})
	require.Len(t, p.ready(t, f.ID).Outputs["rules"], 1, "an instance that is taken out loses its access")
	lifeUsage(t, w, c)
	lifeEnds(t, w, c, u, f)
}

func lifeAtTheProvider(t *testing.T, w *world, c cloud.View) {
	t.Helper()
	made := w.objects(t, w.ownToken, "database")
	require.Len(t, made, 1)
	require.Equal(t, c.ProviderID, made[0].Text("id"))
	require.Equal(t, c.ProviderName, made[0].Text("name"))
	require.Regexp(t, `^bc-r-[0-9a-hjkmnp-tv-z]{24}$`, c.ProviderName)
	require.ElementsMatch(t, []any{
		"better-compute-managed:e2e", "better-compute-resource:" + cloud.LabelKey(c.ID), "better-compute-tenant:" + cloud.EncodeLabel(w.acme.tenant),
	}, made[0]["tags"])
	rules, _ := made[0]["rules"].([]any)
	require.Len(t, rules, 2, "an address and the tenant's instance")
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/databases"), 1)
}

// lifeSecrets: references in answers and events, values only by reveal, which
// is recorded.
func lifeSecrets(t *testing.T, w *world, c, u cloud.View) {
	t.Helper()
	p := w.acme
	require.Subset(t, c.SecretOutputs, map[string]cloud.SecretRef{
		"password": cloud.NewSecretRef(p.tenant, "resources/"+c.ID+"/password"), "uri": cloud.NewSecretRef(p.tenant, "resources/"+c.ID+"/uri"),
	})
	password, uri := p.reveal(t, u.SecretOutputs["password"]), p.reveal(t, u.SecretOutputs["uri"])
	require.True(t, strings.HasPrefix(password, "AVNS_"), "the provider's password")
	require.Contains(t, uri, ":"+password+"@"+c.Outputs["host"].(string))
	require.NotContains(t, w.answersSoFar(), password)
	require.Equal(t, 2, pgtest.Value[int](w.db, `SELECT count(*) FROM audit WHERE tenant_id = $1 AND actor = $2 AND action LIKE '%reveal%' AND subject LIKE $3`,
		p.tenant, p.tenant+"/admin", "%"+u.ID+"%"), "each reveal is recorded")
	for _, e := range p.events(t, u.ID) {
		if e.Type == "cloud.resource.ready" {
			require.Contains(t, e.Data["secretOutputs"], "password", "names, not values")
			require.Equal(t, "reconciler", e.Data["actor"])
		}
	}
}

func lifeUpdates(t *testing.T, w *world, id string) {
	t.Helper()
	p := w.acme
	v := p.update(t, id, object{"size": "db-s-2vcpu-4gb", "num_nodes": 2, "storage_size_mib": 102400, "version": "17",
		"maintenance_window": object{"day": "Sunday", "hour": "03:00"}})
	require.Equal(t, cloud.StateUpdating, v.State)
	require.EqualValues(t, 2, v.Version)
	v = p.ready(t, id)
	require.EqualValues(t, 102400, numberOf(t, v.Outputs["storage_size_mib"]))
	require.Equal(t, "17", v.Outputs["version"])
	require.NotEmpty(t, v.Outputs["standby_host"])
	require.Contains(t, v.SecretOutputs, "standby_uri", "a secret that came later")
	at := w.objects(t, w.ownToken, "database")[0]
	require.Equal(t, "db-s-2vcpu-4gb", at.Text("size"))
	require.EqualValues(t, 2, at["num_nodes"])
	require.Contains(t, at["maintenance_window"], "day")

	told := len(p.told(t, id))
	v = p.update(t, id, nil, object{"description": "orders and returns"})
	require.Equal(t, cloud.StateReady, v.State, "a description is no business of the provider")
	require.EqualValues(t, 3, v.Version)
	asked := len(w.asked(t, w.ownToken, "PUT", "/v2/databases/*/*"))
	v = p.update(t, id, object{"num_nodes": 2, "maintenance_window": object{"day": "sunday", "hour": "03:00:00"}})
	require.Equal(t, cloud.StateReady, v.State, "an equal update changes nothing")
	require.EqualValues(t, 4, v.Version)
	require.Len(t, p.told(t, id), told)
	require.Len(t, w.asked(t, w.ownToken, "PUT", "/v2/databases/*/*"), asked)

	r := p.refused(t, "cloudResources/update", object{"tenantId": p.tenant, "resourceId": id, "spec": object{"network": w.network("a"), "size": "db-s-4vcpu-8gb"}})
	require.Equal(t, cloud.CodeInvalidState, r.Code)
	require.Equal(t, "replaceRequired", r.reason())
	require.Equal(t, []string{"spec.network"}, r.fields())
	require.Equal(t, "db-s-2vcpu-4gb", w.objects(t, w.ownToken, "database")[0].Text("size"), "nothing of a refused update is applied")
	r = p.refused(t, "cloudResources/update", object{"tenantId": p.tenant, "resourceId": id, "description": "late", "expectedVersion": 3})
	require.Equal(t, "version", r.reason())
}

func lifeLists(t *testing.T, w *world, c, u, f cloud.View) {
	t.Helper()
	p := w.acme
	ids := func(filter object) (out []string) {
		for _, v := range p.list(t, filter) {
			out = append(out, v.ID)
		}
		return out
	}
	require.Equal(t, []string{c.ID, u.ID, f.ID}, ids(nil), "oldest first")
	require.Equal(t, []string{u.ID}, ids(object{"kind": pgUser}))
	require.Equal(t, []string{c.ID}, ids(object{"projectId": w.project}))
	require.Equal(t, []string{c.ID, u.ID, f.ID}, ids(object{"family": "data", "poolId": w.poolOwn}))
	require.Empty(t, ids(object{"family": "edge"}))
	require.Empty(t, ids(object{"poolId": w.poolFree}))
}

// lifeUsage: the first hour is charged within a minute of the acceptance (D34),
// once, and what lives in the cluster is not.
func lifeUsage(t *testing.T, w *world, c cloud.View) {
	t.Helper()
	type hour struct {
		ResourceID, Meter string
		Hour              int64
		Quantity          float64
	}
	var hours []hour
	w.wait(t, "the first hour's usage", func() bool {
		hours = call[listing[hour]](t, w.acme, "usage/list", object{"tenantId": w.acme.tenant}).Items
		return len(hours) > 0
	})
	require.Less(t, time.Since(time.UnixMilli(c.ReadyAt)), time.Minute)
	for _, h := range hours {
		require.Equal(t, c.ID, h.ResourceID)
		require.Equal(t, "cloud.resource.hours", h.Meter)
		require.InDelta(t, 1, h.Quantity, 0)
		require.Zero(t, h.Hour%time.Hour.Milliseconds())
	}
	require.LessOrEqual(t, len(hours), 2, "one, or two when the clock struck")
}

func lifeEnds(t *testing.T, w *world, c, u, f cloud.View) {
	t.Helper()
	p := w.acme
	// While the user cannot be deleted, the cluster waits for it.
	undo := w.fault(t, simulator.Fault{Method: "DELETE", Path: "/v2/databases/*/users/*", Effect: simulator.Effect{Busy: http.StatusPreconditionFailed}})
	require.Equal(t, cloud.StateDeleting, p.delete(t, c.ID).State)
	require.Equal(t, cloud.StateDeleting, p.get(t, u.ID).State, "what lives in it goes with it")
	r := p.refused(t, "cloudResources/create", p.wish(w.poolOwn, pgUser, "late", object{"name": "late"}, object{"parentId": c.ID}))
	require.Equal(t, cloud.CodeInvalidInput, r.Code)
	p.reaches(t, f.ID, cloud.StateDeleted)
	w.wait(t, "a refused delete of the user", func() bool { return len(w.asked(t, w.ownToken, "DELETE", "/v2/databases/*/users/*")) > 1 })
	require.Equal(t, cloud.StateDeleting, p.get(t, c.ID).State)
	require.Empty(t, w.asked(t, w.ownToken, "DELETE", "/v2/databases/*"))
	undo()
	p.reaches(t, u.ID, cloud.StateDeleted)
	v := p.reaches(t, c.ID, cloud.StateDeleted)
	require.Empty(t, v.SecretOutputs)
	require.NotZero(t, v.EndedAt)

	for _, ref := range []cloud.SecretRef{c.SecretOutputs["password"], u.SecretOutputs["password"]} {
		require.Equal(t, cloud.CodeNotFound, p.refused(t, "secrets/reveal", object{"tenantId": p.tenant, "ref": ref}).Code)
	}
	require.Empty(t, w.objects(t, w.ownToken, "database"))
	require.Empty(t, p.list(t, nil))
	require.Len(t, p.list(t, object{"includeDeleted": true}), 3)
	require.Equal(t, v, p.delete(t, c.ID), "deleting it again changes nothing")
	require.Equal(t, v, p.create(t, w.poolOwn, pg, "orders", pgSpec(), object{"projectId": w.project, "description": "the orders"}), "the key holds for ever")

	require.Equal(t, []string{"created", "ready", "updating", "updated", "deleting", "deleted"}, p.told(t, c.ID))
	require.Equal(t, []string{"created", "ready", "deleting", "deleted"}, p.told(t, u.ID))
	require.Equal(t, []string{"created", "ready", "updating", "updated", "deleting", "deleted"}, p.told(t, f.ID))
	all := p.events(t, "")
	for i, e := range all {
		require.EqualValues(t, i+1, sequenceNumber(t, e.Sequence), "no gap")
	}
	end := func(id string) int {
		return slices.IndexFunc(all, func(e news) bool { return e.Subject == id && e.Type == "cloud.resource.deleted" })
	}
	require.Less(t, end(u.ID), end(c.ID), "children first")
}

// testLifeOnASharedAccount: the same calls for a tenant on the platform's
// account, and names that are free again.
func testLifeOnASharedAccount(t *testing.T, w *world) {
	w.share(t)
	p := w.globex
	c := p.create(t, w.poolShared, pg, "main", pgSpec(object{"region": "ams3", "network": w.network("g")}))
	wall := p.create(t, w.poolShared, pgWall, "wall", object{"rules": []object{}, "instances": []string{w.instance("g")}}, object{"parentId": c.ID})
	c = p.ready(t, c.ID)
	require.Equal(t, simulator.VPCID(w.sharedToken, "ams3"), c.Outputs["private_network_uuid"])
	require.Len(t, p.ready(t, wall.ID).Outputs["rules"], 1)
	require.Empty(t, w.objects(t, w.ownToken, ""))

	p.delete(t, c.ID)
	p.reaches(t, c.ID, cloud.StateDeleted)
	again := p.create(t, w.poolShared, pg, "main", pgSpec(), object{"idempotencyKey": "again"})
	require.NotEqual(t, c.ID, again.ID)
	p.ready(t, again.ID)
}
