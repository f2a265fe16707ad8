package activities_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// guarded is a cluster with a user on a pool that demands a quorum for
// deletes, and the rules that turn a delete into a batch.
type guarded struct {
	*world
	batches       *batchWorld
	rules         *intent.Service
	cluster, user *cloud.Resource
}

func newGuarded(t *testing.T) *guarded {
	b := newBatchWorld(t)
	w := worldOn(t, b.db, b.clock)
	g := &guarded{world: w, batches: b, rules: &intent.Service{Store: b.db.Store, Batches: b.rules, Now: b.clock.Now}}
	b.db.Exec("UPDATE pools SET destructive_quorum = true WHERE id = $1", pgtest.PoolAcme)
	g.cluster = readyCluster(w, "pg")
	user := w.create(fakecloud.KindUser, "app", cloud.Spec{"name": "app"}, pgtest.In(g.cluster))
	w.settle(user.ID)
	g.user = w.record(user.ID)
	return g
}

// delete asks for the cluster's end and returns the batch that it awaits.
func (g *guarded) delete(id string) *cloud.Batch {
	g.t.Helper()
	require.NoError(g.t, g.rules.OperatorDelete(context.Background(), id))
	held := g.record(id)
	require.Equal(g.t, cloud.StateDeleting, held.State)
	require.Contains(g.t, held.Message, "awaits the approval of command batch "+held.HeldBy)
	return g.batches.batch(held.HeldBy)
}

func TestADeletionAwaitsItsApprovers(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	b := g.delete(g.cluster.ID)
	require.Equal(t, g.cluster.ID, b.ResourceID)
	commands := g.batches.commands(b.ID)
	require.Len(t, commands, 2, "the resource and everything that lives in it")
	require.Equal(t, []string{g.cluster.ID, g.user.ID}, []string{commands[0].Subject, commands[1].Subject})
	require.Contains(t, string(commands[0].Payload), `"name":"pg"`, "approvers see what it is")
	g.cloud.Forget()
	require.Equal(t, cloud.StepRest, g.settle(g.cluster.ID).Step)
	require.Equal(t, cloud.StepRest, g.settle(g.user.ID).Step)
	g.batches.approve(b, "ann")
	require.Equal(t, cloud.BatchAwaiting, g.batches.settle(b.ID))
	require.Empty(t, g.cloud.Calls, "nothing is done before it is approved")
	require.Equal(t, b.ID, g.delete(g.cluster.ID).ID, "asking again makes no other batch")

	g.batches.approve(b, "cid")
	require.Equal(t, cloud.BatchCompleted, g.batches.settle(b.ID))
	require.Equal(t, cloud.StepEnd, g.settle(g.user.ID).Step)
	require.Equal(t, cloud.StepEnd, g.settle(g.cluster.ID).Step)
	require.Empty(t, g.cloud.Objects())
	require.Zero(t, g.batches.wire.sent, "no daemon is needed")
	require.Equal(t, and(made, cloud.EventDeleting, cloud.EventDeleted), g.events(g.cluster.ID))
}

func TestACancelledOrExpiredDeletionIsGivenBackAsItWas(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	ctx := context.Background()
	ends := map[string]func(b *cloud.Batch){
		"cancelled": func(b *cloud.Batch) { require.NoError(t, g.batches.rules.OperatorCancel(ctx, b.ID)) },
		"expired": func(b *cloud.Batch) {
			g.clock.Advance(b.ExpiresAt.Sub(g.clock.Now()))
			g.batches.next(b.ID)
		},
	}
	for name, end := range ends {
		before := g.record(g.cluster.ID)
		b := g.delete(g.cluster.ID)
		end(b)
		require.Equal(t, cloud.BatchState(name), g.batches.batch(b.ID).State)
		for _, id := range []string{g.cluster.ID, g.user.ID} {
			r := g.record(id)
			require.Equal(t, cloud.StateReady, r.State, name)
			require.Equal(t, cloud.IntentPresent, r.Intent)
			require.Empty(t, r.HeldBy)
			require.Empty(t, r.Message)
		}
		after := g.record(g.cluster.ID)
		require.Equal(t, before.Spec, after.Spec)
		require.Equal(t, before.SecretOutputs, after.SecretOutputs)
		g.cloud.Forget()
		require.Equal(t, cloud.StepRest, g.settle(g.cluster.ID).Step)
		require.Empty(t, g.cloud.Writes(), "nothing is to be done at the provider")
	}
	require.Len(t, g.cloud.Objects(), 2)
	require.Equal(t, 2, pgtest.Value[int](g.db, "SELECT count(*) FROM command_batches"))
}

// The gateway dies at each of its points; the deletion goes ahead all the same,
// and only once.
func TestADeletionSurvivesADyingGateway(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for at := 1; at <= 7; at++ {
			g := newGuarded(t)
			b := g.delete(g.cluster.ID)
			g.batches.approve(b, "ann", "ben")
			g.batches.kill.arm(at, after)
			require.Equal(t, cloud.BatchCompleted, g.batches.settle(b.ID))
			require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 2}, g.batches.states(b.ID))
			for _, id := range []string{g.user.ID, g.cluster.ID} {
				require.Equal(t, cloud.StepEnd, g.settle(id).Step)
			}
		}
	}
}

func TestADeletionThatIsRefusedIsGivenBack(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	b := g.delete(g.cluster.ID)
	g.batches.approve(b, "ann", "ben")
	// Its time is over between the check of the approvals and the command.
	late := &activities.BatchActivities{
		Records: g.db.Store, Intents: g.batches.rules, Client: quorum.Client{HTTP: &http.Client{}}, Log: slog.New(slog.DiscardHandler),
		Now: sequence(g.clock.Now(), b.ExpiresAt),
	}
	_, err := late.DispatchCommands(context.Background(), b.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.BatchCompleted, g.batches.batch(b.ID).State)
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandRefused: 2}, g.batches.states(b.ID))
	for _, id := range []string{g.cluster.ID, g.user.ID} {
		require.Equal(t, cloud.StateReady, g.record(id).State, "a batch that has ended holds nothing")
	}
}

// sequence is a clock that shows early for the approvals' checks and late after.
func sequence(early, late time.Time) func() time.Time {
	var looks atomic.Int64
	return func() time.Time {
		if looks.Add(1) <= 2 {
			return early
		}
		return late
	}
}

// What stands on a guarded pool does not go by the deletion of a parent that
// stands on another.
func TestAGuardedChildGuardsItsParent(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.db.Exec("UPDATE resources SET pool_id = $2 WHERE id = $1", g.cluster.ID, pgtest.PoolFree)
	b := g.delete(g.cluster.ID)
	require.Equal(t, 2, b.LeafCount)
	require.Equal(t, b.ID, g.record(g.user.ID).HeldBy)
}
