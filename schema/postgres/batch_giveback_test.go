package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// hold asks for a deletion that awaits a batch, as the rules do, and returns
// the batch.
func hold(t *testing.T, db *pgtest.DB, id string) string {
	t.Helper()
	var batch string
	_, err := db.Change(context.Background(), pgtest.Acme, id, "acme/alice", "delete", func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
		tree, err := tx.LiveChildren(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if batch, err = batches(db).DeleteBatch(ctx, tx, r, tree, "acme/alice"); err != nil {
			return nil, err
		}
		return r.HoldDelete(batch, time.Now()), nil
	})
	require.NoError(t, err)
	return batch
}

func record(t *testing.T, db *pgtest.DB, id string) *cloud.Resource {
	t.Helper()
	r, _, err := db.Load(context.Background(), id)
	require.NoError(t, err)
	return r
}

// tree is a cluster with two users, under keys that nobody has used yet.
func guardedTree(t *testing.T) (db *pgtest.DB, cluster, a, b *cloud.Resource) {
	db = pgtest.New(t).World()
	publish(t, db, 1, "approver")
	cluster = db.Create(pgtest.Request(pgtest.KindCluster, "pg"))
	a = db.Create(pgtest.Request(pgtest.KindUser, "a", pgtest.In(cluster), pgtest.With("name", "a")))
	b = db.Create(pgtest.Request(pgtest.KindUser, "b", pgtest.In(cluster), pgtest.With("name", "b")))
	return db, cluster, a, b
}

func TestACancelledBatchGivesTheTreeBack(t *testing.T) {
	t.Parallel()
	db, cluster, a, b := guardedTree(t)
	before := record(t, db, a.ID)
	batch := hold(t, db, cluster.ID)
	for _, r := range []*cloud.Resource{cluster, a, b} {
		held := record(t, db, r.ID)
		require.Equal(t, cloud.StateDeleting, held.State)
		require.Equal(t, batch, held.HeldBy)
		require.Contains(t, held.Message, batch)
	}
	_, err := batches(db).Cancel(context.Background(), pgtest.Acme, batch, "acme/alice")
	require.NoError(t, err)
	for _, r := range []*cloud.Resource{cluster, a, b} {
		given := record(t, db, r.ID)
		require.Equal(t, cloud.StatePending, given.State, "as it was")
		require.Equal(t, cloud.IntentPresent, given.Intent)
		require.Empty(t, given.HeldBy)
	}
	require.Equal(t, before.Message, record(t, db, a.ID).Message)
	require.Zero(t, pgtest.Value[int](db, "SELECT count(*) FROM resources WHERE before IS NOT NULL AND before <> 'null'"))
	require.NotEqual(t, batch, hold(t, db, cluster.ID), "asked for again, it has a batch of its own")
}

// A user's own deletion awaits one batch, its cluster's another.
func TestAChildSharesItsParentsFate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("the parent is deleted meanwhile", func(t *testing.T) {
		t.Parallel()
		db, cluster, a, b := guardedTree(t)
		own, whole := hold(t, db, a.ID), hold(t, db, cluster.ID)
		require.Equal(t, own, record(t, db, a.ID).HeldBy)
		require.NoError(t, db.ApproveDeletion(ctx, whole, cluster.ID))
		_, err := batches(db).Cancel(ctx, pgtest.Acme, own, "acme/alice")
		require.NoError(t, err)
		child := record(t, db, a.ID)
		require.Equal(t, cloud.StateDeleting, child.State, "nothing comes back to life in what is being deleted")
		require.Empty(t, child.HeldBy, "and its deletion goes on")
		require.Equal(t, whole, record(t, db, b.ID).HeldBy)
	})
	t.Run("the parent waits too", func(t *testing.T) {
		t.Parallel()
		db, cluster, a, _ := guardedTree(t)
		own, whole := hold(t, db, a.ID), hold(t, db, cluster.ID)
		_, err := batches(db).Cancel(ctx, pgtest.Acme, own, "acme/alice")
		require.NoError(t, err)
		child := record(t, db, a.ID)
		require.Equal(t, whole, child.HeldBy)
		require.Equal(t, cloud.StateDeleting, child.State)
		require.Contains(t, child.Message, whole)
		_, err = batches(db).Cancel(ctx, pgtest.Acme, whole, "acme/alice")
		require.NoError(t, err)
		require.Equal(t, cloud.StatePending, record(t, db, a.ID).State, "as it was before all")
		require.Equal(t, cloud.StatePending, record(t, db, cluster.ID).State)
	})
	t.Run("what was approved for the whole holds for the part", func(t *testing.T) {
		t.Parallel()
		db, cluster, a, _ := guardedTree(t)
		own, whole := hold(t, db, a.ID), hold(t, db, cluster.ID)
		require.NoError(t, db.ApproveDeletion(ctx, whole, a.ID))
		require.Empty(t, record(t, db, a.ID).HeldBy)
		_, err := batches(db).Cancel(ctx, pgtest.Acme, own, "acme/alice")
		require.NoError(t, err)
		require.Equal(t, cloud.StateDeleting, record(t, db, a.ID).State)
	})
}

func TestOnlyWhatIsToBeDeletedIsApproved(t *testing.T) {
	t.Parallel()
	db, cluster, a, _ := guardedTree(t)
	ctx := context.Background()
	batch := hold(t, db, cluster.ID)
	require.NoError(t, db.ApproveDeletion(ctx, batch, a.ID))
	require.NoError(t, db.ApproveDeletion(ctx, batch, a.ID), "a repeat changes nothing")
	other := db.Create(pgtest.Request(pgtest.KindCluster, "other"))
	refused(t, db.ApproveDeletion(ctx, batch, other.ID), cloud.CodeNotFound, "")
	theirs := db.Create(pgtest.Request(pgtest.KindCluster, "theirs", pgtest.On(pgtest.Globex, pgtest.PoolShared, pgtest.AccountShared)))
	refused(t, db.ApproveDeletion(ctx, batch, theirs.ID), cloud.CodeNotFound, "")
	_, err := batches(db).Cancel(ctx, pgtest.Acme, batch, "acme/alice")
	require.NoError(t, err)
	refused(t, db.ApproveDeletion(ctx, batch, cluster.ID), cloud.CodeNotFound, "")
	require.Equal(t, cloud.StateDeleting, record(t, db, a.ID).State, "what went ahead goes on")
}
