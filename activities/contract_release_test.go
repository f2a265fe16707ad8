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
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// A deployment that was faster than our first run keeps what it took.
func TestAnObjectThatAnotherTookMeanwhileIsLeftToIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := adopted(w, "legacy")
	theirs := cloud.Owner{ResourceKey: "0123456789abcdefghjkmnpq", Deployment: "prod"}
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Owner = theirs; return o })
	require.Equal(t, cloud.StepRetry, w.step(r.ID, w.load(r.ID)).Step)
	require.Equal(t, cloud.StateError, w.record(r.ID).State)
	require.Equal(t, theirs, w.object(r).Owner)
	require.Empty(t, w.cloud.Writes())

	// Taken between our look and our label: the provider's side refuses.
	late := adopted(w, "late")
	w.cloud.SetHook(func(_ context.Context, c fakecloud.Call, do func() error) error {
		if c.Verb == "label" {
			return &cloud.ProviderError{Class: cloud.ClassNotManaged, Op: "label", Message: "another deployment manages it"}
		}
		return do()
	})
	require.Equal(t, cloud.StepRetry, w.step(late.ID, w.load(late.ID)).Step)
	require.Equal(t, cloud.StateError, w.record(late.ID).State)
	require.Empty(t, w.object(late).Owner)
	require.Empty(t, w.record(late.ID).Spec, "nothing is taken over")
	require.Zero(t, pgtest.Value[int](w.db, "SELECT count(*) FROM secrets"))
}

// What was never taken over is let go by a delete and by a release, without a
// call.
func TestAnAdoptionThatNeverCompletedIsLetGo(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*cloud.Resource, time.Time) *cloud.Change{
		"deleted": (*cloud.Resource).WantDelete, "released": (*cloud.Resource).WantRelease,
	} {
		w := newWorld(t)
		r := adopted(w, "legacy-"+name)
		w.change(r.ID, end)
		require.Equal(t, cloud.StepEnd, w.settle(r.ID).Step)
		require.Equal(t, cloud.StateReleased, w.record(r.ID).State, name)
		require.Equal(t, cloud.EventReleased, w.events(r.ID)[2], name)
		require.Empty(t, w.cloud.Calls, "%s: no provider call", name)
		require.Empty(t, w.object(r).Owner)
	}
}

// Until the tenant changes the spec of what it adopted, the provider's word is
// followed and nothing is repaired.
func TestWhatIsAdoptedIsObserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := adopted(w, "legacy")
	w.settle(r.ID)
	require.Equal(t, cloud.Spec{"size": "s7"}, w.record(r.ID).Spec)
	w.clock.Advance(time.Hour)
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s8"; return o })
	w.cloud.Forget()
	w.sweep(activities.SweepInput{})
	require.Equal(t, cloud.Spec{"size": "s8"}, w.record(r.ID).Spec, "followed")
	require.Equal(t, cloud.StepRest, w.load(r.ID).Step)
	require.Empty(t, w.cloud.Writes())

	w.change(r.ID, func(r *cloud.Resource, now time.Time) *cloud.Change { return r.WantSpec(cloud.Spec{"size": "s9"}, now) })
	w.settle(r.ID)
	w.clock.Advance(time.Hour)
	w.cloud.Edit(r.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s8"; return o })
	w.sweep(activities.SweepInput{})
	w.settle(r.ID)
	require.Equal(t, "s9", w.object(r).Spec["size"], "managed like any other from then on")
}

// A refused release is taken back for what we made: it stays managed, in error
// until the next refresh. What was adopted is let go without the labels' end.
func TestAReleaseThatTheProviderRefuses(t *testing.T) {
	t.Parallel()
	for _, class := range []cloud.Class{cloud.ClassRefused, cloud.ClassUnsupported} {
		w := newWorld(t)
		mine, legacy := readyCluster(w, "mine"), adopted(w, "legacy")
		w.settle(legacy.ID)
		w.cloud.SetHook(refuse("unlabel", &cloud.ProviderError{Class: class, Op: "unlabel", Status: 403, Message: "you may not untag this"}))
		for _, r := range []*cloud.Resource{mine, legacy} {
			w.change(r.ID, (*cloud.Resource).WantRelease)
		}
		require.Equal(t, cloud.StepRetry, w.step(mine.ID, w.load(mine.ID)).Step)
		r := w.record(mine.ID)
		require.Equal(t, cloud.StateError, r.State)
		require.Contains(t, r.Message, "you may not untag this")
		require.False(t, r.Releasing(), "withdrawn")
		require.Equal(t, w.clock.Now().Add(settings.Refresh), r.RetryAt.UTC())
		w.settle(mine.ID)
		require.Equal(t, cloud.StateReady, w.record(mine.ID).State, "the next refresh finds it well")
		require.Equal(t, cloud.LabelKey(mine.ID), w.object(mine).Owner.ResourceKey)
		require.Equal(t, and(made, cloud.EventReleasing, cloud.EventFailed, cloud.EventUpdated), w.events(mine.ID))

		require.Equal(t, cloud.StepEnd, w.settle(legacy.ID).Step)
		require.Equal(t, cloud.StateReleased, w.record(legacy.ID).State)
		require.Equal(t, []cloud.EventType{cloud.EventAdopted, cloud.EventReady, cloud.EventReleasing, cloud.EventReleased}, w.events(legacy.ID))
	}
}

// A delete overrides a release at every point of it: before its call the object
// is deleted; once the labels are gone it is not ours, and nothing is destroyed.
func TestADeleteOverridesAReleaseAtEveryPoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verb         string
		before, gone bool
	}{
		"before its look":             {"observe", true, true},
		"between the look and labels": {"unlabel", true, true},
		"after the labels went":       {"unlabel", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := readyCluster(w, "one")
			w.clock.Advance(time.Hour)
			w.change(r.ID, (*cloud.Resource).WantRelease)
			asked := false
			w.cloud.SetHook(func(_ context.Context, call fakecloud.Call, do func() error) error {
				remove := func() {
					if call.Verb == c.verb && !asked {
						asked = true
						w.change(r.ID, (*cloud.Resource).WantDelete)
					}
				}
				if c.before {
					remove()
					if call.Verb == "unlabel" { // the call is on its way and is lost
						return &cloud.ProviderError{Class: cloud.ClassUnknown, Op: "unlabel", Message: "connection reset"}
					}
					return do()
				}
				err := do()
				remove()
				return err
			})
			next := w.load(r.ID)
			for range 5 {
				if next = w.step(r.ID, next); next.Step == cloud.StepRetry || next.Step == cloud.StepEnd {
					break
				}
			}
			require.True(t, asked)
			if c.gone {
				w.settle(r.ID)
				require.Equal(t, cloud.StateDeleted, w.record(r.ID).State)
				require.Empty(t, w.cloud.Objects())
			} else {
				require.Equal(t, cloud.StateError, w.record(r.ID).State)
				require.Contains(t, w.record(r.ID).Message, "nothing was deleted there")
				require.Len(t, w.cloud.Objects(), 1)
			}
			require.NotContains(t, w.events(r.ID), cloud.EventReleased)
			require.Contains(t, w.events(r.ID), cloud.EventDeleting)
		})
	}
}

// What is gone at the provider has no label to remove.
func TestAReleaseOfWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := readyCluster(w, "one")
	w.clock.Advance(time.Hour)
	w.cloud.Edit(r.ProviderID, func(*fakecloud.Object) *fakecloud.Object { return nil })
	w.change(r.ID, (*cloud.Resource).WantRelease)
	require.Equal(t, cloud.StepEnd, w.settle(r.ID).Step)
	require.Equal(t, cloud.StateReleased, w.record(r.ID).State)
}

// While something is on its way the provider is asked again after the converge
// interval; what failed waits for the refresh.
func TestWhatConvergesIsLookedAtEveryInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cloud.BusyLooks = 3
	r := newCluster(w, "one")
	for range 3 {
		_, err := w.acts.ProvisionResource(context.Background(), r.ID)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, settings.Converge, app.NextRetryDelay())
		require.Equal(t, cloud.StateProvisioning, w.record(r.ID).State)
		w.clock.Advance(app.NextRetryDelay())
	}
	next, err := w.acts.ProvisionResource(context.Background(), r.ID)
	require.NoError(t, err)
	require.Equal(t, cloud.StepRest, next.Step)
}

// renamed is the cloud's cluster under a manifest with references.
type renamed struct {
	cloud.Kind
	cloud.Labeler
}

func (renamed) Manifest() *cloud.Manifest { return pgtest.KindCluster }

type renamedAccounts struct{ *fakecloud.Cloud }

func (a renamedAccounts) Open(ctx context.Context, id string) (cloud.ProviderResources, error) {
	r, err := a.Cloud.Open(ctx, id)
	return renamedResources{r}, err
}

type renamedResources struct{ cloud.ProviderResources }

func (r renamedResources) Kind(name string) (cloud.Kind, bool) {
	k, ok := r.ProviderResources.Kind(name)
	return renamed{k, k.(cloud.Labeler)}, ok
}

// Instances, networks and secrets that a spec names are checked again before
// every call: what the tenant lost since the create never reaches the provider.
func TestReferencesAreCheckedBeforeEveryCall(t *testing.T) {
	t.Parallel()
	for reason, lose := range map[string]string{
		"instances": "UPDATE instances SET live = false",
		"networks":  "UPDATE networks SET live = false",
		"secret":    "DELETE FROM secrets WHERE name = 'token'",
	} {
		w := newWorld(t)
		w.acts.Accounts = renamedAccounts{w.cloud}
		ref, err := w.db.PutSecret(context.Background(), pgtest.Acme, "token", cloud.NewSecret("v"), "acme/alice")
		require.NoError(t, err)
		named := func(name string) *cloud.Resource {
			return w.db.Create(pgtest.Request(pgtest.KindCluster, name, pgtest.With("token", string(ref)), pgtest.With("network", pgtest.NetworkID("acme")),
				pgtest.With("instances", []any{pgtest.InstanceID("acme")}), func(n *intent.NewResource) { n.Resource.Spec["size"] = "s1" }))
		}
		running, waiting := named("running"), named("waiting")
		w.settle(running.ID)
		require.Equal(t, cloud.StateReady, w.record(running.ID).State)
		w.cloud.Forget()
		w.db.Exec(lose)
		w.change(running.ID, func(r *cloud.Resource, now time.Time) *cloud.Change {
			return r.WantSpec(r.Spec.Merge(cloud.Spec{"size": "s2"}), now)
		})
		for _, r := range []*cloud.Resource{running, waiting} {
			require.Equal(t, cloud.StepRetry, w.step(r.ID, w.load(r.ID)).Step)
			require.Equal(t, cloud.StateError, w.record(r.ID).State, reason)
			require.Contains(t, w.record(r.ID).Message, reason)
		}
		require.Empty(t, w.cloud.Writes(), "%s: neither the create nor the change was sent", reason)
	}
}
