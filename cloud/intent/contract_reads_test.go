package intent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// What an entry of kinds says of a kind, field by field.
func TestEntriesOfKinds(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.GPU, Max: 4})
		f.MaxPerKind = ptr(int64(7))
	})
	entries, err := w.Service.Kinds(context.Background(), apitest.Alice, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	byKind := map[string]map[string]any{}
	for _, e := range entries {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		var m map[string]any
		require.NoError(t, json.Unmarshal(raw, &m))
		byKind[e.Kind] = m
	}
	c, user := byKind[apitest.Cluster], byKind[apitest.User]
	require.Equal(t, "data", c["family"])
	require.Contains(t, c["spec"], "properties")
	require.Equal(t, []any{map[string]any{"name": "host", "description": "Host."}}, c["outputs"])
	require.Equal(t, []any{map[string]any{"name": "password", "description": "Password."}}, c["secretOutputs"])
	require.Equal(t, []any{"test.cluster.nodes"}, c["meters"])
	require.Equal(t, true, c["regional"])
	require.NotContains(t, c, "parent")
	require.Equal(t, false, c["preview"])
	require.EqualValues(t, 7, c["quota"], "the platform's own cap")
	require.Equal(t, []any{"rights"}, user["updatable"])
	require.Equal(t, false, user["regional"])
	require.Equal(t, apitest.Cluster, user["parent"])
	require.Equal(t, []any{}, user["outputs"])
	require.Equal(t, []any{}, user["meters"])
	require.Equal(t, true, byKind[apitest.Agent]["preview"])
	require.EqualValues(t, 4, byKind[apitest.GPU]["quota"])
}

// watched lets a test look at the database whenever the provider is asked.
type watched struct {
	intent.Accounts
	asked func(what string)
}

func (a watched) Open(ctx context.Context, id string) (cloud.ProviderResources, error) {
	r, err := a.Accounts.Open(ctx, id)
	return watchedResources{r, a.asked}, err
}

type watchedResources struct {
	cloud.ProviderResources
	asked func(what string)
}

func (r watchedResources) Catalog(ctx context.Context, on string) ([]cloud.CatalogItem, error) {
	r.asked("catalog")
	return r.ProviderResources.Catalog(ctx, on)
}

func (r watchedResources) Signals(ctx context.Context) ([]cloud.Signal, error) {
	r.asked("signals")
	return r.ProviderResources.Signals(ctx)
}

func (r watchedResources) Kind(name string) (cloud.Kind, bool) {
	k, ok := r.ProviderResources.Kind(name)
	if name == apitest.GPU {
		return watchedGPU{watchedKind{k, r.asked}, k.(cloud.Booker)}, ok
	}
	return watchedKind{k, r.asked}, ok
}

type watchedKind struct {
	cloud.Kind
	asked func(what string)
}

func (k watchedKind) List(ctx context.Context, s cloud.Scope) ([]*cloud.Observed, error) {
	k.asked("discover")
	return k.Kind.List(ctx, s)
}

func (k watchedKind) Observe(ctx context.Context, r cloud.Request) (*cloud.Observed, error) {
	k.asked("adopt")
	return k.Kind.Observe(ctx, r)
}

type watchedGPU struct {
	watchedKind
	booker cloud.Booker
}

func (k watchedGPU) Booking(ctx context.Context, s cloud.Spec) (map[string]int64, error) {
	k.asked("booking")
	return k.booker.Booking(ctx, s)
}

// However long the provider takes, no transaction and no lock waits for it.
func TestNoTransactionIsOpenWhileTheProviderIsAsked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t, withPreviews)
	asked := []string{}
	w.Service.Accounts = watched{w.Provider, func(what string) {
		asked = append(asked, what)
		require.Zero(t, pgtest.Value[int](w.DB, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'`), what)
	}}
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "free", "nyc3", cloud.Owner{}))
	in := pool("acme", apitest.PoolAcme)
	_, err := w.Service.Catalog(ctx, apitest.Alice, in)
	require.NoError(t, err)
	_, err = w.Service.Signals(ctx, apitest.Alice, in)
	require.NoError(t, err)
	in.Kind = apitest.Cluster
	_, err = w.Service.Discover(ctx, apitest.Alice, in)
	require.NoError(t, err)
	_, err = w.Service.Adopt(ctx, apitest.Alice, adoption("free", "x"))
	require.NoError(t, err)
	gpu := create(t, w, apitest.Alice, cluster(of(apitest.GPU, cloud.Spec{"replicas": json.Number("1")}), named("gpu")))
	update(t, w, apitest.Alice, patch(t, gpu, `{"replicas":2}`))
	require.Equal(t, []string{"catalog", "signals", "discover", "adopt", "booking", "booking"}, asked)
}

// The answer of the account serves every tenant and process for 30 seconds, and
// not for 31.
func TestSignalsAreAskedForEveryThirtySeconds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t, withPreviews)
	another := *w.Service
	another.Answers = w.Another()
	ask := func(s *intent.Service, p intent.Principal) []cloud.Signal {
		t.Helper()
		list, err := s.Signals(ctx, p, pool(p.Tenant, apitest.PoolShared))
		require.NoError(t, err)
		return list
	}
	aged := func(seconds int) { // the answer is so much older
		w.Exec(fmt.Sprintf("UPDATE provider_answers SET at = at - interval '%d seconds'", seconds))
	}
	require.Empty(t, ask(w.Service, apitest.Root))
	w.Provider.Raise(apitest.AccountShared, raised("new", "x", 5))
	aged(25)
	require.Empty(t, ask(&another, apitest.Root))
	require.Empty(t, ask(&another, apitest.Bob))
	require.Equal(t, 1, w.Provider.Calls())
	aged(6)
	require.Len(t, ask(&another, apitest.Root), 1)
	require.Equal(t, 2, w.Provider.Calls())
	// Another account's answer is its own.
	_, err := w.Service.Signals(ctx, apitest.Alice, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Equal(t, 3, w.Provider.Calls())
}

// The tenant that owns the account sees every signal on it, as root does on the
// platform's.
func TestSignalsOnTheOwnAccount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t)
	r := w.Ready(create(t, w, apitest.Alice, cluster()), "a-1")
	full := raised("mine", "a-1", 7)
	full.Detail = "of a run"
	w.Provider.Raise(apitest.AccountAcme, full, raised("nobody's", "x", 8))
	list, err := w.Service.Signals(ctx, apitest.Alice, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Equal(t, []string{"nobody's", "mine"}, ids(list))
	raw, err := json.Marshal(list[1])
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"mine","severity":"warning","title":"title mine","detail":"of a run","at":7,"kind":"test.cluster","providerId":"a-1","resourceId":"`+r.ID+`"}`, string(raw))
	raw, err = json.Marshal(list[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"nobody's","severity":"warning","title":"title nobody's","at":8,"kind":"test.cluster","providerId":"x"}`, string(raw))
}

// A provider that nobody has a plug for serves no call about a pool.
func TestAProviderWithoutCloudResources(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t)
	w.Service.Accounts = nothing{w.Provider}
	in := pool("acme", apitest.PoolAcme)
	in.Kind = apitest.Cluster
	_, kinds := w.Service.Kinds(ctx, apitest.Alice, in)
	_, catalog := w.Service.Catalog(ctx, apitest.Alice, in)
	_, signals := w.Service.Signals(ctx, apitest.Alice, in)
	_, discover := w.Service.Discover(ctx, apitest.Alice, in)
	_, created := w.Service.Create(ctx, apitest.Alice, cluster())
	_, adopted := w.Service.Adopt(ctx, apitest.Alice, adoption("p", "x"))
	for _, err := range []error{kinds, catalog, signals, discover, created, adopted} {
		apitest.Refused(t, err, cloud.CodeUnsupported, "")
	}
}

type nothing struct{ intent.Accounts }

func (nothing) Manifests(string) []*cloud.Manifest { return nil }

// A caller whose policy looks at attributes gets what they allow, however a
// list is narrowed, and no hint of the rest (D27).
func TestListsOfACallerWithAnAttributePolicy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := apitest.New(t)
	data := create(t, w, apitest.Alice, cluster(named("data")))
	create(t, w, apitest.Alice, cluster(of(apitest.Site, cloud.Spec{"region": "nyc"}), named("site")))
	for family, want := range map[cloud.Family][]string{"": {data.ID}, cloud.FamilyData: {data.ID}, "platform": {}} {
		page, err := w.Service.List(ctx, apitest.Dora, intent.ListRequest{TenantID: "acme", Family: family})
		require.NoError(t, err)
		got := []string{}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		require.Equal(t, want, got, family)
		require.False(t, page.Truncated)
	}
	entries, err := w.Service.Kinds(ctx, apitest.Dora, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(entries, func(e intent.KindEntry) bool { return e.Family != cloud.FamilyData }))
}

// The numbers of the contract; other tests use them by name.
func TestBoundsOfTheContract(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1000, intent.MaxCatalog)
	require.Equal(t, 500, intent.MaxSignals)
	require.Equal(t, 500, intent.MaxSignalDetail)
	require.Equal(t, 500, intent.MaxDiscover)
	require.Equal(t, 500, intent.MaxList)
	require.Equal(t, 65536, cloud.MaxSpecBytes)
	require.Equal(t, 100, cloud.MaxCertificates)
	require.Equal(t, 2, cloud.MaxRepairs, "the third repair in a row stops (D5)")
}
