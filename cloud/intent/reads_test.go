package intent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api/apitest"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
)

func pool(tenant, pool string) intent.PoolRequest {
	return intent.PoolRequest{TenantID: tenant, PoolID: pool}
}

func kindsOf(entries []intent.KindEntry) []string {
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Kind)
	}
	return names
}

func TestKinds(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, func(f *platform.File) {
		f.Quotas = append(f.Quotas, platform.Quota{Tenant: "acme", Kind: apitest.Cluster, Max: 3})
	})
	ctx := context.Background()
	entries, err := w.Service.Kinds(ctx, apitest.Alice, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Equal(t, []string{apitest.Cluster, apitest.User, apitest.Firewall, apitest.Site, apitest.GPU, apitest.Agent, apitest.Hidden}, kindsOf(entries))
	cluster, user, agent := entries[0], entries[1], entries[5]
	require.EqualValues(t, 3, cluster.Quota)
	require.EqualValues(t, 20, user.Quota)
	require.Equal(t, []string{"instances", "network", "nodes", "notes", "size", "token", "vpc", "window"}, cluster.Updatable)
	require.True(t, cluster.Regional && cluster.Available && cluster.Adoptable && cluster.Releasable)
	require.Equal(t, apitest.Cluster, user.Parent)
	require.NotNil(t, user.Meters)
	require.True(t, agent.Preview && agent.Available)
	require.JSONEq(t, string(apitest.ManifestOf(apitest.Cluster).Spec), string(cluster.Spec))

	entries, err = w.Service.Kinds(ctx, apitest.Bob, pool("globex", apitest.PoolShared))
	require.NoError(t, err)
	require.False(t, entries[5].Available, "no previews on that account")

	entries, err = w.Service.Kinds(ctx, apitest.Dora, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Equal(t, []string{apitest.Cluster, apitest.User, apitest.Firewall}, kindsOf(entries), "what the policy allows")
}

func TestReadsAreRefused(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	reads := map[string]func(p intent.Principal, in intent.PoolRequest) error{
		"kinds": func(p intent.Principal, in intent.PoolRequest) error {
			_, err := w.Service.Kinds(context.Background(), p, in)
			return err
		},
		"catalog": func(p intent.Principal, in intent.PoolRequest) error {
			_, err := w.Service.Catalog(context.Background(), p, in)
			return err
		},
		"signals": func(p intent.Principal, in intent.PoolRequest) error {
			_, err := w.Service.Signals(context.Background(), p, in)
			return err
		},
		"discover": func(p intent.Principal, in intent.PoolRequest) error {
			in.Kind = apitest.Cluster
			_, err := w.Service.Discover(context.Background(), p, in)
			return err
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			apitest.Refused(t, read(apitest.Alice, pool("globex", apitest.PoolShared)), cloud.CodeAccessDenied, "")
			apitest.Refused(t, read(apitest.Bob, pool("globex", apitest.PoolAcme)), cloud.CodeNotFound, "")
			apitest.Refused(t, read(apitest.Alice, pool("acme", apitest.PoolOther)), cloud.CodeUnsupported, "")
			apitest.Refused(t, read(apitest.Nobody, pool("acme", apitest.PoolAcme)), cloud.CodeAccessDenied, "")
		})
	}
	// Only kinds, list and discover are for callers whose policy depends on attributes.
	apitest.Refused(t, reads["catalog"](apitest.Dora, pool("acme", apitest.PoolAcme)), cloud.CodeAccessDenied, "")
	apitest.Refused(t, reads["signals"](apitest.Dora, pool("acme", apitest.PoolAcme)), cloud.CodeAccessDenied, "")
}

func TestGetAndList(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	a := create(t, w, apitest.Alice, cluster(named("a"), func(in *intent.CreateRequest) { in.ProjectID = apitest.ProjectWebs }))
	b := create(t, w, apitest.Alice, cluster(named("b"), of(apitest.Site, cloud.Spec{"region": "nyc"}), on(apitest.PoolShared)))
	c := w.Ended(create(t, w, apitest.Alice, cluster(named("c"))))
	theirs := create(t, w, apitest.Bob, cluster(by("globex"), on(apitest.PoolShared)))

	got, err := w.Service.Get(ctx, apitest.Rita, intent.ResourceRequest{TenantID: "acme", ResourceID: a.ID})
	require.NoError(t, err)
	require.Equal(t, a, got)
	_, err = w.Service.Get(ctx, apitest.Alice, intent.ResourceRequest{TenantID: "globex", ResourceID: theirs.ID})
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	_, foreign := w.Service.Get(ctx, apitest.Alice, intent.ResourceRequest{TenantID: "acme", ResourceID: theirs.ID})
	_, nothing := w.Service.Get(ctx, apitest.Alice, intent.ResourceRequest{TenantID: "acme", ResourceID: "crs_" + strings.Repeat("0", 52)})
	apitest.Refused(t, foreign, cloud.CodeNotFound, "")
	require.Equal(t, nothing, foreign, "exactly like an id that nobody has")
	_, err = w.Service.Get(ctx, apitest.Dora, intent.ResourceRequest{TenantID: "acme", ResourceID: b.ID})
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")

	for name, l := range map[string]struct {
		by   intent.Principal
		in   intent.ListRequest
		want []*cloud.Resource
	}{
		"all":      {apitest.Alice, intent.ListRequest{TenantID: "acme"}, []*cloud.Resource{a, b}},
		"ended":    {apitest.Alice, intent.ListRequest{TenantID: "acme", IncludeDeleted: true}, []*cloud.Resource{a, b, c}},
		"pool":     {apitest.Alice, intent.ListRequest{TenantID: "acme", PoolID: apitest.PoolShared}, []*cloud.Resource{b}},
		"project":  {apitest.Alice, intent.ListRequest{TenantID: "acme", ProjectID: apitest.ProjectWebs}, []*cloud.Resource{a}},
		"kind":     {apitest.Alice, intent.ListRequest{TenantID: "acme", Kind: apitest.Site}, []*cloud.Resource{b}},
		"family":   {apitest.Alice, intent.ListRequest{TenantID: "acme", Family: cloud.FamilyData}, []*cloud.Resource{a}},
		"policy":   {apitest.Dora, intent.ListRequest{TenantID: "acme", IncludeDeleted: true}, []*cloud.Resource{a, c}},
		"operator": {apitest.Root, intent.ListRequest{TenantID: "globex"}, []*cloud.Resource{theirs}},
		"none":     {apitest.Bob, intent.ListRequest{TenantID: "globex", Kind: apitest.Site}, []*cloud.Resource{}},
	} {
		page, err := w.Service.List(ctx, l.by, l.in)
		require.NoError(t, err, name)
		require.Equal(t, l.want, page.Items, name)
		require.False(t, page.Truncated, name)
	}
	_, err = w.Service.List(ctx, apitest.Alice, intent.ListRequest{TenantID: "globex"})
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	_, err = w.Service.List(ctx, apitest.Nobody, intent.ListRequest{TenantID: "acme"})
	apitest.Refused(t, err, cloud.CodeAccessDenied, "")
	_, err = w.Service.List(ctx, apitest.Alice, intent.ListRequest{TenantID: "acme", After: theirs.ID})
	apitest.Refused(t, err, cloud.CodeInvalidInput, "", "after")
}

func TestListGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	first := create(t, w, apitest.Alice, cluster())
	create(t, w, apitest.Alice, cluster(named("site"), of(apitest.Site, cloud.Spec{"region": "nyc"})))
	// Copies of the first two, as many as make 1,202; every second is a site.
	w.Exec(`INSERT INTO resources SELECT (jsonb_populate_record(r, jsonb_build_object(
		'id', r.id || n, 'name', r.name || n, 'created_at', r.created_at + n * interval '1 second'))).*
		FROM resources r, generate_series(1, 600) n`)
	seen := map[string]bool{}
	var sizes []int
	for in := (intent.ListRequest{TenantID: "acme"}); ; {
		page, err := w.Service.List(ctx, apitest.Dora, in)
		require.NoError(t, err)
		for _, r := range page.Items {
			require.Equal(t, apitest.Cluster, r.Kind)
			require.False(t, seen[r.ID])
			seen[r.ID] = true
		}
		sizes = append(sizes, len(page.Items))
		if !page.Truncated {
			require.Empty(t, page.Next)
			break
		}
		in.After = page.Next
	}
	require.Equal(t, []int{500, 101}, sizes)
	require.True(t, seen[first.ID])
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	var items []cloud.CatalogItem
	for i := range 600 {
		items = append(items, cloud.CatalogItem{Slug: fmt.Sprintf("app-%d", i), InstallsOn: "instance"}, cloud.CatalogItem{Slug: fmt.Sprintf("addon-%d", i), InstallsOn: "kubernetes"})
	}
	w.Provider.Offer(items...)
	list, err := w.Service.Catalog(ctx, apitest.Rita, pool("acme", apitest.PoolAcme))
	require.NoError(t, err)
	require.Len(t, list, intent.MaxCatalog)
	in := pool("acme", apitest.PoolAcme)
	in.InstallsOn = "kubernetes"
	list, err = w.Service.Catalog(ctx, apitest.Rita, in)
	require.NoError(t, err)
	require.Len(t, list, 600)
	w.Provider.NoCatalog = true
	_, err = w.Service.Catalog(ctx, apitest.Rita, in)
	apitest.Refused(t, err, cloud.CodeUnsupported, "")
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	ctx := context.Background()
	ask := func(p intent.Principal, tenant, poolID, kind string) ([]intent.Discovered, error) {
		in := pool(tenant, poolID)
		in.Kind = kind
		return w.Service.Discover(ctx, p, in)
	}
	mine := w.Ready(create(t, w, apitest.Alice, cluster()), "mine")
	key := cloud.LabelKey(mine.ID)
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "mine", "nyc3", cloud.Owner{ResourceKey: key, Deployment: "dev"}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "other", "nyc3", cloud.Owner{ResourceKey: key, Deployment: "prod"}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, "free", "ams3", cloud.Owner{}))
	w.Provider.Put(apitest.AccountAcme, apitest.Object{Kind: apitest.Cluster, Observed: cloud.Observed{ProviderID: "gone", Phase: cloud.PhaseGone}})
	found, err := ask(apitest.Rita, "acme", apitest.PoolAcme, apitest.Cluster)
	require.NoError(t, err)
	require.Equal(t, []intent.Discovered{
		{ProviderID: "mine", Name: "name-of-mine", Region: "nyc3", Spec: cloud.Spec{"region": "nyc3", "size": "small"}, ManagedBy: "this", ResourceID: mine.ID},
		{ProviderID: "other", Name: "name-of-other", Region: "nyc3", Spec: cloud.Spec{"region": "nyc3", "size": "small"}, ManagedBy: "other"},
		{ProviderID: "free", Name: "name-of-free", Region: "ams3", Spec: cloud.Spec{"region": "ams3", "size": "small"}},
	}, found)

	// Owned by name: what the record says.
	site := w.Ready(create(t, w, apitest.Alice, cluster(named("site"), of(apitest.Site, cloud.Spec{"region": "nyc"}))), "s-1")
	w.Provider.Put(apitest.AccountAcme, object(apitest.Site, "s-1", "nyc", cloud.Owner{ResourceKey: cloud.LabelKey(site.ID)}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Site, "s-2", "nyc", cloud.Owner{}))
	w.Provider.Put(apitest.AccountAcme, object(apitest.Site, "s-3", "nyc", cloud.Owner{ResourceKey: key}))
	found, err = ask(apitest.Alice, "acme", apitest.PoolAcme, apitest.Site)
	require.NoError(t, err)
	require.Equal(t, []string{"this", "", "other"}, []string{found[0].ManagedBy, found[1].ManagedBy, found[2].ManagedBy})
	require.Equal(t, site.ID, found[0].ResourceID)
	found, err = ask(apitest.Dora, "acme", apitest.PoolAcme, apitest.Site)
	require.NoError(t, err)
	require.Empty(t, found, "none that the policy allows")

	// What lives in a parent is listed parent by parent.
	user := w.Ready(create(t, w, apitest.Alice, cluster(named("user"), of(apitest.User, cloud.Spec{"name": "app"}), in(mine))), "app")
	for _, parent := range []string{"mine", "free"} {
		w.Provider.Put(apitest.AccountAcme, apitest.Object{Kind: apitest.User, Parent: parent, Observed: cloud.Observed{ProviderID: "app", Name: "app"}})
	}
	found, err = ask(apitest.Alice, "acme", apitest.PoolAcme, apitest.User)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []string{user.ID, ""}, []string{found[0].ResourceID, found[1].ResourceID}, "the same name in another cluster is another object")

	_, err = ask(apitest.Alice, "acme", apitest.PoolShared, apitest.Cluster)
	apitest.Refused(t, err, cloud.CodeAccessDenied, "notAccountOwner")
	_, err = ask(apitest.Root, "root", apitest.PoolShared, apitest.Agent)
	apitest.Refused(t, err, cloud.CodeUnsupported, "preview")
	_, err = ask(apitest.Alice, "acme", apitest.PoolAcme, apitest.Hidden)
	apitest.Refused(t, err, cloud.CodeUnsupported, "")
	_, err = ask(apitest.Alice, "acme", apitest.PoolAcme, "test.nothing")
	apitest.Refused(t, err, cloud.CodeUnsupported, "")
	w.Provider.Fail(&cloud.ProviderError{Class: cloud.ClassUnreachable, Message: "HTTP 401"})
	_, err = ask(apitest.Alice, "acme", apitest.PoolAcme, apitest.Cluster)
	apitest.Refused(t, err, cloud.CodeProviderError, "")
}

func TestDiscoverIsBounded(t *testing.T) {
	t.Parallel()
	w := apitest.New(t)
	for i := range 510 {
		w.Provider.Put(apitest.AccountAcme, object(apitest.Cluster, fmt.Sprint("o-", i), "nyc3", cloud.Owner{}))
	}
	in := pool("acme", apitest.PoolAcme)
	in.Kind = apitest.Cluster
	found, err := w.Service.Discover(context.Background(), apitest.Alice, in)
	require.NoError(t, err)
	require.Len(t, found, intent.MaxDiscover)
}
