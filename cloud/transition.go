package cloud

import (
	"maps"
	"slices"
	"time"
)

// The methods here are every way in which a record changes. Each is called
// inside a transaction on the freshly locked row, so each first asks whether
// the row still is where the caller saw it: an update or a delete recorded
// meanwhile wins over what an activity saw before it.

// Attempt notes, before a create is sent, that it may reach the provider.
func (r *Resource) Attempt(now time.Time) *Change {
	r.AttemptedAt = now
	if r.State == StatePending {
		r.State = StateProvisioning
	}
	return r.touch(now)
}

// Unattempt takes the mark of an attempt back that the provider certainly did
// not process; prior is the mark before it.
func (r *Resource) Unattempt(prior, now time.Time) *Change {
	r.AttemptedAt = prior
	return r.touch(now)
}

// Accept records what the provider accepted: the id at once and for good, the
// secrets that the answer carried, the start of billing.
func (r *Resource) Accept(o *Observed, now time.Time) *Change {
	c := r.observe(o, now)
	if r.State == StatePending {
		r.State = StateProvisioning
	}
	if r.AcceptedAt.IsZero() {
		r.AcceptedAt = now
		if !o.CreatedAt.IsZero() && o.CreatedAt.Before(now) && !o.CreatedAt.Before(r.AttemptedAt.Add(-time.Minute)) {
			r.AcceptedAt = o.CreatedAt // learned late (B01)
		}
		if r.Billed && !r.Adopted {
			r.BilledFrom = r.AcceptedAt
		}
	}
	return c
}

// observe copies what one look tells, whatever the state.
func (r *Resource) observe(o *Observed, now time.Time) *Change {
	c := r.touch(now)
	if o == nil {
		return c
	}
	if r.ProviderID == "" {
		r.ProviderID = o.ProviderID
	}
	r.MissingSince, r.Failures = time.Time{}, 0
	if r.State != StateError {
		r.ErrorClass = ""
	}
	if o.Region != "" && r.Region == "" {
		r.Region = o.Region
	}
	if len(o.Outputs) > 0 {
		if r.Outputs == nil {
			r.Outputs = map[string]any{}
		}
		maps.Copy(r.Outputs, o.Outputs)
	}
	for name, s := range o.Secrets {
		if s.Empty() {
			continue
		}
		if c.Seal == nil {
			c.Seal = map[string]Secret{}
		}
		c.Seal[name] = s
		if r.SecretOutputs == nil {
			r.SecretOutputs = map[string]SecretRef{}
		}
		r.SecretOutputs[name] = NewSecretRef(r.TenantID, OutputSecretName(r.ID, name))
	}
	return c
}

// Wait records that the work goes on, and why. Nothing else changes; o may be nil.
func (r *Resource) Wait(o *Observed, message string, now time.Time) *Change {
	if r.State.Final() {
		return &Change{}
	}
	c := r.observe(o, now)
	switch {
	case r.Intent == IntentDelete:
		r.State = StateDeleting
	case r.Intent == IntentPresent && r.State == StatePending && !r.AttemptedAt.IsZero():
		r.State = StateProvisioning
	}
	// One that is ready and busy on its own (maintenance, a resize in the
	// console) stays ready; a failure keeps its reason.
	if r.State != StateReady && r.State != StateError {
		r.Message = message
	}
	return c
}

// Missing notes the first look that found the recorded object absent.
func (r *Resource) Missing(now time.Time) *Change {
	c := r.touch(now)
	r.MissingSince = now
	return c
}

// Repairing notes, before the call goes out, that drift is being repaired, so
// that the repair shows even if the answer to the call is lost.
func (r *Resource) Repairing(fields []string, now time.Time) *Change {
	if !r.Repairable() || len(fields) == 0 {
		return nil
	}
	c := r.touch(now)
	r.State = StateUpdating
	r.Drift = mergeFields(r.Drift, fields)
	c.event(r, EventUpdating, map[string]any{"reason": "drift", "fields": slices.Clone(r.Drift)})
	return c
}

// Repairable reports whether a difference to the provider is drift: the wanted
// spec was seen applied, and nothing else is asked for.
func (r *Resource) Repairable() bool {
	return r.State == StateReady && r.Intent == IntentPresent && !r.Pending()
}

// SentChange notes, for the settle window, which fields a call asked for. A
// repair of drift is counted per field (D5).
func (r *Resource) SentChange(fields []string, generation int64, now time.Time) *Change {
	c := r.touch(now)
	if r.Sent == nil {
		r.Sent = map[string]time.Time{}
	}
	if r.Repairs == nil {
		r.Repairs = map[string]int{}
	}
	for _, f := range fields {
		if generation == r.Generation {
			r.Sent[f] = now
		}
		if !r.Pending() {
			r.Repairs[f]++
		}
	}
	r.RefreshWanted = false
	return c
}

func mergeFields(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// Ready records that the object runs with the spec of a generation, as seen in
// one look. A newer generation or another intent keeps the state as it is.
func (r *Resource) Ready(o *Observed, generation int64, now time.Time) *Change {
	c := r.observe(o, now)
	if r.Intent != IntentPresent || generation != r.Generation {
		return c
	}
	wasPending, was := r.Pending(), r.State
	drift := r.Drift
	if r.ObservedOnly && len(o.Spec) > 0 {
		r.Spec = r.Spec.Merge(o.Spec)
	}
	r.Applied, r.AppliedSpec = r.Generation, r.Spec.Clone()
	r.State, r.Message, r.ErrorClass, r.RetryAt = StateReady, "", "", time.Time{}
	r.Sent, r.Drift, r.RefreshWanted = nil, nil, false
	c.SettleBooking = wasPending
	switch {
	case r.ReadyAt.IsZero():
		r.ReadyAt = now
		if r.Billed && r.BilledFrom.IsZero() {
			r.BilledFrom = now // an adopted one bills from its first ready
		}
		c.event(r, EventReady, map[string]any{"outputs": sortedKeys(r.Outputs), "secretOutputs": sortedKeys(r.SecretOutputs)})
		if was == StateUpdating {
			c.event(r, EventUpdated, nil)
		}
	case was == StateUpdating && len(drift) > 0:
		c.event(r, EventUpdated, map[string]any{"reason": "drift", "fields": drift})
	case was == StateUpdating || wasPending:
		c.event(r, EventUpdated, nil)
	case was == StateError:
		c.event(r, EventUpdated, map[string]any{"reason": "recovered"})
	}
	return c
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// Fail records a failure of a generation: the event once, the message every
// time, and when it is looked at again. What was asked for meanwhile is not
// failed by it. o may be nil; nothing is taken over from an object that is not
// ours.
func (r *Resource) Fail(o *Observed, class Class, message string, generation int64, s Settings, now time.Time) *Change {
	if class == ClassNotManaged {
		o = nil
	}
	c := r.observe(o, now)
	if r.State.Final() || generation != r.Generation {
		return c
	}
	if message == "" {
		message = "the provider gave no reason"
	}
	was := r.State
	r.State, r.Message, r.ErrorClass = StateError, message, class
	r.RetryAt = now.Add(s.Refresh)
	r.RefreshWanted = false
	if class == ClassNotFound && r.MissingSince.IsZero() {
		r.MissingSince = now
	}
	r.FailedGeneration = generation
	if was != StateError {
		c.event(r, EventFailed, map[string]any{"message": message})
	}
	return c
}

// Unknown counts a look whose outcome is not known (5xx, time-out, no answer);
// after limit in a row a resource that is still on its way becomes an error.
func (r *Resource) Unknown(message string, limit int, generation int64, s Settings, now time.Time) *Change {
	failures := r.Failures + 1
	var c *Change
	if failures >= limit && r.State != StateReady {
		c = r.Fail(nil, ClassUnknown, message, generation, s, now)
	} else {
		c = r.touch(now)
		if r.State == StateError {
			r.RetryAt = now.Add(s.Refresh)
		}
		if generation == r.Generation {
			r.Message = message
		}
	}
	r.Failures = failures
	return c
}

// Troubled notes trouble of the account or its allowance (D8): the state stays.
func (r *Resource) Troubled(class Class, message string, s Settings, now time.Time) *Change {
	if r.Message == message && r.State != StateError {
		return nil
	}
	c := r.touch(now)
	r.Message = message
	if r.State == StateError {
		r.RetryAt = now.Add(s.Refresh)
	} else {
		r.ErrorClass = class
	}
	return c
}

// ForgetObject clears the id of an object that the kind deleted in order to
// make it again with a secret that was lost (D19). Only before the first ready.
func (r *Resource) ForgetObject(now time.Time) *Change {
	c := r.touch(now)
	r.ProviderID, r.AttemptedAt, r.Sent = "", time.Time{}, nil
	return c
}

// Recovering notes, before a kind deletes an object in order to make it again,
// that its absence from now on is our own doing (D19).
func (r *Resource) Recovering(now time.Time) *Change {
	c := r.touch(now)
	if r.Sent == nil {
		r.Sent = map[string]time.Time{}
	}
	r.Sent[SentRecoverKey] = now
	return c
}

// forgetSent drops the notes of what was sent for an older spec. A recovery
// under way is not the spec's and stays noted.
func (r *Resource) forgetSent() {
	at, recovering := r.Sent[SentRecoverKey]
	r.Sent = nil
	if recovering {
		r.Sent = map[string]time.Time{SentRecoverKey: at}
	}
}

// Suspect notes that a sweep saw something which only a closer look may judge:
// labels that are gone, an object that failed. The next step is that look.
func (r *Resource) Suspect(class Class, now time.Time) *Change {
	if r.State != StateReady || r.ErrorClass == class {
		return nil
	}
	c := r.touch(now)
	r.ErrorClass = class
	return c
}

// suspected reports the mark of Suspect.
func (r *Resource) suspected() bool {
	return r.State == StateReady && (r.ErrorClass == ClassNotManaged || r.ErrorClass == ClassRefused)
}

// TakeOver records the first run of an adoption: the labels are written, and
// the provider's spec becomes ours to observe.
func (r *Resource) TakeOver(o *Observed, identity string, now time.Time) *Change {
	c := r.observe(o, now)
	if !r.Adopting() {
		return c
	}
	r.TakenOverAt, r.AcceptedAt = now, now
	r.Spec, r.ObservedOnly = o.Spec.Clone(), true
	if r.Spec == nil {
		r.Spec = Spec{}
	}
	r.Identity = identity
	if r.Intent == IntentPresent && r.State == StatePending {
		r.State = StateProvisioning
	}
	return c
}

// Refreshed records what a sweep or a refresh saw of a resource at rest:
// outputs, secrets, and for an observed-only one the spec. secretsChanged are
// the names whose sealed value differs (D20). It reports whether anything that
// a caller sees changed.
func (r *Resource) Refreshed(o *Observed, diff, secretsChanged []string, now time.Time) *Change {
	c := r.observe(o, now)
	if r.ObservedOnly && len(o.Spec) > 0 {
		r.Spec = r.Spec.Merge(o.Spec)
		r.AppliedSpec = r.Spec.Clone()
		diff = nil
	}
	if r.State == StateReady {
		r.Message = ""
	}
	if len(diff) == 0 {
		r.Drift, r.Repairs = nil, nil
	} else {
		r.Drift = mergeFields(nil, diff)
	}
	if len(secretsChanged) > 0 && !r.ReadyAt.IsZero() {
		c.event(r, EventUpdated, map[string]any{"reason": "secrets", "secretOutputs": secretsChanged})
	}
	return c
}

// Deleted ends the record.
func (r *Resource) Deleted(now time.Time) *Change { return r.end(StateDeleted, EventDeleted, now) }

// Released ends the record, its object living on.
func (r *Resource) Released(now time.Time) *Change { return r.end(StateReleased, EventReleased, now) }

func (r *Resource) end(s State, e EventType, now time.Time) *Change {
	c := r.touch(now)
	if r.State.Final() {
		return c
	}
	r.State, r.Message, r.EndedAt = s, "", now
	r.RetryAt, r.Drift, r.RefreshWanted, r.ErrorClass = time.Time{}, nil, false, ""
	r.SecretOutputs, r.Memo = nil, nil
	c.Ended = true
	c.event(r, e, nil)
	return c
}

// WithdrawRelease takes a release back that the provider refused: managed as
// before, in error with the reason until the next refresh.
func (r *Resource) WithdrawRelease(message string, s Settings, now time.Time) *Change {
	if r.Intent != IntentRelease {
		return r.touch(now)
	}
	r.Intent = IntentPresent
	return r.Fail(nil, ClassRefused, message, r.Generation, s, now)
}

func (r *Resource) touch(now time.Time) *Change {
	r.UpdatedAt = now
	return &Change{}
}

// Keys in Sent for what is no field's change: the delete call, and a deletion
// in order to make the object again. No spec field has such a name.
const (
	SentDeleteKey  = "-delete-"
	SentRecoverKey = "-recover-"
)

// SentDelete notes that the provider took a delete, so that it is not sent
// again at each look while the object goes away.
func (r *Resource) SentDelete(now time.Time) *Change {
	c := r.touch(now)
	if r.Sent == nil {
		r.Sent = map[string]time.Time{}
	}
	r.Sent[SentDeleteKey] = now
	return c
}
