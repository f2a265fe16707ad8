package cloud

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLifeInEvents(t *testing.T) {
	t.Parallel()
	r := &Resource{ID: testID, TenantID: "acme", Kind: "do.test", Billed: true, Spec: Spec{"size": "s1"}}
	var news []EventType
	take := func(c *Change) { news = append(news, eventTypes(c)...) }
	take(r.Created(t0))
	take(r.Attempt(t0))
	require.Equal(t, StateProvisioning, r.State)
	take(r.Accept(seen(PhaseBusy), t0.Add(time.Second)))
	require.Equal(t, t0.Add(time.Second), r.BilledFrom, "billing starts when the provider accepted it")
	take(r.Wait(seen(PhaseBusy), "creating", t0))
	take(r.Ready(seen(PhaseReady), 1, t0))
	take(r.Ready(seen(PhaseReady), 1, t0))
	take(r.WantSpec(Spec{"size": "s2"}, t0))
	require.Equal(t, StateUpdating, r.State)
	take(r.SentChange([]string{"size"}, 2, t0))
	take(r.Ready(seen(PhaseReady), 2, t0))
	take(r.Refreshed(seen(PhaseReady), []string{"size"}, nil, t0))
	require.Equal(t, []string{"size"}, r.Drift)
	take(r.Repairing([]string{"size"}, t0))
	take(r.SentChange([]string{"size"}, 2, t0))
	require.Equal(t, 1, r.Repairs["size"])
	take(r.Ready(seen(PhaseReady), 2, t0))
	require.Empty(t, r.Drift)
	take(r.Fail(nil, ClassNotFound, "gone", 2, settings, t0))
	take(r.Fail(nil, ClassNotFound, "gone", 2, settings, t0))
	require.Equal(t, t0.Add(settings.Refresh), r.RetryAt)
	take(r.Ready(seen(PhaseReady), 2, t0))
	take(r.WantDelete(t0))
	take(r.WantDelete(t0))
	c := r.Deleted(t0)
	require.True(t, c.Ended)
	take(c)
	take(r.Deleted(t0))
	require.Equal(t, []EventType{
		EventCreated, EventReady, EventUpdating, EventUpdated, EventUpdating, EventUpdated,
		EventFailed, EventUpdated, EventDeleting, EventDeleted,
	}, news, "each transition once")
	require.Empty(t, r.SecretOutputs)
}

func TestNewsIsNotFailedByTheOld(t *testing.T) {
	t.Parallel()
	r := running()
	r.WantSpec(Spec{"size": "s2"}, t0)
	r.WantSpec(Spec{"size": "s3"}, t0)
	require.Empty(t, eventTypes(r.Fail(nil, ClassRefused, "no s2", 2, settings, t0)))
	require.Equal(t, StateUpdating, r.State, "the newer spec has not failed")
	require.Empty(t, eventTypes(r.Ready(seen(PhaseReady), 2, t0)))
	require.Equal(t, StateUpdating, r.State, "and is not ready either")
	generation := r.Generation
	r.WantDelete(t0)
	require.Empty(t, eventTypes(r.Fail(nil, ClassRefused, "no s3", generation, settings, t0)))
	require.Equal(t, StateDeleting, r.State, "a delete that came meanwhile does not wait for a refusal of what it ends")
	require.True(t, r.RetryAt.IsZero())
}

func TestAcceptedLate(t *testing.T) {
	t.Parallel()
	r := record()
	r.Attempt(t0)
	o := seen(PhaseReady)
	o.CreatedAt = t0.Add(2 * time.Second)
	r.Accept(o, t0.Add(time.Hour))
	require.Equal(t, o.CreatedAt, r.AcceptedAt, "hours count from the provider's own time (B01)")
	stranger := record()
	stranger.Attempt(t0)
	o.CreatedAt = t0.Add(-24 * time.Hour)
	stranger.Accept(o, t0)
	require.Equal(t, t0, stranger.AcceptedAt, "but never from before it was asked for")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	r := record()
	o := seen(PhaseBusy)
	o.Secrets = map[string]Secret{"password": NewSecret("canary"), "uri": NewSecret("")}
	c := r.Accept(o, t0)
	require.Equal(t, "canary", c.Seal["password"].Reveal())
	require.NotContains(t, c.Seal, "uri", "an empty value is unknown (B12)")
	require.Equal(t, SecretRef("secret://acme/resources/"+testID+"/password"), r.SecretOutputs["password"])
	ready := r.Ready(seen(PhaseReady), 1, t0)
	require.Equal(t, []string{"password"}, ready.Events[0].Data["secretOutputs"])
	require.Empty(t, ready.Seal, "an absent value never replaces a sealed one")
	rotated := r.Refreshed(o, nil, []string{"password"}, t0)
	require.Equal(t, []EventType{EventUpdated}, eventTypes(rotated), "D20")
}

func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	r := record()
	r.Attempt(t0)
	for range 2 {
		require.Empty(t, eventTypes(r.Unknown("no answer", 3, 1, settings, t0)))
	}
	require.Equal(t, []EventType{EventFailed}, eventTypes(r.Unknown("no answer", 3, 1, settings, t0)))
	ready := running()
	for range 20 {
		require.Empty(t, eventTypes(ready.Unknown("no answer", 3, 1, settings, t0)))
	}
	require.Equal(t, StateReady, ready.State, "one at rest does not fail by silence")
}

func TestTroubledKeepsTheState(t *testing.T) {
	t.Parallel()
	for _, r := range []*Resource{record(), running(), failedRecord()} {
		was := r.State
		require.Empty(t, eventTypes(r.Troubled(ClassUnreachable, "token refused", settings, t0)))
		require.Equal(t, was, r.State, "D8")
		require.Equal(t, "token refused", r.Message)
	}
	r := running()
	r.Troubled(ClassUnreachable, "token refused", settings, t0)
	require.Nil(t, r.Troubled(ClassUnreachable, "token refused", settings, t0), "told once")
}

func TestReleaseWithdrawn(t *testing.T) {
	t.Parallel()
	r := running()
	require.Equal(t, []EventType{EventReleasing}, eventTypes(r.WantRelease(t0)))
	require.True(t, r.Releasing())
	require.Equal(t, StateReady, r.State, "D9")
	r.WithdrawRelease("refused", settings, t0)
	require.Equal(t, StateError, r.State)
	require.Equal(t, IntentPresent, r.Intent)
	require.Equal(t, []EventType{EventUpdated}, eventTypes(r.Ready(seen(PhaseReady), r.Generation, t0)), "the next refresh makes it ready again")
}

func TestHeldDelete(t *testing.T) {
	t.Parallel()
	r := running()
	require.Equal(t, []EventType{EventDeleting}, eventTypes(r.HoldDelete("cmb_1", t0)))
	require.Equal(t, StateDeleting, r.State)
	require.Empty(t, eventTypes(r.GiveBack("cmb_2", t0)), "another batch does not hold it")
	require.Equal(t, []EventType{EventUpdated}, eventTypes(r.GiveBack("cmb_1", t0)))
	require.Equal(t, StateReady, r.State)
	require.False(t, r.Pending())
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	r := adopting()
	o := seen(PhaseReady)
	r.TakeOver(o, "", t0)
	require.True(t, r.ObservedOnly)
	require.Equal(t, o.Spec, r.Spec)
	c := r.Ready(o, 1, t0.Add(time.Minute))
	require.Equal(t, []EventType{EventReady}, eventTypes(c))
	require.Equal(t, t0.Add(time.Minute), r.BilledFrom, "an adopted one bills from its first ready")
	r.WantSpec(Spec{"size": "s2"}, t0)
	require.False(t, r.ObservedOnly, "managed like any other from the first change on")
}

func TestRecoverySurvivesAnUpdate(t *testing.T) {
	t.Parallel()
	r := record()
	r.Attempt(t0)
	r.Accept(seen(PhaseReady), t0)
	r.Recovering(t0)
	r.SentChange([]string{"size"}, 1, t0)
	r.WantSpec(Spec{"size": "s2"}, t0)
	require.Equal(t, map[string]time.Time{SentRecoverKey: t0}, r.Sent)
	r.ForgetObject(t0)
	require.Empty(t, r.ProviderID)
	require.Empty(t, r.Sent)
	require.False(t, r.BilledFrom.IsZero(), "it was accepted all the same")
}

func TestViewHasNoNulls(t *testing.T) {
	t.Parallel()
	v := (&Resource{ID: testID}).View()
	require.NotNil(t, v.Outputs)
	require.NotNil(t, v.SecretOutputs)
	require.JSONEq(t, `{}`, string(v.Spec))
	require.Zero(t, v.ReadyAt)
}
