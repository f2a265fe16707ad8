package intent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func object(kind, id, region string, owner cloud.Owner) apitest.Object {
	return apitest.Object{Kind: kind, Observed: cloud.Observed{
		ProviderID: id, Name: "name-of-" + id, Region: region, Owner: owner, Spec: cloud.Spec{"region": region, "size": "small"},
	}}
}

func adoption(id, name string) intent.AdoptRequest {
	return intent.AdoptRequest{TenantID: "acme", PoolID: apitest.PoolAcme, Kind: apitest.Cluster, ProviderID: id, Name: name, IdempotencyKey: "adopt-" + name}
}

func adopt(t *testing.T, w *apitest.World, id, name string) *cloud.Resource {
	t.Helper()
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, id, "nyc3", cloud.Owner{}))
	r, err := w.Service.Adopt(context.Background(), apitest.Alice, adoption(id, name))
	require.NoError(t, err)
	return r
}

func TestAdoptRecordsWhatTheProviderHas(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "abc-1", "ams3", cloud.Owner{}))
	r, err := w.Service.Adopt(ctx, apitest.Alice, adoption("ABC-1", "taken"))
	require.NoError(t, err)
	require.Equal(t, cloud.StatePending, r.State)
	require.True(t, r.Adopted)
	require.Empty(t, r.Spec)
	require.Equal(t, "abc-1", r.ProviderID, "the provider's spelling, so that one object has one record")
	require.Equal(t, "ams3", r.Region)
	require.Equal(t, []string{"adopted"}, w.Events("acme", r.ID))

	calls := w.Provider.Calls()
	again, err := w.Service.Adopt(ctx, apitest.Alice, adoption("ABC-1", "taken"))
	require.NoError(t, err)
	require.Equal(t, r, again)
	require.Equal(t, calls, w.Provider.Calls(), "a repeat asks nobody")

	_, err = w.Service.Adopt(ctx, apitest.Alice, adoption("abc-1", "other"))
	require.Equal(t, r.ID, apitest.Refused(t, err, cloud.CodeConflict, "recorded").Details["resourceId"])
}

func TestAdoptRefusals(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		for i := range f.Accounts { // previews off
			f.Accounts[i].Previews = false
		}
	})
	ctx := context.Background()
	create(t, w, apitest.Alice, cluster(named("taken")))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "free", "nyc3", cloud.Owner{}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "theirs", "nyc3", cloud.Owner{ResourceKey: "0123456789abcdefghjkmnpq", Deployment: "prod"}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "orphan", "nyc3", cloud.Owner{ResourceKey: "0123456789abcdefghjkmnpq", Deployment: "dev"}))
	w.Provider.Put(apitest.AccountAcme, apitest.Object{Kind: apitest.Cluster, Observed: cloud.Observed{ProviderID: "gone", Phase: cloud.PhaseGone}})
	w.Provider.Put(apitest.AccountShared, object(apitest.Cluster, "shared", "nyc3", cloud.Owner{}))
	kindOf := func(kind string) intent.AdoptRequest {
		in := adoption("free", "x")
		in.Kind = kind
		return in
	}
	edit := func(in intent.AdoptRequest, fn func(in *intent.AdoptRequest)) intent.AdoptRequest { fn(&in); return in }
	cases := []struct {
		name   string
		by     intent.Principal
		in     intent.AdoptRequest
		code   cloud.Code
		reason string
	}{
		{"reader", apitest.Rita, adoption("free", "x"), cloud.CodeAccessDenied, ""},
		{"another tenant", apitest.Bob, adoption("free", "x"), cloud.CodeAccessDenied, ""},
		{"a platform account", apitest.Alice, edit(adoption("shared", "x"), func(in *intent.AdoptRequest) { in.PoolID = apitest.PoolShared }), cloud.CodeAccessDenied, "notAccountOwner"},
		{"no provider pool", apitest.Alice, edit(adoption("free", "x"), func(in *intent.AdoptRequest) { in.PoolID = apitest.PoolOther }), cloud.CodeUnsupported, ""},
		{"unknown kind", apitest.Alice, kindOf("test.nothing"), cloud.CodeUnsupported, ""},
		{"preview", apitest.Alice, kindOf(apitest.Agent), cloud.CodeUnsupported, "preview"},
		{"books quota", apitest.Alice, kindOf(apitest.GPU), cloud.CodeUnsupported, "quotaBooked"},
		{"lives in a parent", apitest.Alice, kindOf(apitest.User), cloud.CodeUnsupported, "adopt"},
		{"owned by name", apitest.Alice, kindOf(apitest.Site), cloud.CodeUnsupported, "adopt"},
		{"not there", apitest.Alice, adoption("nothing", "x"), cloud.CodeNotFound, ""},
		{"gone", apitest.Alice, adoption("gone", "x"), cloud.CodeNotFound, ""},
		{"another deployment's", apitest.Alice, adoption("theirs", "x"), cloud.CodeInvalidState, "managedByAnother"},
		{"ours of an unknown record", apitest.Alice, adoption("orphan", "x"), cloud.CodeInvalidState, "managedByAnother"},
		{"name taken", apitest.Alice, adoption("free", "taken"), cloud.CodeConflict, "name"},
		{"no such project", apitest.Root, edit(adoption("shared", "x"), func(in *intent.AdoptRequest) {
			in.TenantID, in.PoolID, in.ProjectID = "root", apitest.PoolShared, apitest.ProjectWebs
		}), cloud.CodeNotFound, ""},
	}
	before, events := w.Count("resources"), w.Count("events")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Service.Adopt(ctx, c.by, c.in)
			apitest.Refused(t, err, c.code, c.reason)
		})
	}
	require.Equal(t, before, w.Count("resources"))
	require.Equal(t, events, w.Count("events"))
}

func TestAdoptWhenTheProviderFails(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "free", "nyc3", cloud.Owner{}))
	cases := map[cloud.Code]error{
		cloud.CodeProviderError: &cloud.ProviderError{Class: cloud.ClassUnknown, Message: "HTTP 500", RequestID: "req-1"},
		cloud.CodeThrottled:     &cloud.ProviderError{Class: cloud.ClassThrottled},
		cloud.CodeNotFound:      &cloud.ProviderError{Class: cloud.ClassRefused, Message: "no such format of an id"},
	}
	for code, failure := range cases {
		w.Provider.Fail(failure)
		_, err := w.Service.Adopt(context.Background(), apitest.Alice, adoption("free", "x"))
		apitest.Refused(t, err, code, "")
	}
	w.Provider.Fail(errors.New("connection lost"))
	_, err := w.Service.Adopt(context.Background(), apitest.Alice, adoption("free", "x"))
	require.NotContains(t, apitest.Refused(t, err, cloud.CodeProviderError, "").Message, "connection lost")
	require.Zero(t, w.Count("resources"))
}

func TestAdoptIsDecidedOnTheRegionThatTheProviderTells(t *testing.T) {
	t.Parallel()
	nina := intent.Principal{Tenant: "acme", User: "nina", ID: "acme/nina"}
	w := apitest.New(t, func(f *platform.File) {
		f.Policies = append(f.Policies, platform.Policy{ID: "nyc", Principals: []string{nina.ID}, Statements: []platform.Statement{{
			Effect: platform.Allow, Actions: []string{"*"}, Resources: []string{"*"},
			Condition: map[string]map[string]platform.Strings{"StringEquals": {"resource.region": {"nyc3"}}},
		}}})
	})
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "near", "nyc3", cloud.Owner{}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "far", "ams3", cloud.Owner{}))
	_, err := w.Service.Adopt(context.Background(), nina, adoption("near", "near"))
	require.NoError(t, err)
	_, err = w.Service.Adopt(context.Background(), nina, adoption("far", "far"))
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
}
