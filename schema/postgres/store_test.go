package postgres_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestADatabaseThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	_, err = postgres.Open(ctx, "postgres://postgres@"+closed.Addr().String()+"/postgres")
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = postgres.Open(short, "postgres://postgres@"+silent.Addr().String()+"/postgres")
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code)
}

// Connections that the server cut are noticed: the call fails as UNAVAILABLE at
// most, and the next one has a new connection.
func TestACutConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, postgres.WithMaxConns(1)).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "update", func(context.Context, intent.Tx, *cloud.Resource) (*cloud.Change, error) {
		db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'")
		return r.WantRefresh(time.Now()), nil
	})
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code, err)
	got, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.False(t, got.RefreshWanted)
}

func TestAFullPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, postgres.WithMaxConns(1)).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "", func(ctx context.Context, _ intent.Tx, _ *cloud.Resource) (*cloud.Change, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		return nil, db.Ping(ctx)
	})
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code)
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := db.Another()
	s.Close()
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(s.Ping(context.Background())).Code)
}

func TestConstraintsAreToldByName(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "a"))
	db.Create(pgtest.Request(pgtest.KindCluster, "b"))
	_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		r.Name = "b"
		return &cloud.Change{}, nil
	})
	refused(t, err, cloud.CodeConflict, cloud.ReasonName)
	_, err = db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, "c", func(n *intent.NewResource) { n.Resource.ProjectID = "prj_none" }))
	refused(t, err, cloud.CodeNotFound, "")
	_, err = db.Insert(context.Background(), pgtest.Request(pgtest.KindCluster, "d", func(n *intent.NewResource) { n.Resource.Description = "a\x00b" }))
	refused(t, err, cloud.CodeInvalidInput, "")
}

// A transaction that loses a deadlock is run again.
func TestADeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "a"))
	runs := 0
	tx, err := db.SQL.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, "SELECT FROM tenants WHERE id = 'acme' FOR UPDATE")
	require.NoError(t, err)
	blocked := make(chan error, 1)
	_, err = db.Change(ctx, pgtest.Acme, r.ID, "a", "update", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		if runs++; runs == 1 {
			// The other one waits for our record before ours waits for the tenant's
			// row, and leaves it to ours to find the deadlock.
			go func() {
				_, err := tx.Exec(ctx, "SET LOCAL deadlock_timeout = '1h'; SELECT FROM resources WHERE id = '"+r.ID+"' FOR UPDATE")
				if err == nil {
					err = tx.Commit(ctx)
				}
				blocked <- err
			}()
			require.Eventually(t, func() bool {
				return pgtest.Value[int64](db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
			}, 10*time.Second, 5*time.Millisecond)
		}
		return &cloud.Change{Events: []cloud.Event{{Type: cloud.EventUpdated}}}, nil
	})
	require.NoError(t, err)
	require.NoError(t, <-blocked)
	require.Equal(t, 2, runs)
}
