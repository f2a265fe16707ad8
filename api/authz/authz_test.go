package authz_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/api/authz"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// source is a platform whose policies can change.
type source struct {
	mu       sync.Mutex
	number   int64
	policies []platform.Policy
	reads    int
	err      error
}

func (s *source) PlatformRevision(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number, s.err
}

func (s *source) Policies(context.Context) ([]platform.Policy, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.policies, s.number, s.err
}

func (s *source) set(policies ...platform.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.policies = policies
}

func policies(list ...platform.Policy) *authz.Authorizer {
	s := &source{}
	s.set(list...)
	return authz.New(s)
}

func policy(principal string, statements ...platform.Statement) platform.Policy {
	return platform.Policy{ID: "p-" + principal, Principals: []string{principal}, Statements: statements}
}

func statement(effect platform.Effect, action, resource string, condition ...string) platform.Statement {
	s := platform.Statement{Effect: effect, Actions: []string{action}, Resources: []string{resource}}
	if len(condition) > 0 {
		s.Condition = map[string]map[string]platform.Strings{condition[0]: {"resource." + condition[1]: condition[2:]}}
	}
	return s
}

func allow(action, resource string, condition ...string) platform.Statement {
	return statement(platform.Allow, action, resource, condition...)
}

func deny(action, resource string, condition ...string) platform.Statement {
	return statement(platform.Deny, action, resource, condition...)
}

func principal(tenant, user string) intent.Principal {
	return intent.Principal{Tenant: tenant, User: user, ID: tenant + "/" + user}
}

var alice = principal("acme", "alice")

func resource(attributes ...string) intent.Target {
	t := intent.Target{Type: intent.TypeResource, ID: "crs_1", Tenant: "acme", Attributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		t.Attributes[attributes[i]] = attributes[i+1]
	}
	return t
}

func tenant(id, items string) intent.Target {
	return intent.Target{Type: intent.TypeTenant, ID: id, Tenant: id, Items: items}
}

func TestDecide(t *testing.T) {
	const read = intent.ActionRead
	data, app := resource("family", "data", "region", "nyc3"), resource("family", "platform")
	cases := []struct {
		name     string
		policies []platform.Policy
		by       intent.Principal
		action   string
		on       intent.Target
		allowed  bool
	}{
		{"nothing is allowed by default", nil, alice, read, data, false},
		{"exact", []platform.Policy{policy("acme/alice", allow(read, "compute-cloud-resource/crs_1"))}, alice, read, data, true},
		{"another action", []platform.Policy{policy("acme/alice", allow(intent.ActionDelete, "*"))}, alice, read, data, false},
		{"another resource", []platform.Policy{policy("acme/alice", allow("*", "compute-cloud-resource/crs_2"))}, alice, read, data, false},
		{"another principal", []platform.Policy{policy("acme/bob", allow("*", "*"))}, alice, read, data, false},
		{"wildcards", []platform.Policy{policy("acme/*", allow("compute:*:read", "compute-*/crs_*"))}, alice, read, data, true},
		{"wildcard of actions of one product", []platform.Policy{policy("*", allow("compute:*", "*"))}, alice, read, data, true},
		{"a wildcard does not cross tenants", []platform.Policy{policy("*", allow("*", "*"))}, principal("globex", "bob"), read, data, false},
		{"deny wins", []platform.Policy{policy("acme/alice", allow("*", "*")), policy("acme/*", deny(read, "*"))}, alice, read, data, false},
		{"deny of another action", []platform.Policy{policy("acme/alice", allow("*", "*"), deny(intent.ActionDelete, "*"))}, alice, read, data, true},
		{"StringEquals", []platform.Policy{policy("acme/alice", allow("*", "*", "StringEquals", "family", "ai", "data"))}, alice, read, data, true},
		{"StringEquals of another value", []platform.Policy{policy("acme/alice", allow("*", "*", "StringEquals", "family", "ai", "data"))}, alice, read, app, false},
		{"StringEquals of a missing attribute", []platform.Policy{policy("acme/alice", allow("*", "*", "StringEquals", "region", "nyc3"))}, alice, read, app, false},
		{"StringEquals takes * as it stands", []platform.Policy{policy("acme/alice", allow("*", "*", "StringEquals", "family", "*"))}, alice, read, data, false},
		{"StringNotEquals", []platform.Policy{policy("acme/alice", allow("*", "*", "StringNotEquals", "family", "ai", "data"))}, alice, read, app, true},
		{"StringNotEquals of a listed value", []platform.Policy{policy("acme/alice", allow("*", "*", "StringNotEquals", "family", "ai", "data"))}, alice, read, data, false},
		{"StringNotEquals of a missing attribute", []platform.Policy{policy("acme/alice", allow("*", "*", "StringNotEquals", "region", "ams3"))}, alice, read, app, true},
		{"StringLike", []platform.Policy{policy("acme/alice", allow("*", "*", "StringLike", "region", "ams*", "nyc*"))}, alice, read, data, true},
		{"StringLike of another value", []platform.Policy{policy("acme/alice", allow("*", "*", "StringLike", "region", "ams*"))}, alice, read, data, false},
		{"an unknown operator", []platform.Policy{policy("acme/alice", allow("*", "*", "NumericEquals", "region", "nyc3"))}, alice, read, data, false},
		{"denied by attribute", []platform.Policy{policy("acme/alice", allow("*", "*"), deny("*", "*", "StringEquals", "family", "data"))}, alice, read, data, false},
		{"not denied by attribute", []platform.Policy{policy("acme/alice", allow("*", "*"), deny("*", "*", "StringEquals", "family", "data"))}, alice, read, app, true},
		{"denied elsewhere than", []platform.Policy{policy("acme/alice", allow("*", "*"), deny("*", "*", "StringNotEquals", "region", "nyc3"))}, alice, read, app, false},
		{"a tenant is no resource", []platform.Policy{policy("acme/alice", allow("*", "compute-cloud-resource/*"))}, alice, read, tenant("acme", ""), false},
		{"the tenant", []platform.Policy{policy("acme/alice", allow(read, "compute-tenant/acme"))}, alice, read, tenant("acme", ""), true},
		{"secrets by name", []platform.Policy{policy("acme/alice", allow("compute:secrets:*", "compute-secret/app/*"))}, alice, "compute:secrets:reveal", intent.Target{Type: intent.TypeSecret, ID: "app/db", Tenant: "acme"}, true},
		{"a secret has no family", []platform.Policy{policy("acme/alice", allow("*", "*", "StringEquals", "family", "data"))}, alice, "compute:secrets:reveal", intent.Target{Type: intent.TypeSecret, ID: "app/db", Tenant: "acme"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := policies(c.policies...).Decide(context.Background(), c.by, c.action, c.on)
			if c.allowed {
				require.NoError(t, err)
				return
			}
			require.Equal(t, cloud.CodeAccessDenied, cloud.AsError(err).Code)
		})
	}
}

func TestSeveralConditionsMustAllHold(t *testing.T) {
	s := allow("*", "*", "StringEquals", "family", "data")
	s.Condition["StringEquals"]["resource.provider"] = platform.Strings{"digitalocean"}
	s.Condition["StringLike"] = map[string]platform.Strings{"resource.region": {"nyc*"}}
	a := policies(policy("acme/alice", s))
	full := []string{"family", "data", "provider", "digitalocean", "region", "nyc3"}
	require.NoError(t, a.Decide(context.Background(), alice, intent.ActionRead, resource(full...)))
	for i := 1; i < len(full); i += 2 {
		broken := append([]string(nil), full...)
		broken[i] = "other"
		require.Error(t, a.Decide(context.Background(), alice, intent.ActionRead, resource(broken...)))
	}
}

// D27: who is allowed by attributes may list, and gets what they allow.
func TestCallsThatListItems(t *testing.T) {
	ctx := context.Background()
	byFamily := allow("*", "*", "StringEquals", "family", "data")
	for name, c := range map[string]struct {
		statements []platform.Statement
		items      string
		allowed    bool
	}{
		"all":                               {[]platform.Statement{allow("*", "*")}, intent.TypeResource, true},
		"by attribute":                      {[]platform.Statement{byFamily}, intent.TypeResource, true},
		"by attribute, not a listing":       {[]platform.Statement{byFamily}, "", false},
		"by attribute of resources":         {[]platform.Statement{allow("*", "compute-cloud-resource/*", "StringLike", "region", "nyc*")}, intent.TypeResource, true},
		"by attribute of something else":    {[]platform.Statement{allow("*", "compute-secret/*", "StringLike", "region", "nyc*")}, intent.TypeResource, false},
		"resources without a condition":     {[]platform.Statement{allow("*", "compute-cloud-resource/*")}, intent.TypeResource, false},
		"some secrets":                      {[]platform.Statement{allow("*", "compute-secret/app/*")}, intent.TypeSecret, true},
		"no secrets":                        {[]platform.Statement{allow("*", "compute-cloud-resource/*")}, intent.TypeSecret, false},
		"denied":                            {[]platform.Statement{byFamily, deny("*", "compute-tenant/*")}, intent.TypeResource, false},
		"denied by attribute is seen later": {[]platform.Statement{allow("*", "*"), deny("*", "*", "StringNotEquals", "family", "data")}, intent.TypeResource, true},
		"another action":                    {[]platform.Statement{allow(intent.ActionDelete, "*", "StringEquals", "family", "data")}, intent.TypeResource, false},
	} {
		err := policies(policy("acme/alice", c.statements...)).Decide(ctx, alice, intent.ActionRead, tenant("acme", c.items))
		require.Equal(t, c.allowed, err == nil, name)
	}
}

func TestUnknownAttributes(t *testing.T) {
	ctx := context.Background()
	target := resource("family", "data")
	target.Unknown = []string{"region"}
	decide := func(statements ...platform.Statement) error {
		return policies(policy("acme/alice", statements...)).Decide(ctx, alice, intent.ActionRead, target)
	}
	require.NoError(t, decide(allow("*", "*", "StringEquals", "region", "nyc3")))
	require.NoError(t, decide(allow("*", "*"), deny("*", "*", "StringNotEquals", "region", "nyc3")))
	require.Error(t, decide(allow("*", "*", "StringEquals", "family", "ai")), "the others count")
	require.Error(t, decide(allow("*", "*"), deny("*", "*", "StringEquals", "family", "data")))
}

func TestTenantsOfAPolicy(t *testing.T) {
	ctx := context.Background()
	root := principal("root", "admin")
	operators := policy("root/admin", allow("*", "*"))
	operators.Tenants = []string{"*"}
	support := policy("root/sam", allow("compute:*:read", "*"))
	support.Tenants = []string{"acme"}
	a := policies(operators, support, policy("acme/alice", allow("*", "*")))

	require.NoError(t, a.Reach(ctx, root, "acme"))
	require.NoError(t, a.Reach(ctx, alice, "acme"))
	require.NoError(t, a.Reach(ctx, principal("acme", "nobody"), "acme"), "its own tenant; what it may do there is decided later")
	require.NoError(t, a.Decide(ctx, root, intent.ActionDelete, resource()))
	sam := principal("root", "sam")
	require.NoError(t, a.Reach(ctx, sam, "acme"))
	require.NoError(t, a.Decide(ctx, sam, intent.ActionRead, resource()))
	require.Error(t, a.Decide(ctx, sam, intent.ActionDelete, resource()))
	for who, where := range map[intent.Principal]string{alice: "root", sam: "globex", principal("acme2", "alice"): "acme"} {
		require.Equal(t, cloud.CodeAccessDenied, cloud.AsError(a.Reach(ctx, who, where)).Code)
	}
	// A policy for other tenants says nothing about the own one.
	require.Error(t, a.Decide(ctx, sam, intent.ActionRead, tenant("root", "")))
}

func TestPoliciesAreThoseOfTheRevision(t *testing.T) {
	ctx := context.Background()
	s := &source{}
	s.set(policy("acme/alice", allow("*", "*")))
	a := authz.New(s)
	for range 5 {
		require.NoError(t, a.Decide(ctx, alice, intent.ActionRead, resource()))
	}
	require.Equal(t, 1, s.reads, "read once for a revision")
	s.set()
	require.Error(t, a.Decide(ctx, alice, intent.ActionRead, resource()), "the next call sees it")
	require.Error(t, a.Decide(authz.WithRevision(ctx, 2), alice, intent.ActionRead, resource()))
	require.Equal(t, 2, s.reads)

	s.mu.Lock()
	s.err = cloud.Errorf(cloud.CodeUnavailable, "down")
	s.mu.Unlock()
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(a.Decide(ctx, alice, intent.ActionRead, resource())).Code)
	require.NoError(t, a.Reach(ctx, alice, "acme"), "the own tenant needs no policy")
}

// Cedar's answer is that of the rules written down plainly.
func TestDecisionsAgreeWithAModel(t *testing.T) {
	values := []string{"data", "ai", ""}
	gen := rapid.Custom(func(t *rapid.T) platform.Statement {
		s := platform.Statement{
			Effect:    rapid.SampledFrom([]platform.Effect{platform.Allow, platform.Deny}).Draw(t, "effect"),
			Actions:   []string{rapid.SampledFrom([]string{"*", "a:read", "a:*", "*:write"}).Draw(t, "action")},
			Resources: []string{rapid.SampledFrom([]string{"*", "t/1", "t/*", "u/*"}).Draw(t, "resource")},
		}
		if op := rapid.SampledFrom([]string{"", "StringEquals", "StringNotEquals"}).Draw(t, "op"); op != "" {
			s.Condition = map[string]map[string]platform.Strings{op: {"resource.family": {rapid.SampledFrom(values[:2]).Draw(t, "value")}}}
		}
		return s
	})
	like := func(pattern, text string) bool {
		switch pattern {
		case "*", text:
			return true
		case "a:*":
			return text[:2] == "a:"
		case "*:write":
			return text[1:] == ":write"
		}
		return pattern[1:] == "/*" && text[:2] == pattern[:2]
	}
	rapid.Check(t, func(t *rapid.T) {
		statements := rapid.SliceOfN(gen, 0, 4).Draw(t, "statements")
		a := policies(policy("acme/alice", statements...)) // one, so that what it remembers is tested too
		for range 8 {
			action := rapid.SampledFrom([]string{"a:read", "b:write"}).Draw(t, "action")
			target := intent.Target{
				Type: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "type"), ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "id"), Tenant: "acme",
				Attributes: map[string]string{"family": rapid.SampledFrom(values).Draw(t, "family")},
			}
			allowed, denied := false, false
			for _, s := range statements {
				hit := like(s.Actions[0], action) && like(s.Resources[0], target.Type+"/"+target.ID)
				for op, c := range s.Condition {
					equal := target.Attributes["family"] == c["resource.family"][0]
					hit = hit && equal == (op == "StringEquals")
				}
				allowed = allowed || hit && s.Effect == platform.Allow
				denied = denied || hit && s.Effect == platform.Deny
			}
			err := a.Decide(context.Background(), alice, action, target)
			if want := allowed && !denied; want != (err == nil) {
				t.Fatalf("%v: want %v, got %v", fmt.Sprint(statements, action, target), want, err)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	a := policies(policy("acme/alice", allow("*", "*", "StringEquals", "family", "data")), policy("acme/*", allow("compute:*:read", "*")), policy("root/*", allow("*", "*")))
	ctx := authz.WithRevision(context.Background(), 1)
	target := resource("family", "data", "kind", "do.app", "provider", "digitalocean", "poolId", "p", "region", "nyc3", "providerAccountId", "a")
	for b.Loop() {
		if err := a.Decide(ctx, alice, intent.ActionRead, target); err != nil {
			b.Fatal(err)
		}
	}
}
