package intent_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// cluster is a create that is accepted, changed by edits.
func cluster(edits ...func(in *intent.CreateRequest)) intent.CreateRequest {
	in := intent.CreateRequest{
		TenantID: "acme", PoolID: apitest.PoolAcme, Kind: apitest.Cluster, Name: "orders", IdempotencyKey: "k1",
		Spec: cloud.Spec{"region": "nyc3", "size": "small"},
	}
	for _, edit := range edits {
		edit(&in)
	}
	return in
}

func named(name string) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) { in.Name, in.IdempotencyKey = name, "key-"+name }
}

func spec(field string, value any) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) {
		in.Spec = maps.Clone(in.Spec)
		in.Spec[field] = value
	}
}

func of(kind string, s cloud.Spec) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) { in.Kind, in.Spec = kind, s }
}

func in(parent *cloud.Resource) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) { in.ParentID = parent.ID }
}

func on(pool string) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) { in.PoolID = pool }
}

func by(tenant string) func(in *intent.CreateRequest) {
	return func(in *intent.CreateRequest) { in.TenantID = tenant }
}

func create(t *testing.T, w *apitest.World, p intent.Principal, in intent.CreateRequest) *cloud.Resource {
	t.Helper()
	r, err := w.Service.Create(context.Background(), p, in)
	require.NoError(t, err)
	return r
}

func TestCreateRecords(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := create(t, w, apitest.Alice, cluster(func(in *intent.CreateRequest) {
		in.ProjectID, in.Description = apitest.ProjectWebs, "orders of the shop"
	}))
	require.Equal(t, cloud.ResourceID("acme", "acme/alice", "k1"), r.ID)
	require.Equal(t, cloud.StatePending, r.State)
	require.Equal(t, "acme/alice", r.Owner)
	require.Equal(t, "nyc3", r.Region)
	require.Equal(t, apitest.AccountAcme, r.AccountID)
	require.True(t, r.Billed)
	require.EqualValues(t, 1, r.Version)
	require.Equal(t, []string{"created"}, w.Events("acme", r.ID))
	require.Equal(t, 1, w.Count("authorization_rows"))
	require.Equal(t, 1, w.Count("outbox WHERE workflow_id = '"+r.ID+"'"))

	user := create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(r), named("app")))
	require.False(t, user.Billed, "what lives in another bills no fee of its own")
	require.Equal(t, "nyc3", user.Region, "it lives where its parent does")
	require.Equal(t, "app", user.Identity)
	require.False(t, create(t, w, apitest.Alice, cluster(on(apitest.PoolFree), named("free"))).Billed)
}

func TestCreateRefusals(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Site, Max: 1})
	})
	parent := create(t, w, apitest.Alice, cluster(named("parent")))
	create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "taken"}), in(parent), named("user")))
	create(t, w, apitest.Alice, cluster(of(apitest.Firewall, cloud.Spec{}), in(parent), named("fw")))
	shared := create(t, w, apitest.Alice, cluster(on(apitest.PoolShared), named("elsewhere")))
	foreign := create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared), named("foreign")))
	create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site")))
	gone := w.Ended(create(t, w, apitest.Alice, cluster(named("gone"))))
	_, err := w.PutSecret(context.Background(), "globex", "theirs", cloud.NewSecret("v"), "globex/bob")
	require.NoError(t, err)

	child := func(p *cloud.Resource, s cloud.Spec) intent.CreateRequest {
		return cluster(of(apitest.User, s), in(p), named("child"))
	}
	cases := []struct {
		name   string
		by     intent.Principal
		in     intent.CreateRequest
		code   cloud.Code
		reason string
		fields []string
	}{
		{"another tenant", apitest.Alice, cluster(by("globex"), on(apitest.PoolShared)), cloud.CodeAccessDenied, "", nil},
		{"another tenant's pool", apitest.Bob, cluster(by("globex")), cloud.CodeNotFound, "", nil},
		{"no such pool", apitest.Alice, cluster(on("pool_" + strings.Repeat("9", 26))), cloud.CodeNotFound, "", nil},
		{"no provider pool", apitest.Alice, cluster(on(apitest.PoolOther)), cloud.CodeUnsupported, "", nil},
		{"unknown kind", apitest.Alice, cluster(of("test.nothing", cloud.Spec{})), cloud.CodeUnsupported, "", nil},
		{"refused by policy", apitest.Rita, cluster(), cloud.CodeAccessDenied, "", nil},
		{"another family", apitest.Dora, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"})), cloud.CodeAccessDenied, "", nil},
		{"nobody", apitest.Nobody, cluster(), cloud.CodeAccessDenied, "", nil},
		{"preview", apitest.Alice, cluster(of(apitest.Agent, cloud.Spec{}), on(apitest.PoolShared)), cloud.CodeUnsupported, "preview", nil},
		{"field missing", apitest.Alice, cluster(func(in *intent.CreateRequest) { in.Spec = cloud.Spec{"region": "nyc3"} }), cloud.CodeInvalidInput, "", []string{"spec.size"}},
		{"fields unknown and of wrong types", apitest.Alice, cluster(spec("size", 5), spec("colour", "red")), cloud.CodeInvalidInput, "", []string{"spec.colour", "spec.size"}},
		{"deep field", apitest.Alice, cluster(spec("notes", []any{map[string]any{"name": "a"}, map[string]any{"nam": "b"}})), cloud.CodeInvalidInput, "", []string{"spec.notes[1].nam", "spec.notes[1].name"}},
		{"null", apitest.Alice, cluster(spec("size", nil)), cloud.CodeInvalidInput, "", []string{"spec.size"}},
		{"a rule of the kind", apitest.Alice, cluster(spec("network", apitest.Network("acme")), spec("vpc", "v")), cloud.CodeInvalidInput, "", []string{"spec.network", "spec.vpc"}},
		{"region of no account", apitest.Alice, cluster(spec("region", "sgp1")), cloud.CodeInvalidInput, "", []string{"spec.region"}},
		{"region of another account", apitest.Alice, cluster(on(apitest.PoolShared), spec("region", "atl1")), cloud.CodeInvalidInput, "", []string{"spec.region"}},
		{"product's region beyond the account", apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "sfo"})), cloud.CodeInvalidInput, "", []string{"spec.region"}},
		{"account-wide on a shared account", apitest.Alice, cluster(on(apitest.PoolShared), spec("vpc", "v")), cloud.CodeInvalidInput, "accountWide", []string{"spec.vpc"}},
		{"account-wide by value", apitest.Alice, cluster(on(apitest.PoolShared), of(apitest.Site, cloud.Spec{"region": "nyc", "repository": "linked"})), cloud.CodeInvalidInput, "accountWide", []string{"spec.repository"}},
		{"foreign project", apitest.Bob, cluster(by("globex"), on(apitest.PoolShared), func(in *intent.CreateRequest) { in.ProjectID = apitest.ProjectWebs }), cloud.CodeNotFound, "", []string{"projectId"}},
		{"dead instance", apitest.Alice, cluster(spec("instances", []any{apitest.Instance("dead")})), cloud.CodeInvalidInput, "instance", nil},
		{"foreign instance", apitest.Alice, cluster(on(apitest.PoolShared), spec("instances", []any{apitest.Instance("gx")})), cloud.CodeInvalidInput, "instance", nil},
		{"instance of another account", apitest.Alice, cluster(spec("instances", []any{apitest.Instance("acme"), apitest.Instance("shared")})), cloud.CodeInvalidInput, "instance", nil},
		{"no such instance", apitest.Alice, cluster(spec("instances", []any{"ins_" + strings.Repeat("7", 26)})), cloud.CodeInvalidInput, "instance", nil},
		{"foreign network", apitest.Alice, cluster(on(apitest.PoolShared), spec("network", apitest.Network("gx"))), cloud.CodeInvalidInput, "network", nil},
		{"network elsewhere", apitest.Alice, cluster(spec("region", "ams3"), spec("network", apitest.Network("acme"))), cloud.CodeInvalidInput, "network", nil},
		{"no reference", apitest.Alice, cluster(spec("token", "in clear")), cloud.CodeInvalidInput, "secretRef", []string{"spec.token"}},
		{"reference to nothing", apitest.Alice, cluster(spec("token", "secret://acme/none")), cloud.CodeInvalidInput, "secretRef", []string{"spec.token"}},
		{"foreign reference", apitest.Alice, cluster(spec("token", "secret://globex/theirs")), cloud.CodeInvalidInput, "secretRef", []string{"spec.token"}},
		{"malformed reference", apitest.Alice, cluster(spec("notes", []any{map[string]any{"name": "n", "text": "secret://acme"}})), cloud.CodeInvalidInput, "secretRef", []string{"spec.notes[0].text"}},
		{"no parent given", apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "a"})), cloud.CodeInvalidInput, "parent", []string{"parentId"}},
		{"a parent that it has not", apitest.Alice, cluster(in(parent)), cloud.CodeInvalidInput, "parent", []string{"parentId"}},
		{"no such parent", apitest.Alice, child(&cloud.Resource{ID: "crs_" + strings.Repeat("0", 52)}, cloud.Spec{"name": "a"}), cloud.CodeNotFound, "", []string{"parentId"}},
		{"foreign parent", apitest.Alice, child(foreign, cloud.Spec{"name": "a"}), cloud.CodeNotFound, "", []string{"parentId"}},
		{"parent on another account", apitest.Alice, child(shared, cloud.Spec{"name": "a"}), cloud.CodeInvalidInput, "parent", []string{"parentId"}},
		{"parent that has ended", apitest.Alice, child(gone, cloud.Spec{"name": "a"}), cloud.CodeInvalidInput, "parent", []string{"parentId"}},
		{"identity taken", apitest.Alice, child(parent, cloud.Spec{"name": "taken"}), cloud.CodeConflict, "identity", nil},
		{"single taken", apitest.Alice, cluster(of(apitest.Firewall, cloud.Spec{}), in(parent), named("fw2")), cloud.CodeConflict, "identity", nil},
		{"name taken", apitest.Alice, cluster(func(in *intent.CreateRequest) { in.Name = "parent" }), cloud.CodeConflict, "name", nil},
		{"count quota", apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site2")), cloud.CodeQuotaExceeded, "", nil},
		{"capacity", apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": 5})), cloud.CodeQuotaExceeded, "", nil},
		{"offer suspended", apitest.Gavin, cluster(by("hooli"), on(apitest.PoolShared)), cloud.CodeAccessDenied, "offerSuspended", nil},
		{"region excluded", apitest.Peter, cluster(by("initech"), on(apitest.PoolShared), spec("region", "ams3")), cloud.CodeAccessDenied, "regionExcluded", nil},
		{"budget", apitest.Peter, cluster(by("initech"), on(apitest.PoolShared)), cloud.CodeBudgetExceeded, "", nil},
	}
	before, events := w.Count("resources"), w.Count("events")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Service.Create(context.Background(), c.by, c.in)
			e := apitest.Refused(t, err, c.code, c.reason, c.fields...)
			for _, other := range []string{foreign.ID, "theirs"} {
				text, err := json.Marshal(e.Details)
				require.NoError(t, err)
				if !strings.Contains(string(c.in.Spec.JSON())+c.in.ParentID, other) {
					require.NotContains(t, e.Message+string(text), other)
				}
			}
		})
	}
	require.Equal(t, before, w.Count("resources"), "a refusal leaves nothing behind")
	require.Equal(t, events, w.Count("events"))
	require.Zero(t, w.Count("quota_bookings"))
}

func TestCreateRefusalDetails(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) { f.MaxPerKind = ptr(int64(1)) })
	ctx := context.Background()
	r := create(t, w, apitest.Alice, cluster())
	_, err := w.Service.Create(ctx, apitest.Alice, cluster(named("second")))
	require.EqualValues(t, 1, apitest.Refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])

	user := create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(r), named("user")))
	_, err = w.Service.Create(ctx, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "app"}), in(r), named("again")))
	require.Equal(t, user.ID, apitest.Refused(t, err, cloud.CodeConflict, "identity").Details["resourceId"])

	_, err = w.Service.Create(ctx, apitest.Alice, cluster(on(apitest.PoolFree), spec("network", apitest.Network("gx")), named("net")))
	require.Equal(t, []string{apitest.Network("gx")}, apitest.Refused(t, err, cloud.CodeInvalidInput, "network").Details["networks"])

	_, err = w.Service.Create(ctx, apitest.Peter, cluster(by("initech"), on(apitest.PoolShared)))
	require.EqualValues(t, "100", apitest.Refused(t, err, cloud.CodeBudgetExceeded, "").Details["limit"])

	_, err = w.Service.Create(ctx, apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": 5}), named("gpu")))
	require.EqualValues(t, 8, apitest.Refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
}

// Each request breaks two rules; the one that is checked first is told.
func TestCreateChecksInOrder(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	parent := create(t, w, apitest.Alice, cluster(named("parent")))
	create(t, w, apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "taken"}), in(parent), named("user")))
	dead := spec("instances", []any{apitest.Instance("dead")})
	network := spec("network", apitest.Network("gx"))
	inClear := spec("token", "in clear")
	cases := []struct {
		name   string
		by     intent.Principal
		in     intent.CreateRequest
		code   cloud.Code
		reason string
	}{
		{"pool before decision", apitest.Rita, cluster(on("pool_" + strings.Repeat("9", 26))), cloud.CodeNotFound, ""},
		{"kind before decision", apitest.Rita, cluster(of("test.nothing", cloud.Spec{})), cloud.CodeUnsupported, ""},
		{"decision before preview", apitest.Rita, cluster(of(apitest.Agent, cloud.Spec{"x": 1}), on(apitest.PoolShared)), cloud.CodeAccessDenied, ""},
		{"preview before spec", apitest.Alice, cluster(of(apitest.Agent, cloud.Spec{"x": 1}), on(apitest.PoolShared)), cloud.CodeUnsupported, "preview"},
		{"spec before region", apitest.Alice, cluster(spec("region", "sgp1"), spec("size", 1)), cloud.CodeInvalidInput, ""},
		{"account-wide before instances", apitest.Alice, cluster(on(apitest.PoolShared), spec("vpc", "v"), dead), cloud.CodeInvalidInput, "accountWide"},
		{"instances before networks", apitest.Alice, cluster(dead, network), cloud.CodeInvalidInput, "instance"},
		{"networks before secrets", apitest.Alice, cluster(network, inClear), cloud.CodeInvalidInput, "network"},
		{"secrets before parent", apitest.Alice, cluster(inClear, in(parent)), cloud.CodeInvalidInput, "secretRef"},
		{"parent before name", apitest.Alice, cluster(in(parent), func(in *intent.CreateRequest) { in.Name = "parent" }), cloud.CodeInvalidInput, "parent"},
		{"identity before name", apitest.Alice, cluster(of(apitest.User, cloud.Spec{"name": "taken"}), in(parent), func(in *intent.CreateRequest) { in.Name = "user" }), cloud.CodeConflict, "identity"},
		{"offer before budget", apitest.Peter, cluster(by("initech"), on(apitest.PoolShared), spec("region", "ams3")), cloud.CodeAccessDenied, "regionExcluded"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Service.Create(context.Background(), c.by, c.in)
			apitest.Refused(t, err, c.code, c.reason)
		})
	}
}

func TestCreateWithoutSecretStore(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	w.Secrets = false
	_, err := w.Service.Create(context.Background(), apitest.Alice, cluster(spec("size", 1)))
	apitest.Refused(t, err, cloud.CodeUnsupported, "secretStore")
	create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"})))
}

func TestCreateOnTheOwnAccountMayReachAccountWideObjects(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	r := create(t, w, apitest.Alice, cluster(spec("vpc", "v"), spec("instances", []any{apitest.Instance("acme")})))
	require.Equal(t, "v", r.Spec.String("vpc"))
	create(t, w, apitest.Root, cluster(by("root"), on(apitest.PoolShared), spec("vpc", "v")))
}

func TestCreateIsDecidedOnTheRegionThatIsMeant(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Policies = append(f.Policies, platform.Policy{ID: "not-ams", Principals: []string{"acme/alice"}, Statements: []platform.Statement{{
			Effect: platform.Deny, Actions: []string{"*"}, Resources: []string{"*"},
			Condition: map[string]map[string]platform.Strings{"StringEquals": {"resource.region": {"ams3"}}},
		}}})
	})
	ctx := context.Background()
	require.Equal(t, "nyc3", create(t, w, apitest.Alice, cluster(spec("region", "NYC3"))).Region)
	for _, word := range []string{"ams3", "AMS3"} {
		_, err := w.Service.Create(ctx, apitest.Alice, cluster(named("x"), spec("region", word)))
		apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	}
}

func TestCreateBoundsTheSpecInBytes(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	base := len(`{"notes":[{"name":""}],"region":"nyc3","size":"small"}`)
	text := func(n int) func(in *intent.CreateRequest) {
		return spec("notes", []any{map[string]any{"name": strings.Repeat("é", n/2) + strings.Repeat("<", n%2)}})
	}
	create(t, w, apitest.Alice, cluster(text(cloud.MaxSpecBytes-base), named("fits")))
	_, err := w.Service.Create(context.Background(), apitest.Alice, cluster(text(cloud.MaxSpecBytes-base+1), named("over")))
	apitest.Refused(t, err, cloud.CodeInvalidInput, "", "spec")
}

func TestRepeatedCreateReturnsTheSame(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	request := func(text string) intent.CreateRequest {
		s, err := cloud.ParseSpec([]byte(text))
		require.NoError(t, err)
		return cluster(func(in *intent.CreateRequest) { in.Spec = s })
	}
	first := create(t, w, apitest.Alice, request(`{"region":"nyc3","size":"small","nodes":2,"window":{"day":"monday","hour":3}}`))
	again := create(t, w, apitest.Alice, request(` {"window":{"hour":3e0,"day":"m\u006fnday"},"nodes":2.0,"size":"small","region":"nyc3"}`))
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, []string{"created"}, w.Events("acme", first.ID))

	changes := map[string]intent.CreateRequest{
		"spec":        request(`{"region":"nyc3","size":"small","nodes":3,"window":{"day":"monday","hour":3}}`),
		"name":        cluster(func(in *intent.CreateRequest) { in.Spec, in.Name = first.Spec, "other" }),
		"description": cluster(func(in *intent.CreateRequest) { in.Spec, in.Description = first.Spec, "text" }),
		"project":     cluster(func(in *intent.CreateRequest) { in.Spec, in.ProjectID = first.Spec, apitest.ProjectWebs }),
		"pool":        cluster(on(apitest.PoolFree), func(in *intent.CreateRequest) { in.Spec = first.Spec }),
		"kind":        cluster(of(apitest.Site, cloud.Spec{"region": "nyc"})),
	}
	for name, in := range changes {
		_, err := w.Service.Create(ctx, apitest.Alice, in)
		require.Error(t, err, name)
		apitest.Refused(t, err, cloud.CodeConflict, "idempotencyKey")
	}
	_, err := w.Service.Adopt(ctx, apitest.Alice, intent.AdoptRequest{TenantID: "acme", PoolID: apitest.PoolAcme, Kind: apitest.Cluster, ProviderID: "p", Name: "orders", IdempotencyKey: "k1"})
	apitest.Refused(t, err, cloud.CodeConflict, "idempotencyKey")

	// Another caller's key is another resource.
	other := create(t, w, apitest.Dora, cluster(func(in *intent.CreateRequest) { in.Name = "doras" }))
	require.NotEqual(t, first.ID, other.ID)

	// What would be refused today is no matter for what was done.
	w.Secrets = false
	w.Apply(func(f *platform.File) {
		for i := range f.Pools {
			f.Pools[i].Withdrawn = f.Pools[i].ID == apitest.PoolAcme
		}
	})
	require.Equal(t, first.ID, create(t, w, apitest.Alice, request(`{"region":"nyc3","size":"small","nodes":2,"window":{"day":"monday","hour":3}}`)).ID)
	_, err = w.Service.Create(ctx, apitest.Alice, cluster(named("new")))
	apitest.Refused(t, err, cloud.CodeNotFound, "")

	// For ever: also when it is gone.
	w.Secrets = true
	ended := w.Ended(first)
	again = create(t, w, apitest.Alice, request(`{"region":"nyc3","size":"small","nodes":2,"window":{"day":"monday","hour":3}}`))
	require.Equal(t, ended.ID, again.ID)
	require.Equal(t, cloud.StateDeleted, again.State)
}

func TestNamesAreFreeAgainAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	first := create(t, w, apitest.Alice, cluster())
	w.Ended(first)
	second := create(t, w, apitest.Alice, cluster(func(in *intent.CreateRequest) { in.IdempotencyKey = "k2" }))
	require.NotEqual(t, first.ID, second.ID)
	// The same name of another kind or tenant is free at any time.
	create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), func(in *intent.CreateRequest) { in.IdempotencyKey = "k3" }))
	create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared)))
}

func ptr[T any](v T) *T { return &v }
