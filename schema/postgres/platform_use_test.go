package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// used is a platform with one live cluster of acme on its own pool, in a
// project, that names an instance and a network.
func used(t *testing.T) (*pgtest.DB, *cloud.Resource) {
	t.Helper()
	db := pgtest.New(t)
	apply(t, db.Store)
	r := db.Create(pgtest.Request(pgtest.KindCluster, "main",
		pgtest.With("network", pgtest.NetworkID("acme")), pgtest.With("instances", []any{pgtest.InstanceID("acme")}),
		func(n *intent.NewResource) { n.Resource.ProjectID = pgtest.ProjectWebs }))
	return db, r
}

const acmePool = "  - {id: pool_0000000000000000000000acme, type: provider, account: acct_acme, billing: platform-fee}\n"

func TestWhatLiveResourcesUseIsNotDropped(t *testing.T) {
	t.Parallel()
	const (
		capacity = "capacity:\n  - {tenant: acme, pool: pool_0000000000000000000000acme, name: gpu, amount: 8}\n"
		project  = "projects:\n  - {id: prj_0000000000000000000000webs, tenant: acme}\n"
		instance = "instances:\n  - {id: ins_0000000000000000000000acme, tenant: acme, account: acct_acme, providerId: \"7\"}\n"
		network  = "networks:\n  - {id: net_0000000000000000000000acme, tenant: acme, account: acct_acme, vpcs: {nyc3: vpc-1}}\n"
		account  = "  - {id: acct_acme, provider: digitalocean, owner: acme, token: {value: CANARY-acme}, regions: [nyc3, atl1]}\n"
	)
	db, r := used(t)
	for name, edits := range map[string][]string{
		"drop pool":            {acmePool, "", capacity, ""},
		"drop project":         {project, ""},
		"drop instance":        {instance, ""},
		"drop network":         {network, ""},
		"drop account":         {account, "", acmePool, "", capacity, "", instance, "", network, ""},
		"rename deployment":    {"deployment: test", "deployment: other"},
		"move pool":            {"account: acct_acme, billing", "account: acct_shared, billing"},
		"move account":         {"owner: acme, token", "owner: globex, token"},
		"change provider":      {"acct_acme, provider: digitalocean", "acct_acme, provider: aws"},
		"give project away":    {"webs, tenant: acme", "webs, tenant: globex"},
		"give instance away":   {"ins_0000000000000000000000acme, tenant: acme", "ins_0000000000000000000000acme, tenant: globex"},
		"change instance's id": {`providerId: "7"`, `providerId: "8"`},
	} {
		t.Run(name, func(t *testing.T) {
			before := db.Dump()
			_, err := db.Apply(context.Background(), parse(t, edits...), postgres.ApplyOptions{})
			e := cloud.AsError(err)
			require.NotNil(t, e)
			require.Equal(t, cloud.CodeInvalidState, e.Code, err)
			require.Contains(t, e.Message, r.ID, "the refusal says what uses it")
			require.NotEmpty(t, e.Details["uses"])
			require.Equal(t, before, db.Dump(), "a refused apply leaves nothing")
		})
	}
}

func TestWithdrawnPoolTakesNothingNewAndKeepsWhatLives(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, r := used(t)
	apply(t, db.Store, "billing: platform-fee", "billing: platform-fee, withdrawn: true")
	_, err := db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "second"))
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	pool, err := db.Store.Pool(ctx, "acme", r.PoolID)
	require.NoError(t, err, "updates of what lives there still ask for it")
	require.True(t, pool.Withdrawn)
	_, err = db.AccountAccess(ctx, r.AccountID)
	require.NoError(t, err)

	apply(t, db.Store)
	db.Create(pgtest.Request(pgtest.KindCluster, "second"))
}

func TestOfferTakenBackKeepsWhatLives(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	apply(t, db.Store)
	on := pgtest.On("acme", pgtest.PoolShared, pgtest.AccountShared)
	db.Create(pgtest.Request(pgtest.KindCluster, "main", on))
	apply(t, db.Store, "offers:\n  - {tenant: acme, pool: pool_00000000000000000000shared}\n", "")
	_, err := db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "second", on))
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	pool, err := db.Store.Pool(ctx, "acme", pgtest.PoolShared)
	require.NoError(t, err)
	require.True(t, pool.Withdrawn)
	_, err = db.Store.Pool(ctx, "globex", pgtest.PoolShared)
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
}

func TestWhatOnlyEndedResourcesUsedIsOutOfReach(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, r := used(t)
	db.Exec("UPDATE resources SET state = 'deleted', intent = 'delete', ended_at = now() WHERE id = $1", r.ID)
	const gone = `
development: true
deployment: other
tenants: [{id: root}]
`
	f := mustParse(t, gone)
	changes, err := db.Apply(ctx, f, postgres.ApplyOptions{})
	require.NoError(t, err)
	require.Contains(t, changes, "drop tenant acme")
	require.Contains(t, changes, "rename deployment test to other")
	changes, err = db.Apply(ctx, f, postgres.ApplyOptions{})
	require.NoError(t, err)
	require.Empty(t, changes)

	_, err = db.Store.Pool(ctx, "acme", r.PoolID)
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	exists, err := db.ProjectExists(ctx, "acme", pgtest.ProjectWebs)
	require.NoError(t, err)
	require.False(t, exists)
	_, err = db.AccountAccess(ctx, r.AccountID)
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	require.Equal(t, 0, pgtest.Value[int](db, "SELECT count(*)::int FROM provider_accounts WHERE num_nonnulls(token_sealed, token_source) > 0"),
		"the token of a dropped account is gone")
	declared, err := db.TenantDeclared(ctx, "acme")
	require.NoError(t, err)
	require.False(t, declared)
	accounts, err := db.SweepAccounts(ctx)
	require.NoError(t, err)
	require.Empty(t, accounts)
	_, err = db.Resource(ctx, "acme", r.ID)
	require.NoError(t, err, "history stays")

	apply(t, db.Store)
	_, err = db.Store.Pool(ctx, "acme", r.PoolID)
	require.NoError(t, err, "declared again, it is back")
}

func TestACreateAndADropNeverPassEachOther(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	drop := parse(t, acmePool, "", "capacity:\n  - {tenant: acme, pool: pool_0000000000000000000000acme, name: gpu, amount: 8}\n", "")
	for i := range 15 {
		apply(t, db.Store)
		var inserted, dropped error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, inserted = db.Insert(ctx, pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i)))
		})
		wg.Go(func() { _, dropped = db.Apply(ctx, drop, postgres.ApplyOptions{}) })
		wg.Wait()
		if inserted == nil {
			require.Equal(t, cloud.CodeInvalidState, cloud.AsError(dropped).Code)
		} else {
			require.NoError(t, dropped)
			require.Equal(t, cloud.CodeNotFound, cloud.AsError(inserted).Code, inserted)
		}
		db.Exec("UPDATE resources SET state = 'deleted', intent = 'delete', ended_at = now() WHERE ended_at IS NULL")
	}
}
