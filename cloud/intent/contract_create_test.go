package intent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// climb makes a request that breaks a rule at every rung, and mends one after
// another: each time the first that is still broken is told (D21).
func climb(t *testing.T, w *apitest.World, p intent.Principal, in intent.CreateRequest, rungs []rung) {
	t.Helper()
	before := w.Count("resources") + w.Count("events") + w.Count("quota_bookings")
	for _, r := range rungs {
		_, err := w.Service.Create(context.Background(), p, in)
		require.Error(t, err, r.what)
		e := cloud.AsError(err)
		require.Equal(t, []string{string(r.code), r.reason}, []string{string(e.Code), e.Reason()}, "%s: %s", r.what, e.Error())
		if r.field != "" {
			require.Contains(t, e.Details["fields"], r.field, r.what)
		}
		require.Equal(t, before, w.Count("resources")+w.Count("events")+w.Count("quota_bookings"), "%s: nothing is left behind", r.what)
		r.mend(w, &p, &in)
		before = w.Count("resources") + w.Count("events") + w.Count("quota_bookings")
	}
	create(t, w, p, in)
}

type rung struct {
	what   string
	code   cloud.Code
	reason string
	field  string
	mend   func(w *apitest.World, p *intent.Principal, in *intent.CreateRequest)
}

// field sets fields of the spec, by name and value; nil removes one.
func field(pairs ...any) func(*apitest.World, *intent.Principal, *intent.CreateRequest) {
	return func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) {
		patch := cloud.Spec{}
		for i := 0; i < len(pairs); i += 2 {
			patch[pairs[i].(string)] = pairs[i+1]
		}
		in.Spec = in.Spec.Merge(patch)
	}
}

// limits leave acme nothing: one cluster, no GPU, no money, no region.
func limits(f *platform.File) {
	f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Cluster, Max: 1}, platform.Quota{Tenant: "acme", Kind: apitest.GPU, Max: 0})
	f.Budgets = append(f.Budgets, platform.Budget{Tenant: "acme", ID: "month", Max: "10", Used: "10"})
	offerTo(f, func(o *platform.Offer) { o.ExcludedRegions = []string{"nyc3"} })
}

func offerTo(f *platform.File, fn func(o *platform.Offer)) {
	for i := range f.Offers {
		if f.Offers[i].Tenant == "acme" {
			fn(&f.Offers[i])
		}
	}
}

func applying(edit func(f *platform.File)) func(*apitest.World, *intent.Principal, *intent.CreateRequest) {
	return func(w *apitest.World, _ *intent.Principal, _ *intent.CreateRequest) { w.Apply(edit) }
}

// TestCreateChecksFromFirstToLast goes down the whole list for one request.
func TestCreateChecksFromFirstToLast(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	create(t, w, apitest.Alice, cluster(named("taken")))
	w.Apply(limits)
	w.Secrets = false
	in := cluster(on("pool_"+strings.Repeat("9", 26)), named("taken"), func(in *intent.CreateRequest) {
		in.IdempotencyKey, in.ParentID = "ladder", "crs_"+strings.Repeat("0", 52)
		in.Kind = "test.nothing"
		in.Spec = cloud.Spec{
			"region": "sgp1", "size": "huge", "vpc": "v", "instances": []any{apitest.Instance("gx")}, "token": "secret://acme/none",
		}
	})
	climb(t, w, apitest.Rita, in, []rung{
		{"pool", cloud.CodeNotFound, "", "", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.PoolID = apitest.PoolShared }},
		{"kind", cloud.CodeUnsupported, "", "", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.Kind = apitest.Cluster }},
		{"decision", cloud.CodeAccessDenied, "", "", func(_ *apitest.World, p *intent.Principal, _ *intent.CreateRequest) { *p = apitest.Alice }},
		{"secret store", cloud.CodeUnsupported, "secretStore", "", func(w *apitest.World, _ *intent.Principal, _ *intent.CreateRequest) { w.Secrets = true }},
		{"spec", cloud.CodeInvalidInput, "", "spec.size", field("size", "small")},
		{"region", cloud.CodeInvalidInput, "", "spec.region", field("region", "nyc3")},
		{"account-wide fields", cloud.CodeInvalidInput, "accountWide", "spec.vpc", field("vpc", nil, "network", apitest.Network("gx"))},
		{"instances", cloud.CodeInvalidInput, "instance", "", field("instances", nil)},
		{"networks", cloud.CodeInvalidInput, "network", "", field("network", nil)},
		{"secret references", cloud.CodeInvalidInput, "secretRef", "spec.token", field("token", nil)},
		{"parent", cloud.CodeInvalidInput, "parent", "parentId", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.ParentID = "" }},
		{"name", cloud.CodeConflict, "name", "", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.Name = "free" }},
		{"count quota", cloud.CodeQuotaExceeded, "", "", applying(func(f *platform.File) { f.Quotas[len(f.Quotas)-2].Max = 2 })},
		{"offer", cloud.CodeAccessDenied, "regionExcluded", "", applying(func(f *platform.File) { offerTo(f, func(o *platform.Offer) { o.ExcludedRegions = nil }) })},
		{"budget", cloud.CodeBudgetExceeded, "", "", applying(func(f *platform.File) { f.Budgets[len(f.Budgets)-1].Max = "11" })},
	})
}

// A preview comes after the decision and before the spec; capacity stands
// between the count and the offer; an identity between the parent and the name.
func TestCreateChecksOfOtherKindsInTheirPlaces(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		limits(f)
		offerTo(f, func(o *platform.Offer) { o.Status = platform.OfferSuspended })
	})
	climb(t, w, apitest.Alice, cluster(on(apitest.PoolShared), of(apitest.GPU, cloud.Spec{"replicas": json.Number("1")}), named("gpu")), []rung{
		{"count", cloud.CodeQuotaExceeded, "", "", applying(func(f *platform.File) { f.Quotas[len(f.Quotas)-1].Max = 1 })},
		{"capacity", cloud.CodeQuotaExceeded, "", "", applying(func(f *platform.File) {
			f.Capacity = append(f.Capacity, platform.Capacity{Tenant: "acme", Pool: apitest.PoolShared, Name: "gpu", Amount: 2})
		})},
		{"offer", cloud.CodeAccessDenied, "offerSuspended", "", applying(func(f *platform.File) { offerTo(f, func(o *platform.Offer) { o.Status = platform.OfferActive }) })},
		{"budget", cloud.CodeBudgetExceeded, "", "", applying(func(f *platform.File) { f.Budgets = f.Budgets[:len(f.Budgets)-1] })},
	})
	climb(t, w, apitest.Rita, cluster(on(apitest.PoolShared), of(apitest.Agent, cloud.Spec{"colour": "red"}), named("agent")), []rung{
		{"decision", cloud.CodeAccessDenied, "", "", func(_ *apitest.World, p *intent.Principal, _ *intent.CreateRequest) { *p = apitest.Alice }},
		{"preview", cloud.CodeUnsupported, "preview", "", applying(withPreviews)},
		{"spec", cloud.CodeInvalidInput, "", "spec.colour", field("colour", nil)},
	})
	w = apitest.New(t)
	parent := create(t, w, apitest.Alice, cluster())
	create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(parent), named("user")))
	create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site")))
	elsewhere := create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("elsewhere")))
	climb(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(elsewhere), named("user"), func(in *intent.CreateRequest) { in.IdempotencyKey = "x" }), []rung{
		{"parent", cloud.CodeInvalidInput, "parent", "parentId", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.ParentID = parent.ID }},
		{"identity", cloud.CodeConflict, "identity", "", field("name", "web")},
		{"name", cloud.CodeConflict, "name", "", func(_ *apitest.World, _ *intent.Principal, in *intent.CreateRequest) { in.Name = "user2" }},
	})
}

// The repeat of a call that was done comes before everything that would refuse
// it today, but not before the decision.
func TestARepeatComesAfterTheDecisionOnly(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	in := cluster(on(apitest.PoolShared))
	r := create(t, w, apitest.Alice, in)
	w.Secrets = false
	w.Apply(limits, func(f *platform.File) {
		offerTo(f, func(o *platform.Offer) { o.Status = platform.OfferSuspended })
		for i := range f.Accounts {
			f.Accounts[i].Regions = []string{"ams3"}
		}
	})
	require.Equal(t, r, create(t, w, apitest.Alice, in))
	w.Apply(func(f *platform.File) { grant(f, "alice", statement(platform.Deny, intent.ActionCreate, "*")) })
	_, err := w.Service.Create(context.Background(), apitest.Alice, in)
	require.True(t, denied(err))
}

// The same key with another parent is another request, too.
func TestARepeatNamesTheSameParent(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	a, b := create(t, w, apitest.Alice, cluster(named("a"))), create(t, w, apitest.Alice, cluster(named("b")))
	child := func(parent *cloud.Resource) intent.CreateRequest {
		return cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(parent), named("user"))
	}
	first := create(t, w, apitest.Alice, child(a))
	require.Equal(t, first, create(t, w, apitest.Alice, child(a)))
	_, err := w.Service.Create(context.Background(), apitest.Alice, child(b))
	apitest.Refused(t, err, cloud.CodeConflict, "idempotencyKey")
	// The same identity is free in another parent.
	create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(b), named("user-b")))
}

// Budgets stop what a pool charges for, and nothing where it charges nothing.
func TestABudgetDoesNotStopWhatIsNotBilled(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, limits, func(f *platform.File) { f.Quotas = nil })
	_, err := w.Service.Create(context.Background(), apitest.Alice, cluster(named("a")))
	apitest.Refused(t, err, cloud.CodeBudgetExceeded, "")
	create(t, w, apitest.Alice, cluster(on(apitest.PoolFree), named("b")))
}
