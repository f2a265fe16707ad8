package activities_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

var settings = cloud.Settings{Converge: 30 * time.Second, Refresh: 5 * time.Minute, Settle: 2 * time.Minute}

// clock is a time that only moves when a test says so.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a database, a cloud and the activities between them, on one clock.
type world struct {
	t      *testing.T
	db     *pgtest.DB
	clock  *clock
	cloud  *fakecloud.Cloud
	acts   *activities.Activities
	faults *faults
	log    *bytes.Buffer
	// doubled runs every activity twice and keeps the second answer.
	doubled bool
	// ran are the steps that were run.
	ran []cloud.Step
}

func newWorld(t *testing.T) *world {
	clock := newClock()
	return worldOn(t, pgtest.New(t, postgres.WithClock(clock.Now)).World(), clock)
}

// worldOn is another cloud on the same database.
func worldOn(t *testing.T, db *pgtest.DB, c *clock) *world {
	w := &world{t: t, db: db, clock: c, cloud: fakecloud.New(c.Now), faults: &faults{}, log: &bytes.Buffer{}}
	w.cloud.SetHook(w.faults.hook)
	w.acts = &activities.Activities{
		Records: faultyRecords{db.Store, w.faults}, Accounts: w.cloud, Settings: settings, Now: c.Now,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return w
}

func (w *world) create(kind, name string, spec cloud.Spec, edits ...func(*intent.NewResource)) *cloud.Resource {
	w.t.Helper()
	edits = append([]func(*intent.NewResource){func(n *intent.NewResource) { n.Resource.Spec = spec }}, edits...)
	return w.db.Create(pgtest.Request(fakecloud.Manifest(kind), name, edits...))
}

// change records a wish as the API does.
func (w *world) change(id string, fn func(r *cloud.Resource, now time.Time) *cloud.Change) {
	w.t.Helper()
	_, err := w.db.Change(context.Background(), pgtest.Acme, id, "acme/alice", "update",
		func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return fn(r, w.clock.Now()), nil
		})
	require.NoError(w.t, err)
}

func (w *world) deleteTree(id string) {
	w.t.Helper()
	_, err := w.db.Change(context.Background(), pgtest.Acme, id, "acme/alice", "delete",
		func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return r.WantDelete(w.clock.Now()), tx.DeleteTree(ctx, r.ID, "acme/alice")
		})
	require.NoError(w.t, err)
}

func (w *world) record(id string) *cloud.Resource {
	w.t.Helper()
	r, _, err := w.db.Load(context.Background(), id)
	require.NoError(w.t, err)
	return r
}

// settle does what a workflow does until there is nothing left to do but wait
// for a signal. Waiting moves the clock. A failure that stays is returned as
// its first retry.
func (w *world) settle(id string) cloud.Next {
	w.t.Helper()
	next := w.load(id)
	for range 400 {
		switch next.Step {
		case cloud.StepRest, cloud.StepEnd:
			return next
		case cloud.StepRetry:
			w.clock.Advance(max(next.RetryAt.Sub(w.clock.Now()), time.Second))
			next = w.load(id)
		default:
			next = w.step(id, next)
		}
	}
	w.t.Fatalf("%s does not come to rest: %+v", id, next)
	return next
}

func (w *world) load(id string) cloud.Next {
	w.t.Helper()
	next, err := w.acts.LoadResource(context.Background(), id)
	require.NoError(w.t, err)
	return next
}

// step runs the activity of a step once. When the server would run it again,
// the clock moves by the delay and the same step comes back.
func (w *world) step(id string, next cloud.Next) cloud.Next {
	w.t.Helper()
	run := map[cloud.Step]func(context.Context, string) (cloud.Next, error){
		cloud.StepAdopt: w.acts.AdoptResource, cloud.StepProvision: w.acts.ProvisionResource, cloud.StepUpdate: w.acts.UpdateResource,
		cloud.StepRefresh: w.acts.RefreshResource, cloud.StepDelete: w.acts.DeleteResource, cloud.StepRelease: w.acts.ReleaseResource,
	}[next.Step]
	require.NotNil(w.t, run, "step %q", next.Step)
	w.ran = append(w.ran, next.Step)
	if w.doubled {
		_, _ = alive(run, id)
	}
	answer, err := alive(run, id)
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return answer
	case errors.Is(err, errKilled):
		w.clock.Advance(20 * time.Second) // until its heartbeats are missed
	case errors.As(err, &app):
		w.clock.Advance(max(app.NextRetryDelay(), time.Second))
	default:
		require.NoError(w.t, err)
	}
	return next
}

// alive runs an activity in a worker that a fault may kill.
func alive(run func(context.Context, string) (cloud.Next, error), id string) (next cloud.Next, err error) {
	defer func() {
		if v := recover(); v != nil {
			killed, ok := v.(error)
			if !ok || !errors.Is(killed, errKilled) {
				panic(v)
			}
			err = errKilled
		}
	}()
	return run(context.Background(), id)
}

// events lists the types of a resource's events in order.
func (w *world) events(id string) []cloud.EventType {
	w.t.Helper()
	all, err := w.db.ListEvents(context.Background(), pgtest.Acme, 0, 100000)
	require.NoError(w.t, err)
	types := []cloud.EventType{}
	for _, e := range all {
		if e.Subject == id {
			types = append(types, cloud.EventType(e.Type))
		}
	}
	return types
}

// object is the one object of a record; the test fails unless there is exactly one.
func (w *world) object(r *cloud.Resource) fakecloud.Object {
	w.t.Helper()
	objects := w.cloud.Objects()
	var own []fakecloud.Object
	for _, o := range objects {
		if o.ID == r.ProviderID {
			own = append(own, o)
		}
	}
	require.Len(w.t, own, 1, "objects: %+v", objects)
	return own[0]
}

// sealed opens a secret output.
func (w *world) sealed(r *cloud.Resource, output string) string {
	w.t.Helper()
	v, err := w.db.RevealSecret(context.Background(), r.TenantID, r.SecretOutputs[output], "acme/alice")
	require.NoError(w.t, err)
	return v.Reveal()
}

// noCanary searches everything that was kept for secrets.
func (w *world) noCanary() {
	w.t.Helper()
	require.NotContains(w.t, w.db.Dump(), fakecloud.Canary)
	require.NotContains(w.t, w.log.String(), fakecloud.Canary)
}
