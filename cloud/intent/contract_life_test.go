package intent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// accepted is a resource that the provider took and that is not ready yet.
func accepted(w *apitest.World, r *cloud.Resource, id string) *cloud.Resource {
	return w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		now := time.Now()
		r.Attempt(now)
		return []*cloud.Change{r.Accept(&cloud.Observed{ProviderID: id, Phase: cloud.PhaseBusy}, now)}
	})
}

func released(t *testing.T, w *apitest.World, r *cloud.Resource) *cloud.Resource {
	t.Helper()
	_, err := release(w, apitest.Alice, r)
	require.NoError(t, err)
	return w.Step(r, func(r *cloud.Resource) []*cloud.Change { return []*cloud.Change{r.Released(time.Now())} })
}

// billedHours are how many rows a resource has, after a run of the billing.
func billedHours(t *testing.T, w *apitest.World, r *cloud.Resource) int {
	t.Helper()
	_, err := w.BillHours(context.Background())
	require.NoError(t, err)
	return w.Count("usage_hours WHERE resource_id = '" + r.ID + "' AND tenant_id = '" + r.TenantID + "' AND meter = 'cloud.resource.hours'")
}

// Which resources bill, on which pools, and from when.
func TestHoursBeginWithAcceptance(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	metered := create(t, w, apitest.Alice, cluster(on(apitest.PoolShared), named("metered")))
	fee := create(t, w, apitest.Alice, cluster(named("fee")))
	free := create(t, w, apitest.Alice, cluster(on(apitest.PoolFree), named("free")))
	require.Zero(t, billedHours(t, w, metered), "asked for is not accepted")
	metered, fee, free = accepted(w, metered, "m"), accepted(w, fee, "f"), accepted(w, free, "n")
	child := create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(fee), named("child")))
	child = w.Ready(child, "app")
	require.Positive(t, billedHours(t, w, metered), "from the acceptance on, ready or not")
	require.Positive(t, billedHours(t, w, fee))
	require.Zero(t, billedHours(t, w, free), "a pool of billing mode none")
	require.Zero(t, billedHours(t, w, child), "what lives in another bills no fee of its own")
}

func TestHoursOfAnAdoptedResourceBeginWithItsFirstReady(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := adopt(t, w, "p-1", "taken")
	require.Zero(t, billedHours(t, w, r))
	r = w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		return []*cloud.Change{r.TakeOver(&cloud.Observed{ProviderID: "p-1", Phase: cloud.PhaseBusy}, "", time.Now())}
	})
	require.Zero(t, billedHours(t, w, r), "taken over, and still busy")
	require.Positive(t, billedHours(t, w, w.Ready(r, "p-1")))

	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "p-2", "nyc3", cloud.Owner{}))
	request := adoption("p-2", "free")
	request.PoolID = apitest.PoolFree
	free, err := w.Service.Adopt(context.Background(), apitest.Alice, request)
	require.NoError(t, err)
	require.Zero(t, billedHours(t, w, w.Ready(free, "p-2")))
}

// The hours end with the resource, deleted or released.
func TestHoursEndWithTheResource(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	for name, end := range map[string]func(r *cloud.Resource) *cloud.Resource{
		"deleted":  w.Ended,
		"released": func(r *cloud.Resource) *cloud.Resource { return released(t, w, r) },
	} {
		r := end(w.Ready(create(t, w, apitest.Alice, cluster(named(name))), name))
		require.Equal(t, name, string(r.State))
		require.False(t, r.EndedAt.IsZero())
		before := billedHours(t, w, r)
		// All of it was a day ago: nothing is billed for the day since.
		w.Exec("UPDATE resources SET billed_from = billed_from - interval '1 day', ended_at = ended_at - interval '1 day', billed_to = NULL, billed_out = false WHERE id = $1", r.ID)
		require.LessOrEqual(t, billedHours(t, w, r), 2*before, name)
	}
}

// One that vanished at the provider is not ended by that: its hours run on (D4).
func TestHoursRunOnWhenTheObjectVanished(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "p-1")
	r = w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		return []*cloud.Change{r.Fail(nil, cloud.ClassNotFound, "gone", r.Generation, cloud.Settings{Refresh: time.Hour}, time.Now())}
	})
	w.Exec("UPDATE resources SET billed_from = billed_from - interval '1 day' WHERE id = $1", r.ID)
	require.GreaterOrEqual(t, billedHours(t, w, r), 25)
}

// What ends with a resource, however it ends.
func TestNothingOutlivesTheResource(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	for name, end := range map[string]func(r *cloud.Resource) *cloud.Resource{
		"deleted":  w.Ended,
		"released": func(r *cloud.Resource) *cloud.Resource { return released(t, w, r) },
	} {
		r := w.Ready(create(t, w, apitest.Alice, cluster(named("db"), func(in *intent.CreateRequest) { in.IdempotencyKey = name })), "db-"+name)
		gpu := w.Ready(create(t, w, apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": json.Number("4")}), named("gpu"), func(in *intent.CreateRequest) { in.IdempotencyKey = "gpu-" + name })), "gpu-"+name)
		require.Equal(t, 8, world{w}.booked(gpu), "all there is")
		require.NotEmpty(t, r.SecretOutputs)
		require.Equal(t, 2, w.Count("authorization_rows"))
		require.Equal(t, 1, w.Count("secrets"))
		r, gpu = end(r), end(gpu)
		require.Empty(t, r.SecretOutputs)
		require.Zero(t, w.Count("authorization_rows"), "%s: its authorization row is removed", name)
		require.Zero(t, w.Count("secrets"), "%s: its sealed secrets are destroyed", name)
		require.Zero(t, world{w}.booked(gpu), "%s: what it booked is returned", name)
		require.Equal(t, []string{"created", "ready", map[string]string{"deleted": "deleting", "released": "releasing"}[name], name}, w.Events("acme", r.ID))
	}
	// Both ends freed the name (D10): the second round used it again. An object
	// that was let go may be adopted anew.
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "db-released", "nyc3", cloud.Owner{}))
	_, err := w.Service.Adopt(context.Background(), apitest.Alice, adoption("db-released", "db"))
	require.NoError(t, err)
}

// An identity within a parent is free again when its holder has ended.
func TestIdentitiesAreFreeAgainAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	parent := create(t, w, apitest.Alice, cluster())
	child := func(key, kind string, s cloud.Spec) intent.CreateRequest {
		return cluster(of(kind, s), in(parent), named(key))
	}
	user := create(t, w, apitest.Alice, child("a", apitest.User, cloud.Spec{"name": "app"}))
	wall := create(t, w, apitest.Alice, child("b", apitest.Firewall, cloud.Spec{}))
	remove(t, w, apitest.Alice, user)
	_, err := w.Service.Create(context.Background(), apitest.Alice, child("c", apitest.User, cloud.Spec{"name": "app"}))
	apitest.Refused(t, err, cloud.CodeConflict, "identity")
	w.Ended(user)
	w.Ended(wall)
	create(t, w, apitest.Alice, child("c", apitest.User, cloud.Spec{"name": "app"}))
	create(t, w, apitest.Alice, child("d", apitest.Firewall, cloud.Spec{}))
}

// One that is being deleted still counts, and still has its name.
func TestWhatIsBeingDeletedStillCounts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Cluster, Max: 1})
	})
	r := remove(t, w, apitest.Alice, w.Ready(create(t, w, apitest.Alice, cluster()), "p-1"))
	require.Equal(t, cloud.StateDeleting, r.State)
	_, err := w.Service.Create(ctx, apitest.Alice, cluster(named("other")))
	require.EqualValues(t, 1, apitest.Refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
	_, err = w.Service.Create(ctx, apitest.Alice, cluster(func(in *intent.CreateRequest) { in.IdempotencyKey = "k2" }))
	apitest.Refused(t, err, cloud.CodeConflict, "name")
	w.Ended(r)
	create(t, w, apitest.Alice, cluster(named("other")))
}

// The default cap is twenty of a kind.
func TestTwentyOfAKind(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	create(t, w, apitest.Alice, cluster(named("first")))
	w.Exec(`INSERT INTO resources SELECT (jsonb_populate_record(r, jsonb_build_object('id', r.id || n, 'name', r.name || n))).* FROM resources r, generate_series(1, 18) n`)
	create(t, w, apitest.Alice, cluster(named("twentieth")))
	_, err := w.Service.Create(context.Background(), apitest.Alice, cluster(named("more")))
	require.EqualValues(t, 20, apitest.Refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
}

// A failed resource that is changed is on its way again.
func TestAnUpdateOfAFailedResource(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "p-1")
	r = w.Step(r, func(r *cloud.Resource) []*cloud.Change {
		return []*cloud.Change{r.Fail(nil, cloud.ClassRefused, "no such size", r.Generation, cloud.Settings{Refresh: time.Hour}, time.Now())}
	})
	require.Equal(t, cloud.StateError, r.State)
	r = update(t, w, apitest.Alice, patch(t, r, `{"size":"large"}`))
	require.Equal(t, cloud.StateUpdating, r.State)
	require.Empty(t, r.Message)
	require.Equal(t, cloud.StateReady, w.Ready(r, "p-1").State)
	require.Equal(t, []string{"created", "ready", "failed", "updating", "updated"}, w.Events("acme", r.ID))
}

// What an update leaves in the spec is held to the rule of shared accounts too,
// not only what it brings: an account may have changed hands.
func TestTheAccountWideRuleHoldsForTheMergedSpec(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := create(t, w, apitest.Alice, cluster(on(apitest.PoolShared)))
	w.Exec(`UPDATE resources SET spec = (spec::jsonb || '{"vpc": "v"}')::json WHERE id = $1`, r.ID)
	_, err := w.Service.Update(context.Background(), apitest.Alice, patch(t, r, `{"size":"large"}`))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "accountWide", "spec.vpc")
	update(t, w, apitest.Alice, patch(t, r, `{"size":"large","vpc":null}`))
	own := create(t, w, apitest.Alice, cluster(named("own")))
	update(t, w, apitest.Alice, patch(t, own, `{"vpc":"v"}`))
}

// An adoption is
// checked like a create for count and budget.
func TestAnAdoptionCountsLikeACreate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Cluster, Max: 1})
		f.Budgets = append(f.Budgets, platform.Budget{Tenant: "acme", ID: "month", Max: "10", Used: "10"})
	})
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "p-1", "nyc3", cloud.Owner{}))
	_, err := w.Service.Adopt(ctx, apitest.Alice, adoption("p-1", "a"))
	apitest.Refused(t, err, cloud.CodeBudgetExceeded, "")
	create(t, w, apitest.Alice, cluster(on(apitest.PoolFree), named("b")))
	_, err = w.Service.Adopt(ctx, apitest.Alice, adoption("p-1", "a"))
	apitest.Refused(t, err, cloud.CodeQuotaExceeded, "")
}
