package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// sweep runs one sweep, a refresh interval after the last thing that happened.
func (w *world) sweep(in activities.SweepInput) activities.SweepResult {
	w.t.Helper()
	w.clock.Advance(settings.Refresh)
	in.Account = pgtest.AccountAcme
	sweeps := &activities.Sweeps{Store: w.db.Store, Records: w.db.Store, Accounts: w.cloud, Settings: settings, Now: w.clock.Now, Log: w.acts.Log}
	result, err := sweeps.SweepAccount(context.Background(), in)
	require.NoError(w.t, err)
	return result
}

// nudged lists the resources that wait for a signal, and forgets them.
func (w *world) nudged() []string {
	w.t.Helper()
	ids := pgtest.Value[[]string](w.db, "SELECT coalesce(array_agg(workflow_id ORDER BY workflow_id), '{}') FROM outbox WHERE workflow_type = 'CloudResource'")
	w.db.Exec("DELETE FROM outbox")
	return ids
}

// fleet is a cluster with two users, a key, and another cluster.
func fleet(t *testing.T) (w *world, cluster, other, user, key *cloud.Resource) {
	w = newWorld(t)
	cluster, other = readyCluster(w, "one"), readyCluster(w, "two")
	ready := func(r *cloud.Resource) *cloud.Resource { w.settle(r.ID); return w.record(r.ID) }
	user = ready(w.create(fakecloud.KindUser, "app", cloud.Spec{"name": "app"}, pgtest.In(cluster)))
	ready(w.create(fakecloud.KindUser, "web", cloud.Spec{"name": "web"}, pgtest.In(cluster)))
	key = ready(w.create(fakecloud.KindKey, "key", cloud.Spec{"scope": "all"}))
	w.clock.Advance(time.Hour)
	w.nudged()
	w.cloud.Forget()
	return w, cluster, other, user, key
}

func TestSweepOfTheUnchangedWritesNothing(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := fleet(t)
	before := w.rows()
	for range 10 {
		result := w.sweep(activities.SweepInput{})
		require.Equal(t, activities.SweepResult{Lists: 3, Compared: 5, NextIn: result.NextIn}, result)
		require.InDelta(t, settings.Refresh, result.NextIn, float64(settings.Refresh/10))
	}
	require.Equal(t, before, w.rows(), "no row was written")
	require.Len(t, w.cloud.Calls, 30, "one list a kind, and one a parent for what lives in one")
	require.Empty(t, w.nudged())
}

// rows tells every version of every row of what a sweep might write.
func (w *world) rows() string {
	w.t.Helper()
	return pgtest.Value[string](w.db, `SELECT string_agg(v, ',') FROM (
		SELECT id || xmin::text AS v FROM resources UNION ALL SELECT name || xmin::text FROM secrets UNION ALL SELECT id FROM events ORDER BY 1) x`)
}

func TestSweepFollowsTheProvider(t *testing.T) {
	t.Parallel()
	w, cluster, _, _, _ := fleet(t)
	w.cloud.Edit(cluster.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Secret = fakecloud.Canary + "-rotated"; return o })
	result := w.sweep(activities.SweepInput{})
	require.Equal(t, 1, result.Changed)
	require.Equal(t, 1, result.Saved)
	require.Equal(t, fakecloud.Canary+"-rotated", w.sealed(cluster, "password"), "D20")
	require.Equal(t, and(made, cloud.EventUpdated), w.events(cluster.ID))
	require.Empty(t, w.nudged(), "nothing is left to do")
	require.Zero(t, w.sweep(activities.SweepInput{}).Changed)
	w.noCanary()
}

func TestSweepNudgesDrift(t *testing.T) {
	t.Parallel()
	w, cluster, _, _, _ := fleet(t)
	w.cloud.Edit(cluster.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s9"; return o })
	require.Equal(t, 1, w.sweep(activities.SweepInput{}).Drifted)
	require.Equal(t, []string{"size"}, w.record(cluster.ID).Drift)
	require.Equal(t, []string{cluster.ID}, w.nudged())
	require.Zero(t, w.sweep(activities.SweepInput{}).Drifted, "told once")
	w.settle(cluster.ID)
	require.Equal(t, and(made, cloud.EventUpdating, cloud.EventUpdated), w.events(cluster.ID))
	require.NotEmpty(t, w.record(cluster.ID).Repairs)
	require.Equal(t, 1, w.sweep(activities.SweepInput{}).Changed)
	require.Empty(t, w.record(cluster.ID).Repairs, "a refresh without drift ends the row of repairs (D5)")
	require.Zero(t, w.sweep(activities.SweepInput{}).Changed)
}

func TestSweepAsksTwiceBeforeItDoubts(t *testing.T) {
	t.Parallel()
	w, cluster, other, user, _ := fleet(t)
	var kept fakecloud.Object
	w.cloud.Edit(cluster.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { kept = *o; return nil })
	w.cloud.Edit(other.ProviderID, func(*fakecloud.Object) *fakecloud.Object { return nil })
	result := w.sweep(activities.SweepInput{})
	require.Equal(t, 2, result.Missing)
	require.Equal(t, 1, result.Incomplete, "the users of a cluster that is gone are not listed: no evidence")
	require.Empty(t, w.nudged(), "absence once is not enough (D4)")
	require.Zero(t, w.record(user.ID).MissingSince)
	w.cloud.Put(kept)
	require.Equal(t, 1, w.sweep(activities.SweepInput{}).Missing)
	require.Equal(t, []string{other.ID}, w.nudged())
	require.Zero(t, w.record(cluster.ID).MissingSince, "it came back")
	next := w.step(other.ID, w.load(other.ID))
	require.Equal(t, cloud.StepRetry, next.Step, "its own look decides")
	require.Equal(t, cloud.StateError, w.record(other.ID).State)
	require.Zero(t, w.sweep(activities.SweepInput{}).Missing, "one in error has its own timer")
}

func TestSweepSuspects(t *testing.T) {
	t.Parallel()
	w, cluster, other, _, _ := fleet(t)
	w.cloud.Edit(cluster.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Owner = cloud.Owner{}; return o })
	w.cloud.Edit(other.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Failed = "disk is gone"; return o })
	require.Equal(t, 2, w.sweep(activities.SweepInput{}).Suspect)
	require.ElementsMatch(t, []string{cluster.ID, other.ID}, w.nudged())
	require.Zero(t, w.sweep(activities.SweepInput{}).Suspect, "told once")
	w.settle(cluster.ID)
	require.Equal(t, cloud.LabelKey(cluster.ID), w.object(cluster).Owner.ResourceKey)
	require.Equal(t, cloud.StepRetry, w.step(other.ID, w.load(other.ID)).Step)
	require.Equal(t, "disk is gone", w.record(other.ID).Message)
}

func TestSweepOfAnUnreachableAccount(t *testing.T) {
	t.Parallel()
	w, cluster, _, _, _ := fleet(t)
	waiting := newCluster(w, "waiting")
	w.cloud.Down = &cloud.ProviderError{Class: cloud.ClassUnreachable, Op: "list", Status: 401, Message: "Unable to authenticate"}
	_, err := w.once(waiting.ID)
	require.Error(t, err)
	result := w.sweep(activities.SweepInput{})
	require.True(t, result.Unreachable)
	require.Contains(t, w.record(cluster.ID).Message, "Unable to authenticate")
	require.Equal(t, cloud.StateReady, w.record(cluster.ID).State)
	w.nudged()
	before := w.rows()
	w.cloud.Forget()
	for range 5 {
		require.True(t, w.sweep(activities.SweepInput{Unreachable: true}).Unreachable)
	}
	require.Equal(t, before, w.rows(), "marked once (D8)")
	require.Len(t, w.cloud.Calls, 5, "and asked by one cheap question")
	w.cloud.Down = nil
	result = w.sweep(activities.SweepInput{Unreachable: true})
	require.False(t, result.Unreachable)
	require.Empty(t, w.record(cluster.ID).Message)
	require.Equal(t, []string{waiting.ID}, w.nudged(), "what waited is woken")
	require.Empty(t, pgtest.Value[string](w.db, "SELECT unreachable_message FROM provider_accounts WHERE id = $1", pgtest.AccountAcme))
	require.NotContains(t, w.events(cluster.ID), cloud.EventFailed)
}

func TestSweepGoesOnWhereItWasThrottled(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := fleet(t)
	lists := 0
	w.cloud.SetHook(func(_ context.Context, c fakecloud.Call, do func() error) error {
		if lists++; lists == 2 {
			return &cloud.ProviderError{Class: cloud.ClassThrottled, Op: "list", Status: 429, Message: "too many", RetryAfter: 17 * time.Second}
		}
		return do()
	})
	result := w.sweep(activities.SweepInput{})
	require.Equal(t, 1, result.Lists)
	require.Equal(t, 17*time.Second, result.NextIn)
	require.NotEmpty(t, result.From)
	w.cloud.Forget()
	result = w.sweep(activities.SweepInput{From: result.From})
	require.Equal(t, 2, result.Lists)
	require.Empty(t, result.From)
	for _, c := range w.cloud.Calls {
		require.NotEqual(t, fakecloud.KindCluster, c.Kind, "what was listed is not listed again")
	}
}

func TestSweepOfABrokenListIsNoEvidence(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := fleet(t)
	w.cloud.SetHook(refuse("list", &cloud.ProviderError{Class: cloud.ClassUnknown, Op: "list", Status: 502, Message: "bad gateway"}))
	before := w.rows()
	result := w.sweep(activities.SweepInput{})
	require.Equal(t, 3, result.Incomplete)
	require.Zero(t, result.Compared)
	require.Equal(t, before, w.rows())
	w.cloud.SetHook(refuse("list", &cloud.ProviderError{Class: cloud.ClassUnreachable, Op: "list", Status: 403, Message: "missing scope"}))
	result = w.sweep(activities.SweepInput{})
	require.False(t, result.Unreachable, "the account answers; one list may lack a right")
	require.Equal(t, 3, result.Incomplete)
}

func TestSweepAsksOneByOneWhatCannotBeListed(t *testing.T) {
	t.Parallel()
	w, cluster, _, _, _ := fleet(t)
	w.cloud.SetHook(refuse("list", &cloud.ProviderError{Class: cloud.ClassUnsupported, Op: "list", Message: "no list"}))
	result := w.sweep(activities.SweepInput{})
	require.Equal(t, 5, result.Compared)
	require.Zero(t, result.Changed+result.Missing)
	w.cloud.Edit(cluster.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s9"; return o })
	require.Equal(t, 1, w.sweep(activities.SweepInput{}).Drifted)
}

func TestSweepOfANewObjectIsNoAbsence(t *testing.T) {
	t.Parallel()
	w, _, _, _, _ := fleet(t)
	w.cloud.SetHook(func(_ context.Context, c fakecloud.Call, do func() error) error {
		err := do()
		if c.Verb == "list" && c.Kind == fakecloud.KindCluster {
			w.cloud.SetHook(nil) // created right after the list was read
			r := newCluster(w, "late")
			w.settle(r.ID)
		}
		return err
	})
	result := w.sweep(activities.SweepInput{})
	require.Zero(t, result.Missing)
	require.Zero(t, result.Saved)
}

func TestSweepEndsWithItsAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sweeps := &activities.Sweeps{Store: w.db.Store, Records: w.db.Store, Accounts: w.cloud, Settings: settings, Now: w.clock.Now, Log: w.acts.Log}
	result, err := sweeps.SweepAccount(context.Background(), activities.SweepInput{Account: "acct_nobody"})
	require.NoError(t, err)
	require.True(t, result.Gone)
}
