package cloud

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReconcile(t *testing.T) {
	t.Parallel()
	labels, byName, child := manifestOf(OwnedByLabels), manifestOf(OwnedByName), manifestOf(OwnedByParent)
	idempotent := manifestOf(OwnedByParent)
	idempotent.IdempotentCreate = true
	once := manifestOf(OwnedByLabels, SecretOutput{Name: "key", Recover: RecoverRecreate})
	optional := manifestOf(OwnedByLabels, SecretOutput{Name: "uri", Optional: true})
	attempted := func(age time.Duration) *Resource { r := record(); r.Attempt(t0.Add(-age)); return r }
	accepted := func(age time.Duration) *Resource {
		r := attempted(age)
		r.Accept(seen(PhaseBusy), t0.Add(-age))
		return r
	}
	settled := func() *Resource { r := running(); r.AttemptedAt = t0.Add(-time.Hour); return r }
	owned := func(key, deployment string, p Phase) *Observed {
		o := seen(p)
		o.Owner = Owner{ResourceKey: key, Deployment: deployment}
		return o
	}
	with := func(r *Resource, fn func(r *Resource)) *Resource { fn(r); return r }
	cases := map[string]struct {
		reason   string
		record   *Resource
		manifest *Manifest
		look     Look
		want     ActionKind
		class    Class
		fields   []string
	}{
		"nothing there, never asked":       {"", record(), labels, Look{}, ActCreate, "", nil},
		"nothing there, just asked":        {"an answer was lost: it may still show up (D3)", attempted(time.Minute), labels, Look{}, ActWait, "", nil},
		"nothing there, asked long ago":    {"the create never arrived", attempted(3 * time.Minute), labels, Look{}, ActCreate, "", nil},
		"accepted, not visible":            {"404 right after a create means not yet (B03)", accepted(time.Minute), labels, Look{}, ActWait, "", nil},
		"gone once":                        {"one 404 is not enough", settled(), labels, Look{}, ActMissing, "", nil},
		"gone within the settle window":    {"", with(settled(), func(r *Resource) { r.Missing(t0.Add(-time.Minute)) }), labels, Look{}, ActWait, "", nil},
		"gone for good":                    {"never made again by itself (D4)", with(settled(), func(r *Resource) { r.Missing(t0.Add(-3 * time.Minute)) }), labels, Look{}, ActFail, ClassNotFound, nil},
		"gone, in the provider's words":    {"", with(settled(), func(r *Resource) { r.Missing(t0.Add(-3 * time.Minute)) }), labels, Look{Observed: seen(PhaseGone)}, ActFail, ClassNotFound, nil},
		"gone, by our own recovery":        {"we deleted it to get its secret again (D19)", with(accepted(3*time.Minute), func(r *Resource) { r.Recovering(t0) }), once, Look{}, ActRecreate, "", nil},
		"another deployment's":             {"", accepted(time.Minute), labels, Look{Observed: owned(LabelKey(testID), "there", PhaseReady)}, ActFail, ClassNotManaged, nil},
		"another resource's":               {"", accepted(time.Minute), labels, Look{Observed: owned("0123456789abcdefghjkmnpq", deploymentName, PhaseReady)}, ActFail, ClassNotManaged, nil},
		"found by name without labels":     {"somebody else made it", attempted(time.Minute), labels, Look{Observed: owned("", "", PhaseReady)}, ActFail, ClassNotManaged, nil},
		"labels lost":                      {"written again (B29)", settled(), labels, Look{Observed: owned("", "", PhaseReady)}, ActLabel, "", nil},
		"named otherwise":                  {"", accepted(time.Minute), byName, Look{Observed: owned("", "", PhaseReady)}, ActFail, ClassNotManaged, nil},
		"a child that we never made, new":  {"a deleted namesake may still be listed (B18)", record(), child, Look{Observed: owned("", "", PhaseReady)}, ActWait, ClassNotManaged, nil},
		"a child that we never made":       {"", with(record(), func(r *Resource) { r.CreatedAt = t0.Add(-time.Hour) }), child, Look{Observed: owned("", "", PhaseReady)}, ActFail, ClassNotManaged, nil},
		"a child after a lost answer":      {"", attempted(time.Minute), child, Look{Observed: owned("", "", PhaseReady)}, ActReady, "", nil},
		"a child made by PUT":              {"what is there is overwritten", record(), idempotent, Look{Observed: owned("", "", PhaseReady), Diff: []string{"rules"}}, ActUpdate, "", []string{"rules"}},
		"busy":                             {"", accepted(time.Minute), labels, Look{Observed: seen(PhaseBusy), Diff: []string{"size"}}, ActWait, "", nil},
		"going away":                       {"", settled(), labels, Look{Observed: seen(PhaseDeleting)}, ActWait, "", nil},
		"ready":                            {"", accepted(time.Minute), labels, Look{Observed: seen(PhaseReady)}, ActReady, "", nil},
		"ready, half of it asked":          {"not ready before every setting is applied (B04)", accepted(time.Minute), labels, Look{Observed: seen(PhaseReady), Diff: []string{"window"}}, ActUpdate, "", []string{"window"}},
		"asked a moment ago":               {"the provider may show the old value for a while (B06)", with(accepted(time.Minute), func(r *Resource) { r.SentChange([]string{"size"}, r.Generation, t0.Add(-time.Minute)) }), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, ActWait, "", nil},
		"asked long ago":                   {"", with(accepted(time.Minute), func(r *Resource) { r.SentChange([]string{"size"}, r.Generation, t0.Add(-3*time.Minute)) }), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, ActUpdate, "", []string{"size"}},
		"one asked, one not":               {"", with(accepted(time.Minute), func(r *Resource) { r.SentChange([]string{"size"}, r.Generation, t0) }), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size", "window"}}, ActUpdate, "", []string{"window"}},
		"drift":                            {"the wanted value wins (D5)", settled(), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, ActUpdate, "", []string{"size"}},
		"drift for the third time":         {"not repaired any more", with(settled(), func(r *Resource) { r.Repairs = map[string]int{"size": MaxRepairs} }), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, ActFail, ClassRefused, []string{"size"}},
		"a wanted change after repairs":    {"", with(settled(), func(r *Resource) { r.Repairs = map[string]int{"size": MaxRepairs}; r.Generation++ }), labels, Look{Observed: seen(PhaseReady), Diff: []string{"size"}}, ActUpdate, "", []string{"size"}},
		"failed":                           {"", accepted(time.Minute), labels, Look{Observed: seen(PhaseFailed)}, ActFail, ClassRefused, nil},
		"failed, new spec":                 {"a new spec is another try (D7)", with(accepted(time.Minute), func(r *Resource) { r.FailedGeneration = r.Generation; r.Generation++ }), labels, Look{Observed: seen(PhaseFailed), Diff: []string{"size"}}, ActUpdate, "", []string{"size"}},
		"failed, same spec":                {"a refresh starts no build (D7)", with(accepted(time.Minute), func(r *Resource) { r.FailedGeneration = r.Generation }), labels, Look{Observed: seen(PhaseFailed), Diff: []string{"size"}}, ActFail, ClassRefused, nil},
		"failed, refresh asked":            {"a refresh signal does (D7)", with(accepted(time.Minute), func(r *Resource) { r.FailedGeneration = r.Generation; r.WantRefresh(t0) }), labels, Look{Observed: seen(PhaseFailed)}, ActUpdate, "", nil},
		"secret lost":                      {"never ready without its secret (D19)", accepted(time.Minute), once, Look{Observed: seen(PhaseReady)}, ActRecover, "", []string{"key"}},
		"secret sealed":                    {"", with(accepted(time.Minute), func(r *Resource) { r.SecretOutputs = map[string]SecretRef{"key": "secret://acme/x"} }), once, Look{Observed: seen(PhaseReady)}, ActReady, "", nil},
		"secret not offered, and optional": {"", accepted(time.Minute), optional, Look{Observed: seen(PhaseReady)}, ActReady, "", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Reconcile(c.record, c.manifest, c.look, deploymentName, settings, t0)
			require.Equal(t, c.want, got.Kind, c.reason)
			require.Equal(t, c.class, got.Class)
			if c.want == ActUpdate || c.want == ActRecover || c.fields != nil {
				require.Equal(t, c.fields, got.Fields)
			}
			if c.want == ActFail || c.want == ActWait {
				require.NotEmpty(t, got.Message)
			}
		})
	}
}

// TestNeverTwoCreates draws looks at random: whatever a provider shows or
// hides, a create is decided only when none can be on its way and no object is
// recorded.
func TestNeverTwoCreates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, now := record(), t0
		m := manifestOf(rapid.SampledFrom([]Ownership{OwnedByLabels, OwnedByName, OwnedByParent}).Draw(t, "ownership"))
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "seconds")) * time.Second)
			look := Look{}
			if rapid.Bool().Draw(t, "visible") {
				look.Observed = seen(rapid.SampledFrom([]Phase{PhaseBusy, PhaseReady, PhaseFailed, PhaseDeleting}).Draw(t, "phase"))
			}
			action := Reconcile(r, m, look, deploymentName, settings, now)
			switch action.Kind {
			case ActCreate:
				require.Nil(t, look.Observed)
				require.Empty(t, r.ProviderID)
				require.False(t, !r.AttemptedAt.IsZero() && now.Before(r.AttemptedAt.Add(settings.Settle)))
				r.Attempt(now)
				if rapid.Bool().Draw(t, "answered") {
					r.Accept(seen(PhaseBusy), now)
				}
			case ActReady:
				r.Accept(look.Observed, now)
				r.Ready(look.Observed, r.Generation, now)
			case ActMissing:
				r.Missing(now)
			case ActFail:
				r.Fail(look.Observed, action.Class, action.Message, r.Generation, settings, now)
			case ActWait:
				r.Wait(look.Observed, action.Message, now)
			}
		}
	})
}

func TestForeignObjectsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	r := record()
	stranger := seen(PhaseReady)
	stranger.ProviderID, stranger.Secrets = "obj-other", map[string]Secret{"password": NewSecret("canary")}
	c := r.Fail(stranger, ClassNotManaged, "not ours", r.Generation, settings, t0)
	require.Equal(t, StateError, r.State)
	require.Empty(t, r.ProviderID)
	require.Empty(t, r.Outputs)
	require.Empty(t, c.Seal)
	require.True(t, r.NeverAccepted())
}
