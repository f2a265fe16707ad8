package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestClaimGivesWhatStartingNeeds(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	// The first second is the API's own.
	n, err := db.Claim(ctx, 10, func(context.Context, ports.Message) error { return errors.New("too early") })
	require.NoError(t, err)
	require.Zero(t, n)
	db.Exec("UPDATE outbox SET due_at = now()")
	db.Exec("INSERT INTO outbox (workflow_id, workflow_type, signal) VALUES ('account/acct_acme', 'AccountSweep', 'sweep'), ('webhook/s', 'WebhookDelivery', 'deliver')")
	got := map[string]ports.Message{}
	n, err = db.Claim(ctx, 10, func(_ context.Context, m ports.Message) error { got[m.WorkflowID] = m; return nil })
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, map[string]ports.Message{
		r.ID: {WorkflowID: r.ID, WorkflowType: "CloudResource", Signal: "update", Generation: 1, Attributes: map[string]string{
			"TenantId": "acme", "PoolId": pgtest.PoolAcme, "ProviderAccountId": "acct_acme", "ResourceKind": "test.cluster", "ResourceState": "pending"}},
		"account/acct_acme": {WorkflowID: "account/acct_acme", WorkflowType: "AccountSweep", Signal: "sweep", Attributes: map[string]string{"ProviderAccountId": "acct_acme"}},
		"webhook/s":         {WorkflowID: "webhook/s", WorkflowType: "WebhookDelivery", Signal: "deliver"},
	}, got)
	require.Zero(t, count(db, "outbox"))
}

// A row that is asked for again while it is delivered stays open: the delivery
// may have told of the older wish only.
func TestADeliveryDoesNotCloseANewerRow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	update := func(size string) {
		ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change { return r.WantSpec(cloud.Spec{"size": size}, time.Now()) })
	}
	db.Exec("UPDATE outbox SET due_at = now()")
	_, err := db.Claim(ctx, 10, func(context.Context, ports.Message) error { update("b"); return nil })
	require.NoError(t, err)
	require.Equal(t, int64(2), pgtest.Value[int64](db, "SELECT generation FROM outbox"))

	m, done, err := db.ClaimOne(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), m.Generation)
	update("c")
	require.NoError(t, done(true))
	require.Equal(t, int64(3), pgtest.Value[int64](db, "SELECT generation FROM outbox"))

	_, done, err = db.ClaimOne(ctx, r.ID)
	require.NoError(t, err)
	require.NoError(t, done(false))
	require.Equal(t, int64(1), count(db, "outbox"))
	require.NoError(t, done(true))
	require.Zero(t, count(db, "outbox"))
	m, done, err = db.ClaimOne(ctx, r.ID)
	require.NoError(t, err)
	require.Nil(t, m)
	require.NoError(t, done(true))
}

func TestFailedDeliveriesWaitLongerEachTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	var waits []int
	for range 9 {
		db.Exec("UPDATE outbox SET due_at = now()")
		n, err := db.Claim(context.Background(), 10, func(context.Context, ports.Message) error { return errors.New("Temporal is down") })
		require.NoError(t, err)
		require.Equal(t, 1, n)
		waits = append(waits, int(pgtest.Value[float64](db, "SELECT round(extract(epoch FROM due_at - now()))::float8 FROM outbox")))
	}
	require.Equal(t, []int{1, 2, 4, 8, 16, 32, 60, 60, 60}, waits)
}

// Each row goes to one of many relays.
func TestRelaysShareTheRows(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO outbox (workflow_id, workflow_type, signal) SELECT 'webhook/' || i, 'WebhookDelivery', 'deliver' FROM generate_series(1, 200) AS i")
	var mu sync.Mutex
	var got []string
	stores := []interface {
		Claim(context.Context, int, func(context.Context, ports.Message) error) (int, error)
	}{db, db.Another(), db.Another()}
	for _, err := range atOnce(3, func(i int) error {
		for {
			n, err := stores[i].Claim(context.Background(), 7, func(_ context.Context, m ports.Message) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, m.WorkflowID)
				return nil
			})
			if n == 0 || err != nil {
				return err
			}
		}
	}) {
		require.NoError(t, err)
	}
	slices.Sort(got)
	require.Len(t, slices.Compact(got), 200)
	require.Zero(t, count(db, "outbox"))
}

// Nobody who asks again waits for a slow delivery.
func TestAskingDoesNotWaitForADelivery(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	db.Exec("UPDATE outbox SET due_at = now()")
	_, err := db.Claim(context.Background(), 1, func(ctx context.Context, _ ports.Message) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := db.Change(ctx, pgtest.Acme, r.ID, "a", "refresh", wantRefresh)
		require.NoError(t, err)
		return nil
	})
	require.NoError(t, err)
}

func TestWait(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	waits := func(ctx context.Context, period time.Duration) time.Duration {
		begin := time.Now()
		db.Wait(ctx, period)
		return time.Since(begin)
	}
	// Nothing comes: the period.
	require.GreaterOrEqual(t, waits(context.Background(), 50*time.Millisecond), 50*time.Millisecond)
	// A row comes: at once, long before the period.
	woken := make(chan time.Duration, 1)
	go func() { woken <- waits(context.Background(), time.Minute) }()
	require.Eventually(t, func() bool {
		return pgtest.Value[int64](db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%min(due_at)%' AND pid <> pg_backend_pid()") > 0
	}, 10*time.Second, 5*time.Millisecond)
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	user := db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "a")))
	require.NoError(t, deleteTree(db, cluster.ID))
	require.Less(t, <-woken, 30*time.Second)
	// One is due: not at all. One is due soon: until then.
	require.Less(t, waits(context.Background(), time.Minute), 30*time.Second)
	db.Exec("DELETE FROM outbox WHERE workflow_id <> $1", user.ID)
	db.Exec("UPDATE outbox SET due_at = now() + interval '100 milliseconds'")
	require.Less(t, waits(context.Background(), time.Minute), 30*time.Second)
	// Its user stops.
	db.Exec("DELETE FROM outbox")
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	require.Less(t, waits(ctx, time.Minute), 30*time.Second)
}

func TestAWaitingRelayKeepsItsConnectionUsable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	for i := range 5 {
		db.Wait(context.Background(), 10*time.Millisecond)
		r := db.Create(pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i)))
		require.NoError(t, db.Hold(context.Background(), r.ID, nothing))
	}
	require.LessOrEqual(t, pgtest.Value[int64](db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"), int64(6))
}
