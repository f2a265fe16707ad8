package postgres_test

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// base is the development platform as text, which tests edit.
const base = `
development: true
deployment: test
tenants: [{id: root}, {id: acme}, {id: globex}]
principals:
  - {tenant: acme, user: alice, token: t-alice}
policies:
  - {id: all, principals: ["*"], statements: [{effect: allow, actions: ["*"], resources: ["*"]}]}
projects:
  - {id: prj_0000000000000000000000webs, tenant: acme}
accounts:
  - {id: acct_shared, provider: digitalocean, owner: root, token: {value: CANARY-shared}, regions: [nyc3, ams3]}
  - {id: acct_acme, provider: digitalocean, owner: acme, token: {value: CANARY-acme}, regions: [nyc3, atl1]}
pools:
  - {id: pool_00000000000000000000shared, type: provider, account: acct_shared}
  - {id: pool_0000000000000000000000acme, type: provider, account: acct_acme, billing: platform-fee}
offers:
  - {tenant: acme, pool: pool_00000000000000000000shared}
quotas:
  - {tenant: acme, kind: do.app, max: 3}
capacity:
  - {tenant: acme, pool: pool_0000000000000000000000acme, name: gpu, amount: 8}
budgets:
  - {tenant: acme, id: monthly, max: 100.50}
instances:
  - {id: ins_0000000000000000000000acme, tenant: acme, account: acct_acme, providerId: "7"}
networks:
  - {id: net_0000000000000000000000acme, tenant: acme, account: acct_acme, vpcs: {nyc3: vpc-1}}
daemons:
  - {kinds: ["db.*"], url: "http://127.0.0.1:1", token: {value: CANARY-daemon}}
  - {kinds: ["*"], url: "http://127.0.0.1:2"}
subscribers:
  - {id: hook, tenant: acme, url: "http://127.0.0.1:3", secret: {value: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}}
kindMeters: [do.app.builds]
`

func parse(t *testing.T, edits ...string) *platform.File {
	t.Helper()
	text := base
	for i := 0; i+1 < len(edits); i += 2 {
		require.Contains(t, text, edits[i])
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	f, err := platform.Parse([]byte(text))
	require.NoError(t, err)
	return f
}

func mustParse(t *testing.T, text string) *platform.File {
	t.Helper()
	f, err := platform.Parse([]byte(text))
	require.NoError(t, err)
	return f
}

func apply(t *testing.T, s *postgres.Store, edits ...string) postgres.Changes {
	t.Helper()
	changes, err := s.Apply(context.Background(), parse(t, edits...), postgres.ApplyOptions{})
	require.NoError(t, err)
	return changes
}

func TestApplyIsIdempotent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	changes := apply(t, db.Store)
	require.Contains(t, changes, "add deployment test")
	require.Contains(t, changes, "add pool pool_00000000000000000000shared")
	revision, err := db.PlatformRevision(ctx)
	require.NoError(t, err)

	require.Empty(t, apply(t, db.Store), "the same file changes nothing")
	again, err := db.PlatformRevision(ctx)
	require.NoError(t, err)
	require.Equal(t, revision, again)
	require.NotContains(t, db.Dump(), "CANARY", "tokens are sealed")
	require.NotContains(t, db.Dump(), "t-alice", "callers' tokens are digests")

	trail, err := db.AuditTrail(ctx, postgres.AuditFilter{Action: "platform:apply"}, 0, 10)
	require.NoError(t, err)
	require.Len(t, trail, 1)
	require.Equal(t, cloud.ActorOperator, trail[0].Actor)
}

func TestDevelopmentPlatformApplies(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t)
	f, err := platform.Development("http://127.0.0.1:9")
	require.NoError(t, err)
	_, err = s.Apply(context.Background(), f, postgres.ApplyOptions{})
	require.NoError(t, err)
	changes, err := s.Apply(context.Background(), f, postgres.ApplyOptions{})
	require.NoError(t, err)
	require.Empty(t, changes)
	a, err := s.AccountAccess(context.Background(), "acct_acme")
	require.NoError(t, err)
	require.Equal(t, "dop_v1_acme", a.Token.Reveal())
	require.Equal(t, "http://127.0.0.1:9", a.APIURL)
	require.Equal(t, "dev", a.Deployment)
	require.True(t, a.Previews)
}

func TestDryRunTellsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	changes, err := db.Apply(ctx, parse(t), postgres.ApplyOptions{DryRun: true})
	require.NoError(t, err)
	require.NotEmpty(t, changes)
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*)::int FROM tenants"))
	require.Equal(t, changes, apply(t, db.Store), "the apply does what the dry run told")
}

func TestChangesAreInForceForTheNextCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	apply(t, db.Store)

	changes := apply(t, db.Store,
		"offers:\n  - {tenant: acme, pool: pool_00000000000000000000shared}", "offers:\n  - {tenant: acme, pool: pool_00000000000000000000shared, status: suspended, excludedRegions: [ams3]}",
		"max: 3", "max: 1",
		"CANARY-acme", "CANARY-rotated",
		"t-alice", "t-new",
		"regions: [nyc3, atl1]}", "regions: [nyc3, atl1], previews: true}")
	text := changes.String()
	require.Contains(t, text, "change offer acme pool_00000000000000000000shared: status \"active\" -> \"suspended\", excluded_regions [] -> [\"ams3\"]")
	require.Contains(t, text, "change quota acme do.app: max_count 3 -> 1")
	require.Contains(t, text, "change account acct_acme: previews false -> true, token_sealed")
	require.NotContains(t, text, "CANARY")
	require.NotContains(t, text, `\x`, "neither sealed values nor digests are shown")
	require.Len(t, changes, 4)

	a, err := db.AccountAccess(ctx, "acct_acme")
	require.NoError(t, err)
	require.Equal(t, "CANARY-rotated", a.Token.Reveal())
	require.Equal(t, 1, pgtest.Value[int](db, "SELECT count(*)::int FROM outbox WHERE workflow_id = 'account/acct_acme'"),
		"an account that changed is looked at")

	old, fresh := sha256.Sum256([]byte("t-alice")), sha256.Sum256([]byte("t-new"))
	_, err = db.PrincipalByToken(ctx, old[:])
	require.Equal(t, cloud.CodeUnauthenticated, cloud.AsError(err).Code)
	p, err := db.PrincipalByToken(ctx, fresh[:])
	require.NoError(t, err)
	require.Equal(t, "acme/alice", p.ID)
	require.Equal(t, "acme", p.Tenant)

	pool, err := db.Store.Pool(ctx, "acme", pgtest.PoolShared)
	require.NoError(t, err)
	require.True(t, pool.Offer.Suspended)
}

func TestPoliciesComeWithTheirRevision(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	none, revision, err := db.Policies(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Zero(t, revision)

	apply(t, db.Store)
	policies, first, err := db.Policies(ctx)
	require.NoError(t, err)
	require.Len(t, policies, 1)
	require.Equal(t, platform.Allow, policies[0].Statements[0].Effect)

	apply(t, db.Store, "effect: allow", "effect: deny")
	now, err := db.PlatformRevision(ctx)
	require.NoError(t, err)
	require.Greater(t, now, first)
	policies, _, err = db.Policies(ctx)
	require.NoError(t, err)
	require.Equal(t, platform.Deny, policies[0].Statements[0].Effect)

	st, at, err := db.Settings(ctx)
	require.NoError(t, err)
	require.Equal(t, now, at)
	require.EqualValues(t, 20, st.MaxPerKind)
	require.Equal(t, []string{"do.app.builds"}, st.KindMeters)
	name, err := db.Store.Deployment(ctx)
	require.NoError(t, err)
	require.Equal(t, "test", name)
}

func TestDaemonsMatchInOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := pgtest.New(t)
	apply(t, db.Store)
	url, token, err := db.Daemon(ctx, "db.drop")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:1", url)
	require.Equal(t, "CANARY-daemon", token.Reveal())
	url, token, err = db.Daemon(ctx, "dbxdrop")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:2", url, "only * is special in a pattern")
	require.True(t, token.Empty())
	apply(t, db.Store, `  - {kinds: ["*"], url: "http://127.0.0.1:2"}`+"\n", "")
	_, _, err = db.Daemon(ctx, "vm.drop")
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	policy, err := db.QuorumPolicy(ctx)
	require.NoError(t, err)
	require.False(t, policy.RequiresApproval())
}

func TestSpentBudgetSurvivesAnApply(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	apply(t, db.Store)
	db.Exec("UPDATE budgets SET used_amount = 42.25")
	require.Empty(t, apply(t, db.Store))
	require.Equal(t, "42.25", pgtest.Value[string](db, "SELECT used_amount::text FROM budgets"))
	apply(t, db.Store, "max: 100.50", "max: 99999999999999.25, used: 0")
	require.Equal(t, "0", pgtest.Value[string](db, "SELECT used_amount::text FROM budgets"))
}

func TestWithoutSecretStoreTokensStayWhereTheyAre(t *testing.T) {
	ctx := context.Background()
	db := pgtest.New(t)
	s, err := postgres.Open(ctx, db.URL)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.False(t, s.HasSecretStore())
	_, err = s.Apply(ctx, parse(t), postgres.ApplyOptions{})
	require.Equal(t, cloud.ReasonSecretStore, cloud.AsError(err).Reason())

	t.Setenv("PLATFORM_TEST", "CANARY-env")
	t.Setenv("PLATFORM_HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	env := []string{"{value: CANARY-shared}", "{env: PLATFORM_TEST}", "{value: CANARY-acme}", "{env: PLATFORM_TEST}",
		"{value: CANARY-daemon}", "{env: PLATFORM_TEST}", "{value: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}", "{env: PLATFORM_HOOK}"}
	apply(t, s, env...)
	require.Empty(t, apply(t, s, env...))
	a, err := s.AccountAccess(ctx, "acct_acme")
	require.NoError(t, err)
	require.Equal(t, "CANARY-env", a.Token.Reveal())
	require.NotContains(t, db.Dump(), "CANARY")

	apply(t, db.Store, env...)
	require.Equal(t, 2, pgtest.Value[int](db, "SELECT count(*)::int FROM provider_accounts WHERE token_sealed IS NOT NULL AND token_source IS NULL"),
		"with keys they are sealed")
	t.Setenv("PLATFORM_TEST", "")
	_, err = db.Apply(ctx, parse(t, env...), postgres.ApplyOptions{})
	require.Equal(t, cloud.CodeInvalidInput, cloud.AsError(err).Code)
	require.Equal(t, []string{"accounts[0].token"}, cloud.AsError(err).Details["fields"])
}
