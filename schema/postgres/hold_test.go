package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func nothing(context.Context, ports.Hold) error { return nil }

// While one holds a tree, nobody else holds its parent or any of its children;
// other trees are free.
func TestHoldExcludesTheTree(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	other := db.Another()
	ctx := context.Background()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	a := db.Create(pgtest.Request(pgtest.KindUser, "a", pgtest.In(cluster), pgtest.With("name", "a")))
	b := db.Create(pgtest.Request(pgtest.KindUser, "b", pgtest.In(cluster), pgtest.With("name", "b")))
	free := db.Create(pgtest.Request(pgtest.KindCluster, "free"))
	for _, held := range []string{cluster.ID, a.ID} {
		err := db.Hold(ctx, held, func(ctx context.Context, h ports.Hold) error {
			require.Equal(t, held, h.Record().ID)
			for _, id := range []string{cluster.ID, a.ID, b.ID} {
				require.ErrorIs(t, other.Hold(ctx, id, nothing), ports.ErrHeld)
				require.ErrorIs(t, db.Hold(ctx, id, nothing), ports.ErrHeld)
			}
			require.NoError(t, other.Hold(ctx, free.ID, nothing))
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, other.Hold(ctx, b.ID, nothing))
	}
	refused(t, db.Hold(ctx, "crs_none", nothing), cloud.CodeNotFound, "")
}

func TestHoldEndsHoweverItsUserEnds(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	other := db.Another()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	for name, end := range map[string]func(ctx context.Context, cancel func()) error{
		"an error": func(context.Context, func()) error { return errors.New("no") },
		"a panic":  func(context.Context, func()) error { panic("no") },
		"a cancel": func(ctx context.Context, cancel func()) error { cancel(); return ctx.Err() },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		func() {
			defer func() { _ = recover() }()
			require.Error(t, db.Hold(ctx, r.ID, func(ctx context.Context, h ports.Hold) error {
				require.NoError(t, h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.WantRefresh(time.Now()) }), name)
				return end(ctx, cancel)
			}))
		}()
		cancel()
		require.NoError(t, other.Hold(context.Background(), r.ID, nothing), name)
	}
}

// A commit that is cut off by its context closes the connection; the lock goes
// with it and the next holder gets it.
func TestHoldEndsWhenACommitIsCutOff(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Hold(ctx, r.ID, func(ctx context.Context, h ports.Hold) error {
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { cancel(); return r.WantRefresh(time.Now()) })
	})
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code)
	require.Eventually(t, func() bool { return db.Another().Hold(context.Background(), r.ID, nothing) == nil }, 10*time.Second, 10*time.Millisecond)
	got, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.False(t, got.RefreshWanted)
}

// Whoever lost the connection lost the lock and can save nothing.
func TestALostLockSavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	ctx := context.Background()
	err := db.Hold(ctx, r.ID, func(ctx context.Context, h ports.Hold) error {
		db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		require.Eventually(t, func() bool { return db.Hold(ctx, r.ID, nothing) == nil }, 10*time.Second, 10*time.Millisecond)
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Attempt(time.Now()) })
	})
	require.Equal(t, cloud.CodeUnavailable, cloud.AsError(err).Code, err)
	got, err := db.Resource(ctx, pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.True(t, got.AttemptedAt.IsZero())
	require.NoError(t, db.Hold(ctx, r.ID, nothing))
}

func TestCommitSeesWhatWasAskedMeanwhile(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	err := db.Hold(context.Background(), cluster.ID, func(ctx context.Context, h ports.Hold) error {
		require.Equal(t, 0, h.LiveChildren())
		ask(t, db, cluster.ID, func(r *cloud.Resource) *cloud.Change { return r.WantSpec(cloud.Spec{"size": "b"}, time.Now()) })
		db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "a")))
		require.Equal(t, int64(1), h.Record().Generation)
		require.NoError(t, h.Commit(ctx, func(r *cloud.Resource) *cloud.Change {
			require.Equal(t, int64(2), r.Generation)
			r.Memo = map[string]string{"not": "saved"}
			return nil
		}))
		require.Equal(t, int64(2), h.Record().Generation)
		require.Nil(t, h.Record().Memo)
		require.Equal(t, 1, h.LiveChildren())
		return nil
	})
	require.NoError(t, err)
	require.True(t, pgtest.Value[bool](db, "SELECT stepped_at IS NOT NULL FROM resources WHERE id = $1", cluster.ID))
}

// More holders than connections queue, and none of them starves the queries
// that the others make while they hold.
func TestManyHolders(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, postgres.WithMaxConns(2), postgres.WithMaxSessions(3)).World()
	var ids []string
	for i := range 12 {
		ids = append(ids, db.Create(pgtest.Request(pgtest.KindCluster, fmt.Sprintf("c%d", i))).ID)
	}
	var ran atomic.Int32
	for _, err := range atOnce(12, func(i int) error {
		return db.Hold(context.Background(), ids[i], func(ctx context.Context, h ports.Hold) error {
			ran.Add(1)
			if _, _, err := db.Load(ctx, ids[i]); err != nil {
				return err
			}
			return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Attempt(time.Now()) })
		})
	}) {
		require.NoError(t, err)
	}
	require.Equal(t, int32(12), ran.Load())
}

// Only what changed is written: a look that finds everything as it was leaves
// the record, and the time at which it was updated, alone.
func TestAnUnchangedRecordIsNotWritten(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	look := &cloud.Observed{ProviderID: "p", Region: "nyc3", Phase: cloud.PhaseReady, Outputs: map[string]any{"port": 25060, "host": "h"},
		Secrets: map[string]cloud.Secret{"password": cloud.NewSecret("v")}}
	ready := func(ctx context.Context, h ports.Hold) error {
		return h.Commit(ctx, func(r *cloud.Resource) *cloud.Change { return r.Ready(look, r.Generation, time.Now()) })
	}
	require.NoError(t, db.Hold(context.Background(), r.ID, ready))
	before, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StateReady, before.State)
	sealed := pgtest.Value[[]byte](db, "SELECT sealed FROM secrets")
	events := count(db, "events")
	require.NoError(t, db.Hold(context.Background(), r.ID, ready))
	after, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, sealed, pgtest.Value[[]byte](db, "SELECT sealed FROM secrets"))
	require.Equal(t, events, count(db, "events"))
}

func TestARegionThatTheProviderToldIsDecidedOn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindInference, "a"))
	ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Accept(&cloud.Observed{ProviderID: "p", Region: "tor1"}, time.Now())
	})
	require.Equal(t, "tor1", pgtest.Value[string](db, "SELECT attributes->>'region' FROM authorization_rows"))
}

func TestMarkAccount(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	ctx := context.Background()
	mark := func() string {
		return pgtest.Value[string](db, "SELECT coalesce(unreachable_since::text, 'never') || ' ' || unreachable_message FROM provider_accounts WHERE id = 'acct_acme'")
	}
	require.NoError(t, db.MarkAccount(ctx, pgtest.AccountAcme, "token refused"))
	first := mark()
	require.Contains(t, first, "token refused")
	require.NoError(t, db.MarkAccount(ctx, pgtest.AccountAcme, "token refused"))
	require.Equal(t, first, mark())
	require.NoError(t, db.MarkAccount(ctx, pgtest.AccountAcme, ""))
	require.Equal(t, "never ", mark())
}
