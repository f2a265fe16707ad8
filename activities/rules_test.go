package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// refuse answers one verb with an error, the effect undone.
func refuse(verb string, e *cloud.ProviderError) func(context.Context, fakecloud.Call, func() error) error {
	return func(_ context.Context, c fakecloud.Call, do func() error) error {
		if c.Verb == verb {
			return e
		}
		return do()
	}
}

// once runs the next activity a single time.
func (w *world) once(id string) (cloud.Next, error) {
	w.t.Helper()
	step := w.load(id).Step
	switch step {
	case cloud.StepProvision:
		return w.acts.ProvisionResource(context.Background(), id)
	case cloud.StepDelete:
		return w.acts.DeleteResource(context.Background(), id)
	}
	return w.acts.RefreshResource(context.Background(), id)
}

func TestRefusedSpecFailsAndRecovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newCluster(w, "one")
	w.cloud.SetHook(refuse("create", &cloud.ProviderError{Class: cloud.ClassRefused, Op: "create", Status: 422, Message: "no such size", Fields: []string{"spec.size"}, RequestID: "req-1"}))
	for range 3 {
		next, err := w.once(r.ID)
		require.NoError(t, err)
		require.Equal(t, cloud.StepRetry, next.Step, "D6")
		require.Equal(t, w.clock.Now().Add(settings.Refresh), next.RetryAt.UTC())
		w.clock.Advance(settings.Refresh)
	}
	failed := w.record(r.ID)
	require.Equal(t, "spec.size: no such size (request req-1)", failed.Message)
	require.True(t, failed.NeverAccepted(), "a refused create leaves no mark of an attempt")
	require.Equal(t, []cloud.EventType{cloud.EventCreated, cloud.EventFailed}, w.events(r.ID), "told once")
	w.cloud.SetHook(nil)
	w.settle(r.ID)
	require.Equal(t, cloud.StateReady, w.record(r.ID).State)
	require.Equal(t, []cloud.EventType{cloud.EventCreated, cloud.EventFailed, cloud.EventReady}, w.events(r.ID))
}

func TestNeverAcceptedIsDeletedWithoutACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newCluster(w, "one")
	w.change(r.ID, (*cloud.Resource).WantDelete)
	require.Equal(t, cloud.StepEnd, w.settle(r.ID).Step)
	require.Empty(t, w.cloud.Calls)
}

func TestThrottledWaitsAndNeverFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newCluster(w, "one")
	w.cloud.SetHook(refuse("create", &cloud.ProviderError{Class: cloud.ClassThrottled, Op: "create", Status: 429, Message: "too many", RetryAfter: 29 * time.Second}))
	for range 20 {
		_, err := w.once(r.ID)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, 29*time.Second, app.NextRetryDelay(), "B21")
		require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
	}
	require.Equal(t, []cloud.EventType{cloud.EventCreated}, w.events(r.ID))
	require.True(t, w.record(r.ID).AttemptedAt.IsZero(), "a throttled create was not processed, so it may be sent again")
	w.cloud.SetHook(nil)
	w.settle(r.ID)
	require.Equal(t, cloud.StateReady, w.record(r.ID).State)
}

func TestUnreachableAccountKeepsStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waiting, going := newCluster(w, "waiting"), readyCluster(w, "going")
	w.change(going.ID, (*cloud.Resource).WantDelete)
	w.cloud.Down = &cloud.ProviderError{Class: cloud.ClassUnreachable, Op: "get", Status: 401, Message: "Unable to authenticate"}
	for range 30 { // a good while
		for _, id := range []string{waiting.ID, going.ID} {
			_, err := w.once(id)
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			w.clock.Advance(app.NextRetryDelay())
		}
	}
	require.Equal(t, cloud.StatePending, w.record(waiting.ID).State, "D8")
	require.Equal(t, cloud.StateDeleting, w.record(going.ID).State, "nothing is declared gone (B27)")
	require.Contains(t, w.record(waiting.ID).Message, "does not answer for us")
	require.Equal(t, "Unable to authenticate", pgtest.Value[string](w.db, "SELECT unreachable_message FROM provider_accounts WHERE id = $1", pgtest.AccountAcme))
	w.cloud.Down = nil
	w.settle(waiting.ID)
	w.settle(going.ID)
	require.Equal(t, cloud.StateReady, w.record(waiting.ID).State)
	require.Empty(t, w.record(waiting.ID).Message)
	require.Equal(t, cloud.StateDeleted, w.record(going.ID).State)
	require.Empty(t, pgtest.Value[string](w.db, "SELECT unreachable_message FROM provider_accounts WHERE id = $1", pgtest.AccountAcme))
	require.Equal(t, made, w.events(waiting.ID), "no storm of events")
}

func TestLastingSilenceIsAnErrorAndHeals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newCluster(w, "one")
	silence := &cloud.ProviderError{Class: cloud.ClassUnknown, Op: "get", Status: 503, Message: "no answer"}
	w.cloud.Down = silence
	for range 9 {
		_, err := w.once(r.ID)
		require.Error(t, err)
		w.clock.Advance(settings.Converge)
	}
	next, err := w.once(r.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StepRetry, next.Step, "B26")
	w.cloud.Down = nil
	w.settle(r.ID)
	require.Equal(t, []cloud.EventType{cloud.EventCreated, cloud.EventFailed, cloud.EventReady}, w.events(r.ID))
}

func TestDriftIsRepairedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := readyCluster(w, "one")
	drift := func() {
		w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s9"; return o })
		w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change {
			return r.Refreshed(&cloud.Observed{ProviderID: r.ProviderID}, []string{"size"}, nil, now)
		})
	}
	for range cloud.MaxRepairs {
		drift()
		w.settle(r.ID)
		require.Equal(t, "s1", w.object(w.record(r.ID)).Spec["size"])
		w.clock.Advance(settings.Refresh)
	}
	drift()
	next := w.step(r.ID, w.load(r.ID))
	require.Equal(t, cloud.StepRetry, next.Step, "the third in a row stops (D5)")
	require.Contains(t, next.Message, "spec.size")
	require.Equal(t, "s9", w.object(w.record(r.ID)).Spec["size"])
	w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change { return r.WantSpec(cloud.Spec{"size": "s3"}, now) })
	w.settle(r.ID)
	require.Equal(t, "s3", w.object(w.record(r.ID)).Spec["size"], "a new spec starts anew")
}

func TestVanishedObjectComesBackOrIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := readyCluster(w, "one")
	w.clock.Advance(time.Hour)
	var kept fakecloud.Object
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { kept = *o; return nil })
	w.change(r.ID, (*cloud.Resource).Missing)
	next := w.load(r.ID)
	for next.Step == cloud.StepRefresh {
		next = w.step(r.ID, next)
	}
	require.Equal(t, cloud.StepRetry, next.Step, "D4")
	require.Equal(t, cloud.StateError, w.record(r.ID).State)
	require.Len(t, w.cloud.Writes(), 1, "never made again by itself")
	w.cloud.Put(kept)
	w.settle(r.ID)
	require.Equal(t, cloud.StateReady, w.record(r.ID).State)
	w.cloud.Edit(r.ProviderID, func(*fakecloud.Object) *fakecloud.Object { return nil })
	w.change(r.ID, (*cloud.Resource).WantDelete)
	require.Equal(t, cloud.StepEnd, w.settle(r.ID).Step)
	require.Len(t, w.cloud.Writes(), 1, "its delete changes nothing at the provider")
}

func TestForeignObjectIsNotTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := readyCluster(w, "one")
	w.clock.Advance(time.Hour)
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Owner.Deployment = "another"; return o })
	w.change(r.ID, (*cloud.Resource).WantDelete)
	next, err := w.once(r.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StepRetry, next.Step)
	require.Contains(t, next.Message, "not managed by this deployment")
	require.Len(t, w.cloud.Writes(), 1, "only the create")
	require.Len(t, w.cloud.Objects(), 1)
}

func TestLostLabelsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := readyCluster(w, "one")
	w.clock.Advance(time.Hour)
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Owner = cloud.Owner{}; return o })
	w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change { return r.Suspect(cloud.ClassNotManaged, now) })
	w.settle(r.ID)
	require.Equal(t, cloud.LabelKey(r.ID), w.object(r).Owner.ResourceKey, "B29")
	require.Equal(t, made, w.events(r.ID))
}

func TestNamesakeOfAChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := readyCluster(w, "parent")
	w.cloud.Put(fakecloud.Object{Kind: fakecloud.KindUser, Name: parent.ProviderID + "/app", ID: parent.ProviderID + "/app", Parent: parent.ProviderID, Spec: cloud.Spec{"name": "app"}})
	r := w.create(fakecloud.KindUser, "app", cloud.Spec{"name": "app"}, pgtest.In(parent))
	_, err := w.once(r.ID)
	require.Error(t, err, "it may be going away (B18)")
	require.Empty(t, w.record(r.ID).ProviderID, "and is not taken meanwhile")
	w.cloud.Edit(parent.ProviderID+"/app", func(*fakecloud.Object) *fakecloud.Object { return nil })
	w.settle(r.ID)
	require.Equal(t, cloud.StateReady, w.record(r.ID).State)

	w.cloud.Put(fakecloud.Object{Kind: fakecloud.KindUser, Name: parent.ProviderID + "/web", ID: parent.ProviderID + "/web", Parent: parent.ProviderID, Spec: cloud.Spec{"name": "web"}})
	stays := w.create(fakecloud.KindUser, "web", cloud.Spec{"name": "web"}, pgtest.In(parent))
	w.clock.Advance(settings.Settle)
	next, err := w.once(stays.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StepRetry, next.Step)
	w.change(stays.ID, (*cloud.Resource).WantDelete)
	w.settle(stays.ID)
	require.Equal(t, cloud.StateDeleted, w.record(stays.ID).State)
	require.Len(t, w.cloud.Objects(), 3, "somebody else's user is still there")
}

func TestHeldTreeSerialisesChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := readyCluster(w, "parent")
	a := w.create(fakecloud.KindUser, "a", cloud.Spec{"name": "a"}, pgtest.In(parent))
	b := w.create(fakecloud.KindUser, "b", cloud.Spec{"name": "b"}, pgtest.In(parent))
	inside, leave := make(chan struct{}), make(chan struct{})
	w.cloud.SetHook(func(_ context.Context, c fakecloud.Call, do func() error) error {
		if c.Verb == "create" && c.Name == parent.ProviderID+"/a" {
			close(inside)
			<-leave
		}
		return do()
	})
	done := make(chan error)
	go func() {
		_, err := w.acts.ProvisionResource(context.Background(), a.ID)
		done <- err
	}()
	<-inside
	_, err := w.acts.ProvisionResource(context.Background(), b.ID)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app, "D17")
	require.Equal(t, activities.ErrorWaiting, app.Type())
	close(leave)
	<-done
	w.settle(a.ID)
	w.settle(b.ID)
	require.Equal(t, map[string]int{cloud.ProviderName(parent.ID): 1, parent.ProviderID + "/a": 1, parent.ProviderID + "/b": 1}, w.cloud.Made())
}

func TestLoadOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, cloud.StepEnd, w.load("crs_nobody").Step)
}
