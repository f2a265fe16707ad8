//go:build unix

package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// testTenantsAreApart: two tenants of one shared account never see each other,
// in any answer.
func testTenantsAreApart(t *testing.T, w *world) {
	w.share(t)
	a, g := w.acme, w.globex
	mine := a.ready(t, a.create(t, w.poolShared, pg, "main", pgSpec()).ID)
	theirs := g.ready(t, g.create(t, w.poolShared, pg, "main", pgSpec()).ID)
	require.NotEqual(t, mine.ProviderID, theirs.ProviderID)
	for _, one := range []struct {
		p     party
		other cloud.View
	}{{a, theirs}, {g, mine}} {
		p, other := one.p, one.other
		for _, method := range []string{"get", "delete", "release"} {
			r := p.refused(t, "cloudResources/"+method, object{"tenantId": p.tenant, "resourceId": other.ID})
			require.Equal(t, cloud.CodeNotFound, r.Code)
			require.Equal(t, cloud.CodeAccessDenied, p.refused(t, "cloudResources/"+method, object{"tenantId": other.TenantID, "resourceId": other.ID}).Code)
		}
		for method, in := range map[string]object{
			"cloudResources/list": {}, "cloudResources/kinds": {"poolId": w.poolShared}, "events/list": {}, "usage/list": {}, "secrets/list": {},
			"cloudResources/catalog": {"poolId": w.poolShared}, "cloudResources/signals": {"poolId": w.poolShared},
		} {
			in["tenantId"] = p.tenant
			status, raw := p.send(t, method, marshal(in))
			if status != http.StatusOK {
				require.Contains(t, []int{http.StatusUnprocessableEntity}, status, "%s: %s", method, raw)
			}
			for _, word := range []string{other.ID, other.ProviderID, other.TenantID, other.ProviderName} {
				require.NotContains(t, string(raw), word, method)
			}
			in["tenantId"] = other.TenantID
			require.Equal(t, cloud.CodeAccessDenied, p.refused(t, method, in).Code, method)
		}
		require.Equal(t, cloud.CodeNotFound, p.refused(t, "secrets/reveal", object{"tenantId": p.tenant, "ref": other.SecretOutputs["password"]}).Code)
		require.Equal(t, cloud.CodeAccessDenied, p.refused(t, "secrets/reveal", object{"tenantId": other.TenantID, "ref": other.SecretOutputs["password"]}).Code)
	}
}

// testOffers: what an operator withholds is refused with its reason, before
// anything is recorded.
func testOffers(t *testing.T, w *world) {
	w.share(t)
	hooli, initech := w.tenant("hooli"), w.tenant("initech")
	w.change(t, func() {
		w.offers = append(w.offers, object{"tenant": hooli.tenant, "pool": w.poolShared, "status": "suspended"},
			object{"tenant": initech.tenant, "pool": w.poolShared, "excludedRegions": []string{"ams3"}})
		w.budgets = []object{{"tenant": initech.tenant, "id": "monthly", "max": 100, "used": 100}}
	})
	w.refuses(t, hooli, []badCall{
		{name: "suspended", in: hooli.wish(w.poolShared, pg, "main", pgSpec()), code: cloud.CodeAccessDenied, reason: "offerSuspended"},
		{name: "not offered", in: hooli.wish(w.poolOwn, pg, "main", pgSpec()), code: cloud.CodeNotFound},
	})
	w.refuses(t, initech, []badCall{
		{name: "an excluded region", in: initech.wish(w.poolShared, pg, "main", pgSpec(object{"region": "ams3"})), code: cloud.CodeAccessDenied, reason: "regionExcluded"},
		{name: "budget", in: initech.wish(w.poolShared, pg, "main", pgSpec()), code: cloud.CodeBudgetExceeded},
		{name: "an app in a city of the excluded region", in: initech.wish(w.poolShared, app, "main", appSpec(object{"region": "ams"})), code: cloud.CodeAccessDenied, reason: "regionExcluded"},
		{name: "an app wherever the provider likes", in: initech.wish(w.poolShared, app, "main", appSpec(object{"region": nil})), code: cloud.CodeInvalidInput, fields: []string{"spec.region"}},
	})
	anywhere := appSpec()
	delete(anywhere, "region")
	require.Equal(t, "regionExcluded", initech.refused(t, "cloudResources/create", initech.wish(w.poolShared, app, "main", anywhere)).reason())
	require.EqualValues(t, 100, initech.refused(t, "cloudResources/create", initech.wish(w.poolShared, pg, "main", pgSpec())).Details["limit"])

	w.change(t, func() { w.budgets[0]["used"] = 10 })
	initech.ready(t, initech.create(t, w.poolShared, pg, "main", pgSpec()).ID)
}

// testPlatformChanges: what the platform file changes while everything runs is
// in force for the next call, and existing resources live on.
func testPlatformChanges(t *testing.T, w *world) {
	w.share(t)
	p := w.acme
	c := p.ready(t, p.create(t, w.poolShared, volume, "one", volumeSpec()).ID)

	// By the command line, as an operator does.
	w.mu.Lock()
	w.offers[0]["status"] = "suspended"
	w.quotas = []object{{"tenant": p.tenant, "kind": volume, "max": 1}}
	applying := w.process(t, "apply", []string{"apply", "-f", w.writeFile(t)})
	<-applying.Done()
	w.mu.Unlock()
	require.NoError(t, applying.Err(), w.log("apply"))
	require.Contains(t, w.log("apply"), "2 changes applied")
	require.NotContains(t, w.log("apply"), w.ownToken)

	require.Equal(t, cloud.CodeQuotaExceeded, p.refused(t, "cloudResources/create", p.wish(w.poolShared, volume, "two", volumeSpec())).Code)
	w.change(t, func() { w.quotas = nil })
	require.Equal(t, "offerSuspended", p.refused(t, "cloudResources/create", p.wish(w.poolShared, volume, "two", volumeSpec())).reason())
	p.update(t, c.ID, object{"size_gigabytes": 20})
	p.until(t, c.ID, "the new size", func(v cloud.View) bool {
		return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 20
	})
	w.change(t, func() { w.offers[0]["status"] = "active" })
	p.create(t, w.poolShared, volume, "two", volumeSpec())

	// A token that the provider refuses is replaced: work goes on with the new one.
	w.fault(t, simulator.Fault{Method: "*", Path: "/v2/**", Effect: simulator.Effect{Status: 401}})
	v := p.create(t, w.poolOwn, volume, "three", volumeSpec())
	require.Contains(t, p.until(t, v.ID, "a message", func(v cloud.View) bool { return v.Message != "" }).Message, "does not answer for us")
	old := w.ownToken
	w.change(t, func() { w.ownToken += "_rotated" })
	v = p.ready(t, v.ID)
	require.Empty(t, v.Message)
	require.Len(t, w.objects(t, w.ownToken, "volume"), 1)
	require.Empty(t, w.objects(t, old, "volume"))
	require.NoError(t, w.sim.ClearFaults(context.Background(), w.faults...))
	w.faults = nil

	// A tenant that still has something cannot be dropped.
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.tenants
	w.tenants = w.tenants[:1]
	path := w.writeFile(t)
	w.tenants = kept
	dropping := w.process(t, "drop", []string{"apply", "-f", path})
	<-dropping.Done()
	require.Error(t, dropping.Err())
}
