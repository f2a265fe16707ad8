package cloud

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	later := t0.Add(time.Minute)
	cases := map[string]struct {
		reason   string
		record   func() *Resource
		children int
		want     Step
	}{
		"new":              {"a new record is created at the provider", record, 0, StepProvision},
		"provisioning":     {"a create goes on", func() *Resource { r := record(); r.Attempt(t0); return r }, 0, StepProvision},
		"at rest":          {"a ready record needs nothing", running, 0, StepRest},
		"with children":    {"children do not keep a ready record busy", running, 3, StepRest},
		"updated":          {"a changed spec is applied", func() *Resource { r := running(); r.WantSpec(Spec{"size": "s2"}, t0); return r }, 0, StepUpdate},
		"equal update":     {"an equal spec is nothing to do (D33)", func() *Resource { r := running(); r.WantSpec(Spec{"size": "s1"}, t0); return r }, 0, StepRest},
		"drift":            {"drift is repaired (D5)", func() *Resource { r := running(); r.Refreshed(seen(PhaseReady), []string{"size"}, nil, t0); return r }, 0, StepUpdate},
		"missing":          {"what a sweep missed is looked at (D4)", func() *Resource { r := running(); r.Missing(t0); return r }, 0, StepRefresh},
		"suspect":          {"what a sweep suspects is looked at", func() *Resource { r := running(); r.Suspect(ClassNotManaged, t0); return r }, 0, StepRefresh},
		"refresh wanted":   {"an operator asked for a look", func() *Resource { r := running(); r.WantRefresh(t0); return r }, 0, StepRefresh},
		"failed, early":    {"a failure waits for its time", failedRecord, 0, StepRetry},
		"failed, due":      {"then it is looked at", func() *Resource { r := failedRecord(); r.RetryAt = later; return r }, 0, StepRefresh},
		"failed, wanted":   {"or at once when somebody asks", func() *Resource { r := failedRecord(); r.WantRefresh(t0); return r }, 0, StepRefresh},
		"failed, updated":  {"or when the spec changes (D6)", func() *Resource { r := failedRecord(); r.WantSpec(Spec{"size": "s2"}, t0); return r }, 0, StepUpdate},
		"delete":           {"a delete is carried out", func() *Resource { r := running(); r.WantDelete(t0); return r }, 0, StepDelete},
		"delete, children": {"children go first", func() *Resource { r := running(); r.WantDelete(t0); return r }, 2, StepRest},
		"delete failed": {"a failed delete waits for its time", func() *Resource {
			r := running()
			r.WantDelete(t0)
			r.Fail(nil, ClassNotManaged, "no", r.Generation, settings, later)
			return r
		}, 0, StepRetry},
		"delete failed, due": {"and is tried again", func() *Resource {
			r := running()
			r.WantDelete(t0)
			r.Fail(nil, ClassNotManaged, "no", r.Generation, settings, t0.Add(-time.Hour))
			return r
		}, 0, StepDelete},
		"delete of a failed one": {"does not wait for the failure's time", func() *Resource { r := failedRecord(); r.WantDelete(t0); return r }, 0, StepDelete},
		"held delete":            {"a delete that awaits approval does nothing", func() *Resource { r := running(); r.HoldDelete("cmb_1", t0); return r }, 0, StepRest},
		"approved delete":        {"approval lets it go ahead", func() *Resource { r := running(); r.HoldDelete("cmb_1", t0); r.Approve("cmb_1", t0); return r }, 0, StepDelete},
		"given back":             {"a withdrawn one is as before", func() *Resource { r := running(); r.HoldDelete("cmb_1", t0); r.GiveBack("cmb_1", t0); return r }, 0, StepRest},
		"release":                {"labels are removed", func() *Resource { r := running(); r.WantRelease(t0); return r }, 0, StepRelease},
		"delete over release":    {"a delete overrides a release", func() *Resource { r := running(); r.WantRelease(t0); r.WantDelete(t0); return r }, 0, StepDelete},
		"adoption":               {"an adopted object is taken over first", adopting, 0, StepAdopt},
		"deleted":                {"the end", func() *Resource { r := running(); r.WantDelete(t0); r.Deleted(t0); return r }, 0, StepEnd},
		"released":               {"the end", func() *Resource { r := running(); r.WantRelease(t0); r.Released(t0); return r }, 0, StepEnd},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := Decide(c.record(), c.children, later)
			require.Equal(t, c.want, next.Step, c.reason)
			if c.want == StepRetry {
				require.False(t, next.RetryAt.IsZero())
			}
		})
	}
}

func failedRecord() *Resource {
	r := record()
	r.Fail(nil, ClassRefused, "no such size", r.Generation, settings, t0)
	return r
}

func adopting() *Resource {
	r := &Resource{ID: testID, TenantID: "acme", Kind: "do.test", Adopted: true, ProviderID: "obj-1", Billed: true}
	r.Created(t0)
	return r
}

// TestRestIsRest draws whole lives at random: whatever happened, a record that
// rests has nothing left to do, and a final one never moves again.
func TestRestIsRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, now := record(), t0
		if rapid.Bool().Draw(t, "adopted") {
			r = adopting()
		}
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			final := r.State.Final()
			before := *r
			move(t, r, now)
			if final {
				require.Equal(t, before.State, r.State)
				require.Equal(t, before.EndedAt, r.EndedAt)
			}
			checkInvariants(t, r, &before)
			next := Decide(r, 0, now)
			if next.Step == StepRest && r.HeldBy == "" {
				require.Equal(t, StateReady, r.State)
				require.Equal(t, r.Generation, r.Applied)
				require.Empty(t, r.Drift)
				require.Equal(t, IntentPresent, r.Intent)
			}
			if next.Step == StepRetry {
				require.True(t, next.RetryAt.After(now))
			}
		}
	})
}

// move does one of the things that happen to records.
func move(t *rapid.T, r *Resource, now time.Time) *Change {
	phase := rapid.SampledFrom([]Phase{PhaseBusy, PhaseReady, PhaseFailed}).Draw(t, "phase")
	generation := r.Generation - int64(rapid.IntRange(0, 1).Draw(t, "stale"))
	switch rapid.IntRange(0, 17).Draw(t, "move") {
	case 0:
		return r.WantSpec(Spec{"size": rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "size")}, now)
	case 1:
		return r.WantDelete(now)
	case 2:
		return r.WantRelease(now)
	case 3:
		return r.WantRefresh(now)
	case 4:
		return r.Attempt(now)
	case 5:
		return r.Accept(seen(phase), now)
	case 6:
		return r.Wait(seen(phase), "waiting", now)
	case 7, 8:
		return r.Ready(seen(PhaseReady), generation, now)
	case 9:
		return r.Fail(nil, ClassRefused, "no", generation, settings, now)
	case 10:
		return r.Unknown("what", 3, generation, settings, now)
	case 11:
		return r.Refreshed(seen(PhaseReady), rapid.SampledFrom([][]string{nil, {"size"}}).Draw(t, "diff"), nil, now)
	case 12:
		return r.Missing(now)
	case 13:
		return r.TakeOver(seen(PhaseReady), "", now)
	case 14:
		return r.WithdrawRelease("no", settings, now)
	case 15:
		return r.HoldDelete("cmb_1", now)
	case 16:
		return r.GiveBack("cmb_1", now)
	}
	if r.Intent == IntentDelete && r.HeldBy == "" {
		return r.Deleted(now)
	}
	return r.SentChange([]string{"size"}, generation, now)
}

// checkInvariants holds what the tables of the store demand, and a bit more.
func checkInvariants(t *rapid.T, r, before *Resource) {
	require.Equal(t, r.State.Final(), !r.EndedAt.IsZero(), "a final record, and only it, has an end")
	require.LessOrEqual(t, r.Applied, r.Generation)
	require.GreaterOrEqual(t, r.Generation, before.Generation, "generations only grow")
	require.GreaterOrEqual(t, r.Version, before.Version, "versions only grow")
	if r.State == StateReady {
		require.NotEmpty(t, r.ProviderID)
	}
	if r.State == StateError {
		require.NotEmpty(t, r.Message)
	}
	if r.State == StateDeleting {
		require.Equal(t, IntentDelete, r.Intent)
	}
	if before.ProviderID != "" {
		require.Equal(t, before.ProviderID, r.ProviderID, "the provider's id is for good")
	}
	if before.Intent == IntentDelete && before.HeldBy == "" {
		require.Equal(t, IntentDelete, r.Intent, "nothing overrides a delete")
	}
}
