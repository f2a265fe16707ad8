package intent_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// named principals of these tests, each with a policy of its own.
func user(name string) intent.Principal {
	return intent.Principal{Tenant: "acme", User: name, ID: "acme/" + name}
}

func grant(f *platform.File, name string, statements ...platform.Statement) {
	f.Policies = append(f.Policies, platform.Policy{ID: name, Principals: []string{"acme/" + name}, Statements: statements})
}

func statement(effect platform.Effect, action, resource string) platform.Statement {
	return platform.Statement{Effect: effect, Actions: []string{action}, Resources: []string{resource}}
}

// denied tells the decision's own refusal; whatever else a call may
// answer, it came past the decision.
func denied(err error) bool {
	return err != nil && cloud.AsError(err).Code == cloud.CodeAccessDenied && cloud.AsError(err).Reason() == ""
}

// Each of the eleven calls is decided as one action on one thing: a caller with
// exactly that may make it, and one with everything but that may not.
func TestEachCallIsDecidedAsItsAction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const tenant, resource = "compute-tenant/acme", "compute-cloud-resource/"
	old := cloud.ResourceID("acme", "acme/alice", "key-old")
	one := intent.ResourceRequest{TenantID: "acme", ResourceID: old}
	calls := map[string]struct {
		action string
		on     func(caller string) string
		call   func(s *intent.Service, p intent.Principal) error
	}{
		"kinds": {intent.ActionRead, same(tenant), func(s *intent.Service, p intent.Principal) error {
			_, err := s.Kinds(ctx, p, pool("acme", apitest.PoolAcme))
			return err
		}},
		"catalog": {intent.ActionRead, same(tenant), func(s *intent.Service, p intent.Principal) error {
			_, err := s.Catalog(ctx, p, pool("acme", apitest.PoolAcme))
			return err
		}},
		"signals": {intent.ActionRead, same(tenant), func(s *intent.Service, p intent.Principal) error {
			_, err := s.Signals(ctx, p, pool("acme", apitest.PoolAcme))
			return err
		}},
		"list": {intent.ActionRead, same(tenant), func(s *intent.Service, p intent.Principal) error {
			_, err := s.List(ctx, p, intent.ListRequest{TenantID: "acme"})
			return err
		}},
		"discover": {intent.ActionRead, same(tenant), func(s *intent.Service, p intent.Principal) error {
			in := pool("acme", apitest.PoolAcme)
			in.Kind = apitest.Cluster
			_, err := s.Discover(ctx, p, in)
			return err
		}},
		"create": {intent.ActionCreate, func(caller string) string { return resource + cloud.ResourceID("acme", "acme/"+caller, "key-"+caller) },
			func(s *intent.Service, p intent.Principal) error {
				_, err := s.Create(ctx, p, cluster(named(p.User)))
				return err
			}},
		"adopt": {intent.ActionCreate, func(caller string) string {
			return resource + cloud.ResourceID("acme", "acme/"+caller, "adopt-"+caller)
		},
			func(s *intent.Service, p intent.Principal) error {
				_, err := s.Adopt(ctx, p, adoption(p.User, p.User))
				return err
			}},
		"get": {intent.ActionRead, same(resource + old), func(s *intent.Service, p intent.Principal) error { _, err := s.Get(ctx, p, one); return err }},
		"update": {intent.ActionUpdate, same(resource + old), func(s *intent.Service, p intent.Principal) error {
			_, err := s.Update(ctx, p, describe(&cloud.Resource{TenantID: "acme", ID: old}, "x"))
			return err
		}},
		"release": {intent.ActionDelete, same(resource + old), func(s *intent.Service, p intent.Principal) error { _, err := s.Release(ctx, p, one); return err }},
		"delete": {intent.ActionDelete, same(resource + old), func(s *intent.Service, p intent.Principal) error {
			_, err := s.Delete(ctx, p, intent.DeleteRequest{TenantID: "acme", ResourceID: old})
			return err
		}},
	}
	require.Len(t, calls, 11)
	w := apitest.New(t, withPreviews, func(f *platform.File) {
		for name, c := range calls {
			only, but := name+"-only", name+"-but"
			grant(f, only, statement(platform.Allow, c.action, c.on(only)))
			grant(f, but, statement(platform.Allow, "*", "*"), statement(platform.Deny, c.action, c.on(but)))
		}
	})
	create(t, w, apitest.Alice, cluster(named("old")))
	for name := range calls {
		for _, caller := range []string{name + "-only", name + "-but"} {
			w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, caller, "nyc3", cloud.Owner{}))
		}
	}
	order := []string{"kinds", "catalog", "signals", "list", "discover", "create", "adopt", "get", "update", "release", "delete"}
	for _, name := range order {
		require.True(t, denied(calls[name].call(w.Service, user(name+"-but"))), name)
		require.False(t, denied(calls[name].call(w.Service, user(name+"-only"))), name)
		for _, other := range order {
			if calls[other].action != calls[name].action {
				require.True(t, denied(calls[name].call(w.Service, user(other+"-only"))), "%s with the action of %s", name, other)
			}
		}
	}
}

func same(name string) func(string) string { return func(string) string { return name } }

// Every attribute of a resource narrows a policy: to allow, and to deny.
func TestDecisionsSeeAllSevenAttributes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	values := map[string][2]string{
		"kind": {apitest.Cluster, apitest.Site}, "family": {"data", "platform"}, "provider": {"digitalocean", "aws"},
		"providerAccountId": {apitest.AccountAcme, apitest.AccountShared}, "poolId": {apitest.PoolAcme, apitest.PoolFree},
		"region": {"nyc3", "ams3"}, "projectId": {apitest.ProjectWebs, "prj_other"},
	}
	require.Len(t, values, 7)
	w := apitest.New(t, func(f *platform.File) {
		for attribute, v := range values {
			for i, value := range v {
				s := statement(platform.Allow, "*", "*")
				s.Condition = map[string]map[string]platform.Strings{"StringEquals": {"resource." + attribute: {value}}}
				grant(f, attribute+[]string{"-right", "-wrong"}[i], s)
			}
		}
	})
	in := func(name string) intent.CreateRequest {
		return cluster(named(name), func(in *intent.CreateRequest) { in.ProjectID = apitest.ProjectWebs })
	}
	mine := create(t, w, apitest.Alice, in("mine"))
	for attribute := range values {
		name := map[string]string{"providerAccountId": "account", "poolId": "pool", "projectId": "project"}[attribute]
		if name == "" {
			name = attribute
		}
		r := create(t, w, user(attribute+"-right"), in(name))
		_, err := w.Service.Create(ctx, user(attribute+"-wrong"), in(name+"2"))
		require.True(t, denied(err), attribute)
		for caller, allowed := range map[string]bool{"-right": true, "-wrong": false} {
			p := user(attribute + caller)
			_, err := w.Service.Get(ctx, p, intent.ResourceRequest{TenantID: "acme", ResourceID: mine.ID})
			require.Equal(t, allowed, err == nil, attribute)
			_, err = w.Service.Update(ctx, p, describe(r, caller))
			require.Equal(t, allowed, err == nil, attribute)
			page, err := w.Service.List(ctx, p, intent.ListRequest{TenantID: "acme"})
			require.NoError(t, err, "the call itself passes (D27)")
			require.Equal(t, allowed, slices.ContainsFunc(page.Items, func(r *cloud.Resource) bool { return r.ID == mine.ID }), attribute)
			_, err = w.Service.Delete(ctx, p, intent.DeleteRequest{TenantID: "acme", ResourceID: r.ID})
			require.Equal(t, allowed, err == nil, attribute)
		}
	}
}

// The caller owns what it makes, and the authorization row says so.
func TestTheCallerOwnsTheResource(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	a := create(t, w, apitest.Alice, cluster(named("a")))
	d := create(t, w, apitest.Dora, cluster(named("d")))
	for r, owner := range map[*cloud.Resource]string{a: "acme/alice", d: "acme/dora"} {
		require.Equal(t, owner, r.Owner)
		require.Equal(t, 1, w.Count("authorization_rows WHERE resource_id = '"+r.ID+"' AND owner = '"+owner+"'"))
	}
}
