package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// refused asserts code and reason of an error, and that nothing was recorded.
func refused(t *testing.T, err error, code cloud.Code, reason string) *cloud.Error {
	t.Helper()
	require.Error(t, err)
	e := cloud.AsError(err)
	require.Equal(t, code, e.Code, err)
	require.Equal(t, reason, e.Reason(), err)
	return e
}

// atOnce runs fn n times at the same time and returns the errors.
func atOnce(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Add(1)
		go func() {
			defer done.Done()
			start.Wait()
			errs[i] = fn(i)
		}()
	}
	start.Done()
	done.Wait()
	return errs
}

func count(db *pgtest.DB, table string) int64 {
	return pgtest.Value[int64](db, "SELECT count(*) FROM "+table)
}

func TestInsertRecordsAllOfIt(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg", pgtest.With("size", "s"), func(n *intent.NewResource) { n.Resource.ProjectID = pgtest.ProjectWebs }))
	require.Equal(t, cloud.StatePending, r.State)
	require.Equal(t, int64(1), r.Version)
	require.Equal(t, "pending", pgtest.Value[string](db, "SELECT state FROM resources WHERE id = $1", r.ID))
	require.JSONEq(t, `{"kind": "test.cluster", "family": "data", "provider": "digitalocean", "providerAccountId": "acct_acme", "poolId": "`+pgtest.PoolAcme+`",
		"region": "nyc3", "projectId": "`+pgtest.ProjectWebs+`"}`,
		pgtest.Value[string](db, "SELECT attributes::text FROM authorization_rows WHERE resource_id = $1 AND tenant_id = 'acme' AND owner = 'acme/alice'", r.ID))
	require.Equal(t, "CloudResource update 1", pgtest.Value[string](db, "SELECT workflow_type || ' ' || signal || ' ' || generation FROM outbox WHERE workflow_id = $1", r.ID))
	events, err := db.ListEvents(context.Background(), pgtest.Acme, 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "cloud.resource.created", events[0].Type)
	require.Equal(t, r.ID, events[0].Subject)
	require.JSONEq(t, `{"actor": "acme/alice", "kind": "test.cluster", "name": "pg", "resourceId": "`+r.ID+`", "state": "pending", "version": 1}`, string(events[0].Data))
}

func TestOneKeyMakesOneRow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	other := db.Another()
	n := pgtest.Request(pgtest.KindCluster, "pg")
	ids := make([]string, 20)
	errs := atOnce(20, func(i int) error {
		s := db.Store
		if i%2 == 1 {
			s = other
		}
		r, err := s.Insert(context.Background(), n)
		if err == nil {
			ids[i] = r.ID
		}
		return err
	})
	for i := range errs {
		require.NoError(t, errs[i])
		require.Equal(t, n.Resource.ID, ids[i])
	}
	for _, table := range []string{"resources", "events", "outbox", "authorization_rows"} {
		require.Equal(t, int64(1), count(db, table), table)
	}
}

func TestAKeyUsedForAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	n := pgtest.Request(pgtest.KindCluster, "pg")
	db.Create(n)
	n.RequestDigest = []byte("other")
	_, err := db.Insert(context.Background(), n)
	refused(t, err, cloud.CodeConflict, cloud.ReasonIdempotencyKey)
	r, digest, err := db.Replay(context.Background(), n.Resource.ID)
	require.NoError(t, err)
	require.Equal(t, "pg", r.Name)
	require.Equal(t, n.Resource.ID, string(digest))
	r, _, err = db.Replay(context.Background(), "crs_none")
	require.NoError(t, err)
	require.Nil(t, r)
}

func TestAKeyHoldsAfterTheEnd(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	n := pgtest.Request(pgtest.KindCluster, "pg")
	db.Create(n)
	end(t, db, n.Resource.ID)
	again := db.Create(n)
	require.Equal(t, cloud.StateDeleted, again.State)
	// The name is free again, for another key (D10).
	db.Create(pgtest.Request(pgtest.KindCluster, "pg", func(n *intent.NewResource) { n.Resource.ID = cloud.ResourceID("acme", "x", "y") }))
}

// end makes a resource deleted.
func end(t *testing.T, db *pgtest.DB, id string) {
	t.Helper()
	_, err := db.Change(context.Background(), pgtest.Acme, id, "t", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.Deleted(time.Now()), nil
	})
	require.NoError(t, err)
}

func TestInsertRefusals(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	_, err := db.PutSecret(ctx, pgtest.Acme, "token", cloud.NewSecret("v"), "acme/alice")
	require.NoError(t, err)
	_, err = db.PutSecret(ctx, pgtest.Globex, "token", cloud.NewSecret("v"), "globex/bob")
	require.NoError(t, err)
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "parent"))
	user := db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "app")))
	firewall := db.Create(pgtest.Request(pgtest.KindFirewall, "fw", pgtest.In(cluster)))
	foreign := db.Create(pgtest.Request(pgtest.KindCluster, "theirs", pgtest.On(pgtest.Globex, pgtest.PoolShared, pgtest.AccountShared)))
	elsewhere := db.Create(pgtest.Request(pgtest.KindCluster, "elsewhere", pgtest.On(pgtest.Acme, pgtest.PoolShared, pgtest.AccountShared)))
	leaving := db.Create(pgtest.Request(pgtest.KindCluster, "leaving"))
	ask(t, db, leaving.ID, func(r *cloud.Resource) *cloud.Change { return r.WantDelete(time.Now()) })

	instance, network := pgtest.InstanceID, pgtest.NetworkID
	list := func(ids ...string) []any {
		l := []any{}
		for _, id := range ids {
			l = append(l, id)
		}
		return l
	}
	for name, c := range map[string]struct {
		request intent.NewResource
		code    cloud.Code
		reason  string
		detail  string
		value   any
	}{
		"an instance that is not live": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("instances", list(instance("acme"), instance("dead")))),
			cloud.CodeInvalidInput, "instance", "instances", []string{instance("dead")}},
		"an instance of another tenant": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("instances", list(instance("gx")))),
			cloud.CodeInvalidInput, "instance", "instances", []string{instance("gx")}},
		"an instance on another account": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("instances", list(instance("shared")))),
			cloud.CodeInvalidInput, "instance", "instances", []string{instance("shared")}},
		"an instance that nobody has": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("instances", list(instance("none")))),
			cloud.CodeInvalidInput, "instance", "instances", []string{instance("none")}},
		"a network of another tenant": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("network", network("gx"))),
			cloud.CodeInvalidInput, "network", "networks", []string{network("gx")}},
		"a network without a VPC in the region": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("network", network("acme")), region("ams3")),
			cloud.CodeInvalidInput, "network", "networks", []string{network("acme")}},
		"a secret of another tenant": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("token", "secret://globex/token")),
			cloud.CodeInvalidInput, "secretRef", "fields", []string{"spec.token"}},
		"a secret that nobody has": {pgtest.Request(pgtest.KindCluster, "a", pgtest.With("token", "secret://acme/none")),
			cloud.CodeInvalidInput, "secretRef", "fields", []string{"spec.token"}},
		"no parent": {pgtest.Request(pgtest.KindUser, "a"), cloud.CodeInvalidInput, "parent", "fields", []string{"parentId"}},
		"a parent where there is none": {pgtest.Request(pgtest.KindCluster, "a", pgtest.In(cluster)),
			cloud.CodeInvalidInput, "parent", "fields", []string{"parentId"}},
		"a parent of another tenant": {pgtest.Request(pgtest.KindUser, "a", pgtest.In(foreign)), cloud.CodeNotFound, "", "fields", []string{"parentId"}},
		"a parent that nobody has": {pgtest.Request(pgtest.KindUser, "a", pgtest.In(&cloud.Resource{ID: "crs_none"})),
			cloud.CodeNotFound, "", "fields", []string{"parentId"}},
		"a parent of the wrong kind":     {pgtest.Request(pgtest.KindUser, "a", pgtest.In(user)), cloud.CodeInvalidInput, "parent", "fields", []string{"parentId"}},
		"a parent on another account":    {pgtest.Request(pgtest.KindUser, "a", pgtest.In(elsewhere)), cloud.CodeInvalidInput, "parent", "fields", []string{"parentId"}},
		"a parent that is being deleted": {pgtest.Request(pgtest.KindUser, "a", pgtest.In(leaving)), cloud.CodeInvalidInput, "parent", "fields", []string{"parentId"}},
		"an identity twice": {pgtest.Request(pgtest.KindUser, "a", pgtest.In(cluster), pgtest.With("name", "app")),
			cloud.CodeConflict, "identity", "resourceId", user.ID},
		"a single one twice": {pgtest.Request(pgtest.KindFirewall, "a", pgtest.In(cluster)), cloud.CodeConflict, "identity", "resourceId", firewall.ID},
		"a name twice": {pgtest.Request(pgtest.KindCluster, "parent", func(n *intent.NewResource) { n.Resource.ID = cloud.ResourceID("a", "b", "c") }),
			cloud.CodeConflict, "name", "", nil},
	} {
		before := count(db, "resources") + count(db, "events") + count(db, "outbox")
		_, err := db.Insert(ctx, c.request)
		require.Error(t, err, name)
		e := refused(t, err, c.code, c.reason)
		if c.detail != "" {
			require.Equal(t, c.value, e.Details[c.detail], name)
		}
		require.Equal(t, before, count(db, "resources")+count(db, "events")+count(db, "outbox"), name)
	}
	db.Create(pgtest.Request(pgtest.KindCluster, "good", pgtest.With("network", network("acme")),
		pgtest.With("instances", list(instance("acme"))), pgtest.With("token", "secret://acme/token")))
}

func region(word string) func(*intent.NewResource) {
	return func(n *intent.NewResource) { n.Resource.Region, n.Resource.Spec["region"] = word, word }
}

// ask records a change of acme's as the API would.
func ask(t *testing.T, db *pgtest.DB, id string, fn func(r *cloud.Resource) *cloud.Change) *cloud.Resource {
	t.Helper()
	r, err := db.Change(context.Background(), pgtest.Acme, id, "acme/alice", "update", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return fn(r), nil
	})
	require.NoError(t, err)
	return r
}

func TestCountQuota(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ('acme', 'test.cluster', 3)")
	db.Deployment("test", map[string]any{"maxPerKind": 1})
	errs := atOnce(10, func(i int) error {
		_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i)))
		return err
	})
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.Equal(t, int64(3), refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
	}
	require.Equal(t, 3, made)

	// One that is being deleted still counts; one that ended does not.
	ids := pgtest.Value[[]string](db, "SELECT array_agg(id) FROM resources")
	ask(t, db, ids[0], func(r *cloud.Resource) *cloud.Change { return r.WantDelete(time.Now()) })
	_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, "late"))
	refused(t, err, cloud.CodeQuotaExceeded, "")
	end(t, db, ids[0])
	db.Create(pgtest.Request(pgtest.KindCluster, "late"))

	// A kind without an entry has the platform's cap.
	db.Create(pgtest.Request(pgtest.KindInference, "first"))
	_, err = db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "second"))
	require.Equal(t, int64(1), refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
	perKind, fallback, err := db.Quotas(context.Background(), pgtest.Acme)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"test.cluster": 3}, perKind)
	require.Equal(t, int64(1), fallback)
	_, fallback, err = pgtest.New(t).Quotas(context.Background(), pgtest.Acme)
	require.NoError(t, err)
	require.Equal(t, int64(20), fallback)
}

func gpus(n int64) func(*intent.NewResource) {
	return func(r *intent.NewResource) { r.Booking = map[string]int64{"gpu": n} }
}

func TestCapacityIsNeverOverbooked(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO capacities (tenant_id, pool_id, capacity, amount) VALUES ('acme', $1, 'gpu', 8)", pgtest.PoolAcme)
	errs := atOnce(10, func(i int) error {
		_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, fmt.Sprintf("i%d", i), gpus(3)))
		return err
	})
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		e := refused(t, err, cloud.CodeQuotaExceeded, "")
		require.Equal(t, int64(8), e.Details["limit"])
		require.Equal(t, "gpu", e.Details["capacity"])
		require.Equal(t, int64(6), e.Details["used"])
	}
	require.Equal(t, 2, made)
	_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "elsewhere", gpus(1), func(n *intent.NewResource) { n.Resource.PoolID = pgtest.PoolFree }))
	require.Equal(t, int64(0), refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
}

func TestOfferAndBudget(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	shared := pgtest.On(pgtest.Acme, pgtest.PoolShared, pgtest.AccountShared)
	db.Exec("UPDATE offers SET excluded_regions = '{ams3, nyc2}' WHERE tenant_id = 'acme'")
	for _, word := range []string{"ams3", "nyc"} {
		_, err := db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "a", shared, region(word)))
		refused(t, err, cloud.CodeAccessDenied, cloud.ReasonRegionExcluded)
	}
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "a", shared))
	db.Exec("UPDATE offers SET excluded_regions = '{nyc3}' WHERE tenant_id = 'acme'")
	_, err := db.Insert(ctx, pgtest.Request(pgtest.KindUser, "u", shared, pgtest.In(cluster), pgtest.With("name", "x")))
	refused(t, err, cloud.CodeAccessDenied, cloud.ReasonRegionExcluded)
	db.Exec("UPDATE offers SET status = 'suspended', excluded_regions = '{}' WHERE tenant_id = 'acme'")
	_, err = db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "b", shared))
	refused(t, err, cloud.CodeAccessDenied, cloud.ReasonOfferSuspended)
	p, err := db.Store.Pool(ctx, pgtest.Acme, pgtest.PoolShared)
	require.NoError(t, err)
	require.True(t, p.Offer.Suspended)
	require.True(t, p.Hosted(pgtest.Acme))
	db.Exec("DELETE FROM offers WHERE tenant_id = 'acme'")
	_, err = db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "b", shared))
	refused(t, err, cloud.CodeNotFound, "")

	db.Exec("INSERT INTO budgets (tenant_id, id, max_amount, used_amount) VALUES ('acme', 'month', 100.50, 100.50), ('acme', 'year', 1000, 0)")
	_, err = db.Insert(ctx, pgtest.Request(pgtest.KindCluster, "c"))
	require.EqualValues(t, "100.50", refused(t, err, cloud.CodeBudgetExceeded, "").Details["limit"])
	db.Create(pgtest.Request(pgtest.KindCluster, "c", func(n *intent.NewResource) { n.Resource.PoolID = pgtest.PoolFree }))
}

// A refusal that two checks give is the earlier one's (D21).
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Create(pgtest.Request(pgtest.KindInference, "taken"))
	db.Exec("INSERT INTO quotas (tenant_id, kind, max_count) VALUES ('acme', 'test.inference', 1), ('acme', 'test.cluster', 0)")
	db.Exec("INSERT INTO budgets (tenant_id, id, max_amount) VALUES ('acme', 'month', 0)")
	id := func(n *intent.NewResource) { n.Resource.ID = cloud.ResourceID("a", "b", "c") }
	_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "taken", id, gpus(9)))
	refused(t, err, cloud.CodeConflict, cloud.ReasonName)
	_, err = db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "free", gpus(9)))
	require.Equal(t, int64(1), refused(t, err, cloud.CodeQuotaExceeded, "").Details["limit"])
	_, err = db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, "c", pgtest.With("instances", []any{"ins_x"})))
	refused(t, err, cloud.CodeInvalidInput, cloud.ReasonInstance)
}

func TestAdoptOfARecordedObject(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	adopt := func(n *intent.NewResource) { n.Resource.Adopted, n.Resource.ProviderID = true, "u-1" }
	first := db.Create(pgtest.Request(pgtest.KindCluster, "a", adopt))
	require.Equal(t, cloud.Spec{}, first.Spec)
	require.Equal(t, "cloud.resource.adopted", pgtest.Value[string](db, "SELECT type FROM events"))
	_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, "b", adopt))
	require.Equal(t, first.ID, refused(t, err, cloud.CodeConflict, cloud.ReasonRecorded).Details["resourceId"])
	id, err := db.Recorded(context.Background(), pgtest.AccountAcme, "test.cluster", "u-1")
	require.NoError(t, err)
	require.Equal(t, first.ID, id)
	end(t, db, first.ID)
	id, err = db.Recorded(context.Background(), pgtest.AccountAcme, "test.cluster", "u-1")
	require.NoError(t, err)
	require.Empty(t, id)
	db.Create(pgtest.Request(pgtest.KindCluster, "b", adopt))
}

func TestPoolsAndProjectsOfOthersAreNotSeen(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	own, err := db.Store.Pool(ctx, pgtest.Acme, pgtest.PoolAcme)
	require.NoError(t, err)
	require.Equal(t, "provider", own.Type)
	require.Equal(t, []string{"nyc3", "ams3", "atl1", "nyc2"}, own.Account.Regions)
	require.Nil(t, own.Offer)
	require.False(t, own.Hosted(pgtest.Acme))
	_, err = db.Store.Pool(ctx, pgtest.Globex, pgtest.PoolAcme)
	refused(t, err, cloud.CodeNotFound, "")
	db.Exec("INSERT INTO pools (id, type, owner_tenant_id) VALUES ('pool_kvm', 'kvm', 'acme')")
	other, err := db.Store.Pool(ctx, pgtest.Acme, "pool_kvm")
	require.NoError(t, err)
	require.Nil(t, other.Account)
	for tenant, want := range map[string]bool{pgtest.Acme: true, pgtest.Globex: false} {
		exists, err := db.ProjectExists(ctx, tenant, pgtest.ProjectWebs)
		require.NoError(t, err)
		require.Equal(t, want, exists)
	}
	r := db.Create(pgtest.Request(pgtest.KindCluster, "a"))
	_, err = db.Resource(ctx, pgtest.Globex, r.ID)
	refused(t, err, cloud.CodeNotFound, "")
}
