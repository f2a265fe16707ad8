package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

func TestConcurrentUpdatesBothCount(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	errs := atOnce(8, func(i int) error {
		_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "acme/alice", "update", func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return r.WantSpec(r.Spec.Merge(cloud.Spec{fmt.Sprintf("f%d", i): "v"}), time.Now()), nil
		})
		return err
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	got, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.Equal(t, int64(9), got.Version)
	require.Equal(t, int64(9), got.Generation)
	require.Len(t, got.Spec, 9)
	require.Equal(t, "9 9", pgtest.Value[string](db, "SELECT generation || ' ' || serial FROM outbox WHERE workflow_id = $1", r.ID))
}

func TestOnlyWhatAsksForSomethingSignals(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	for name, c := range map[string]struct {
		asks   bool
		change func(r *cloud.Resource) *cloud.Change
	}{
		"a description": {false, func(r *cloud.Resource) *cloud.Change { return r.WantDescription("text", true, time.Now()) }},
		"an equal spec": {false, func(r *cloud.Resource) *cloud.Change { return r.WantSpec(r.Spec.Clone(), time.Now()) }},
		"a new spec":    {true, func(r *cloud.Resource) *cloud.Change { return r.WantSpec(cloud.Spec{"size": "b"}, time.Now()) }},
		"a refresh":     {true, func(r *cloud.Resource) *cloud.Change { return r.WantRefresh(time.Now()) }},
	} {
		db.Exec("DELETE FROM outbox")
		ask(t, db, r.ID, c.change)
		require.Equal(t, c.asks, count(db, "outbox") == 1, name)
	}
}

func TestARefusedChangeLeavesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	r := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "update", func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		r.WantSpec(cloud.Spec{"size": "b"}, time.Now())
		return nil, tx.CheckInstances(ctx, pgtest.Acme, pgtest.AccountAcme, []string{"ins_none"})
	})
	refused(t, err, cloud.CodeInvalidInput, cloud.ReasonInstance)
	got, err := db.Resource(context.Background(), pgtest.Acme, r.ID)
	require.NoError(t, err)
	require.Equal(t, r, got)
	_, err = db.Change(context.Background(), pgtest.Globex, r.ID, "a", "", func(context.Context, intent.Tx, *cloud.Resource) (*cloud.Change, error) {
		t.Error("another tenant's record was handed out")
		return nil, nil
	})
	refused(t, err, cloud.CodeNotFound, "")
}

func TestBookingGrowsAtOnceAndShrinksWhenItRuns(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO capacities (tenant_id, pool_id, capacity, amount) VALUES ('acme', $1, 'gpu', 8)", pgtest.PoolAcme)
	r := db.Create(pgtest.Request(pgtest.KindInference, "a", gpus(4)))
	booked := func() string {
		return pgtest.Value[string](db, "SELECT coalesce(sum(amount), 0) || ' ' || coalesce(sum(wanted), 0) FROM quota_bookings")
	}
	rebook := func(n int64) error {
		_, err := db.Change(context.Background(), pgtest.Acme, r.ID, "a", "update", func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			if err := tx.Rebook(ctx, r, map[string]int64{"gpu": n}); err != nil {
				return nil, err
			}
			return r.WantSpec(cloud.Spec{"replicas": n}, time.Now()), nil
		})
		return err
	}
	e := refused(t, rebook(9), cloud.CodeQuotaExceeded, "")
	require.Equal(t, int64(8), e.Details["limit"])
	require.Equal(t, "4 4", booked())
	require.NoError(t, rebook(8))
	require.Equal(t, "8 8", booked())
	require.NoError(t, rebook(2))
	require.Equal(t, "8 2", booked())
	require.NoError(t, rebook(6)) // still below what runs: nothing more is charged
	require.Equal(t, "8 6", booked())
	_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "b", gpus(1)))
	require.Equal(t, int64(8), refused(t, err, cloud.CodeQuotaExceeded, "").Details["used"])
	ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Ready(&cloud.Observed{ProviderID: "p", Phase: cloud.PhaseReady}, r.Generation, time.Now())
	})
	require.Equal(t, "6 6", booked())
	db.Create(pgtest.Request(pgtest.KindInference, "b", gpus(2)))
	end(t, db, r.ID)
	require.Equal(t, "2 2", booked())
}

// Two growths that fit alone but not together: one is refused.
func TestBookingRace(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO capacities (tenant_id, pool_id, capacity, amount) VALUES ('acme', $1, 'gpu', 8)", pgtest.PoolAcme)
	ids := []string{db.Create(pgtest.Request(pgtest.KindInference, "a", gpus(1))).ID, db.Create(pgtest.Request(pgtest.KindInference, "b", gpus(1))).ID}
	errs := atOnce(3, func(i int) error {
		if i == 2 {
			_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindInference, "c", gpus(5)))
			return err
		}
		_, err := db.Change(context.Background(), pgtest.Acme, ids[i], "a", "update", func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return r.WantRefresh(time.Now()), tx.Rebook(ctx, r, map[string]int64{"gpu": 6})
		})
		return err
	})
	refusals := 0
	for _, err := range errs {
		if err != nil {
			refused(t, err, cloud.CodeQuotaExceeded, "")
			refusals++
		}
	}
	require.Equal(t, 2, refusals)
	require.LessOrEqual(t, pgtest.Value[int64](db, "SELECT sum(amount)::bigint FROM quota_bookings"), int64(8))
}

func deleteTree(db *pgtest.DB, id string) error {
	_, err := db.Change(context.Background(), pgtest.Acme, id, "acme/alice", "delete", func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		return r.WantDelete(time.Now()), tx.DeleteTree(ctx, r.ID, "acme/alice")
	})
	return err
}

func TestDeleteMarksTheWholeTree(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	cluster := db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	user := db.Create(pgtest.Request(pgtest.KindUser, "u", pgtest.In(cluster), pgtest.With("name", "a")))
	gone := db.Create(pgtest.Request(pgtest.KindUser, "gone", pgtest.In(cluster), pgtest.With("name", "b")))
	end(t, db, gone.ID)
	other := db.Create(pgtest.Request(pgtest.KindCluster, "other"))
	db.Exec("DELETE FROM outbox")
	require.NoError(t, deleteTree(db, cluster.ID))
	require.NoError(t, deleteTree(db, cluster.ID)) // again changes nothing
	require.Equal(t, int64(2), pgtest.Value[int64](db, "SELECT count(*) FROM resources WHERE intent = 'delete' AND state = 'deleting'"))
	require.Equal(t, int64(2), pgtest.Value[int64](db, "SELECT count(*) FROM events WHERE type = 'cloud.resource.deleting' AND actor = 'acme/alice'"))
	require.ElementsMatch(t, []string{cluster.ID, user.ID}, pgtest.Value[[]string](db, "SELECT array_agg(workflow_id) FROM outbox WHERE signal = 'delete'"))
	require.Equal(t, "present", pgtest.Value[string](db, "SELECT intent FROM resources WHERE id = $1", other.ID))

	// The end of the last child wakes the parent.
	db.Exec("DELETE FROM outbox")
	end(t, db, user.ID)
	require.Equal(t, cluster.ID, pgtest.Value[string](db, "SELECT workflow_id FROM outbox WHERE signal = 'refresh' AND due_at <= now()"))
}

// Whichever comes first, no live child is left under a deleted parent unmarked.
func TestParentDeleteAgainstChildCreate(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	for round := range 10 {
		cluster := db.Create(pgtest.Request(pgtest.KindCluster, fmt.Sprintf("pg%d", round)))
		errs := atOnce(6, func(i int) error {
			if i == 3 {
				return deleteTree(db, cluster.ID)
			}
			_, err := db.Insert(context.Background(), pgtest.Request(pgtest.KindUser, fmt.Sprintf("u%d-%d", round, i), pgtest.In(cluster), pgtest.With("name", fmt.Sprint(i))))
			return err
		})
		for i, err := range errs {
			if err != nil {
				require.NotEqual(t, 3, i, err)
				refused(t, err, cloud.CodeInvalidInput, cloud.ReasonParent)
			}
		}
		require.Zero(t, pgtest.Value[int64](db, "SELECT count(*) FROM resources WHERE parent_id = $1 AND intent <> 'delete'", cluster.ID))
		db.Exec("UPDATE resources SET state = 'deleted', ended_at = now() WHERE state <> 'deleted'") // below the quota
	}
}

func TestTheEndRemovesWhatMustNotOutlive(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Exec("INSERT INTO capacities (tenant_id, pool_id, capacity, amount) VALUES ('acme', $1, 'gpu', 8)", pgtest.PoolAcme)
	r := db.Create(pgtest.Request(pgtest.KindInference, "a", gpus(4)))
	ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Accept(&cloud.Observed{ProviderID: "p", Secrets: map[string]cloud.Secret{"key": cloud.NewSecret("v")}}, time.Now())
	})
	require.Equal(t, int64(1), count(db, "secrets"))
	end(t, db, r.ID)
	for _, table := range []string{"authorization_rows", "quota_bookings", "secrets"} {
		require.Zero(t, count(db, table), table)
	}
}
