package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// delivering has the subscriber hook of acme and waiting deliveries of the
// given subjects, in that order.
func delivering(t *testing.T, c *clock, subjects ...string) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	apply(t, db.Store)
	for i, subject := range subjects {
		id := fmt.Sprintf("%s-%d", subject, i+1)
		db.Exec(`INSERT INTO events (id, tenant_id, sequence, type, subject, at, actor, data)
			VALUES ($1, 'acme', $2, 'cloud.resource.ready', $3, now(), 'acme/alice', '{"state": "ready"}')`, id, i+1, subject)
		db.Exec(`INSERT INTO deliveries (subscriber_id, event_id, subject, sequence, status, due_at)
			VALUES ('hook', $1, $2, $3, 'waiting', $4)`, id, subject, i+1, c.now())
	}
	return db
}

func ids(due []ports.Delivery) []string {
	out := []string{}
	for _, d := range due {
		out = append(out, d.EventID)
	}
	return out
}

func TestDeliveriesOfASubjectKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newClock(time.Now().Add(-time.Minute))
	db := delivering(t, c, "r1", "r2", "r1", "r1")
	subs, err := db.DueSubscribers(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"hook"}, subs)
	due, next, err := db.DueDeliveries(ctx, "hook", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"r1-1", "r2-2"}, ids(due), "of each subject the oldest")
	require.Zero(t, next)
	require.Equal(t, "acme", due[0].TenantID)
	require.EqualValues(t, 1, due[0].Sequence)
	require.JSONEq(t, `{"state":"ready"}`, string(due[0].Data))

	later := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	first := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, db.SaveDelivery(ctx, "hook", ports.DeliveryAttempt{
		EventID: "r1-1", Status: ports.DeliveryWaiting, Attempts: 1, FirstAt: first, DueAt: later, Error: "answered 500"}))
	require.NoError(t, db.SaveDelivery(ctx, "hook", ports.DeliveryAttempt{
		EventID: "r2-2", Status: ports.DeliveryDelivered, Attempts: 1, FirstAt: first}))
	due, next, err = db.DueDeliveries(ctx, "hook", 10)
	require.NoError(t, err)
	require.Empty(t, due, "what is behind a waiting one waits too")
	require.Equal(t, later, next)

	require.NoError(t, db.SaveDelivery(ctx, "hook", ports.DeliveryAttempt{
		EventID: "r1-1", Status: ports.DeliveryDead, Attempts: 2, FirstAt: first, Error: "answered 500"}))
	due, _, err = db.DueDeliveries(ctx, "hook", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"r1-3"}, ids(due), "a dead one lets the next go")

	require.NoError(t, db.SaveDelivery(ctx, "hook", ports.DeliveryAttempt{EventID: "r2-2", Status: ports.DeliveryWaiting, Attempts: 5}))
	require.Equal(t, "delivered", pgtest.Value[string](db, "SELECT status FROM deliveries WHERE event_id = 'r2-2'"), "a late report changes nothing")
}

func TestLimitLeavesTheRestForNext(t *testing.T) {
	t.Parallel()
	c := newClock(time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond))
	db := delivering(t, c, "a", "b", "c")
	due, next, err := db.DueDeliveries(context.Background(), "hook", 2)
	require.NoError(t, err)
	require.Len(t, due, 2)
	require.Equal(t, c.now().UTC(), next)
}

func TestDeadLettersAndReplay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := delivering(t, newClock(time.Now().Add(-time.Minute)), "a", "b", "c")
	require.NoError(t, db.DeactivateSubscriber(ctx, "hook", "answered 410"))
	sub, err := db.Subscriber(ctx, "hook")
	require.NoError(t, err)
	require.False(t, sub.Active)
	require.Equal(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", sub.Secret.Reveal())
	subs, err := db.DueSubscribers(ctx)
	require.NoError(t, err)
	require.Empty(t, subs)

	dead, err := db.DeadDeliveries(ctx, "", 10)
	require.NoError(t, err)
	require.Len(t, dead, 3)
	require.Equal(t, "answered 410", dead[0].Error)
	require.Equal(t, "a-1", dead[0].EventID)

	n, err := db.ReplayDeliveries(ctx, "hook", "b-2")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "webhook/hook", pgtest.Value[string](db, "SELECT workflow_id FROM outbox WHERE workflow_id LIKE 'webhook/%'"))
	n, err = db.ReplayDeliveries(ctx, "hook", "")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	sub, err = db.Subscriber(ctx, "hook")
	require.NoError(t, err)
	require.True(t, sub.Active)
	due, _, err := db.DueDeliveries(ctx, "hook", 10)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.Zero(t, due[0].Attempts)

	_, err = db.ReplayDeliveries(ctx, "nobody", "")
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
	_, err = db.Subscriber(ctx, "nobody")
	require.Equal(t, cloud.CodeNotFound, cloud.AsError(err).Code)
}

func TestASubscriberMovedToAnotherTenantGetsNoOldEvents(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := delivering(t, newClock(time.Now().Add(-time.Minute)), "a")
	apply(t, db.Store, "id: hook, tenant: acme", "id: hook, tenant: globex")
	due, next, err := db.DueDeliveries(ctx, "hook", 10)
	require.NoError(t, err)
	require.Empty(t, due)
	require.Zero(t, next)
}
