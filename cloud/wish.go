package cloud

import "time"

// What tenants and operators ask for, as changes of the record. The checks that
// need other rows or the provider come before these; see package intent.

// Created is the change of a new record.
func (r *Resource) Created(now time.Time) *Change {
	r.State, r.Intent, r.Version, r.Generation = StatePending, IntentPresent, 1, 1
	r.CreatedAt = now
	c := r.touch(now)
	if r.Adopted {
		r.Spec = Spec{}
		c.event(r, EventAdopted, map[string]any{"kind": r.Kind, "name": r.Name, "providerId": r.ProviderID})
	} else {
		c.event(r, EventCreated, map[string]any{"kind": r.Kind, "name": r.Name})
	}
	return c
}

// WantSpec records a new spec: a generation of its own when it differs (D33),
// and updating when the resource was ready or failed.
func (r *Resource) WantSpec(spec Spec, now time.Time) *Change {
	c := r.touch(now)
	r.Version++
	changed := r.Spec.Changed(spec)
	if len(changed) == 0 {
		return c
	}
	r.Spec = spec
	r.Generation++
	r.ObservedOnly = false
	r.forgetSent()
	r.Repairs, r.Drift = nil, nil
	if r.State == StateReady || r.State == StateError {
		r.State, r.Message, r.RetryAt, r.ErrorClass, r.Failures = StateUpdating, "", time.Time{}, "", 0
		c.event(r, EventUpdating, map[string]any{"fields": changed})
	}
	return c
}

// WantDescription changes what is better-compute's alone.
func (r *Resource) WantDescription(text string, bump bool, now time.Time) *Change {
	c := r.touch(now)
	r.Description = text
	if bump {
		r.Version++
	}
	return c
}

// WantDelete marks the record for deletion; a release is overridden. Asking
// again changes nothing.
func (r *Resource) WantDelete(now time.Time) *Change {
	if r.State.Final() || r.Intent == IntentDelete {
		return &Change{}
	}
	c := r.touch(now)
	r.Intent, r.State, r.Message = IntentDelete, StateDeleting, ""
	r.RetryAt, r.Failures, r.Sent, r.ErrorClass = time.Time{}, 0, nil, ""
	r.Generation++
	c.event(r, EventDeleting, nil)
	return c
}

// WantRelease marks the record for release.
func (r *Resource) WantRelease(now time.Time) *Change {
	if r.State.Final() || r.Intent != IntentPresent {
		return &Change{}
	}
	c := r.touch(now)
	r.Intent = IntentRelease
	r.Generation++
	r.RetryAt = time.Time{}
	c.event(r, EventReleasing, nil)
	return c
}

// WantRefresh asks for a look now, which may also start again what failed.
func (r *Resource) WantRefresh(now time.Time) *Change {
	c := r.touch(now)
	if !r.State.Final() {
		r.RefreshWanted = true
	}
	return c
}

// HoldDelete marks the record for a deletion that awaits a command batch's
// approval: it shows deleting, and nothing is done until Approve or GiveBack.
func (r *Resource) HoldDelete(batch string, now time.Time) *Change {
	if r.State.Final() || r.Intent == IntentDelete {
		return &Change{}
	}
	r.Before = &Before{State: r.State, Intent: r.Intent, Message: r.Message}
	r.HeldBy = batch
	c := r.WantDelete(now)
	r.Message = awaits(batch)
	return c
}

func awaits(batch string) string { return "awaits the approval of command batch " + batch }

// Rehold moves a held deletion to another batch, the one that its parent's
// deletion awaits, so that both share one fate.
func (r *Resource) Rehold(from, to string, now time.Time) *Change {
	if r.HeldBy != from {
		return &Change{}
	}
	c := r.touch(now)
	r.HeldBy, r.Message = to, awaits(to)
	return c
}

// Approve lets a held deletion go ahead.
func (r *Resource) Approve(batch string, now time.Time) *Change {
	if r.HeldBy != batch {
		return &Change{}
	}
	c := r.touch(now)
	r.HeldBy, r.Before, r.Message = "", nil, ""
	return c
}

// GiveBack undoes a held deletion whose batch was cancelled or expired.
func (r *Resource) GiveBack(batch string, now time.Time) *Change {
	if r.HeldBy != batch || r.Before == nil {
		return &Change{}
	}
	c := r.touch(now)
	b := r.Before
	r.State, r.Intent, r.Message = b.State, b.Intent, b.Message
	r.HeldBy, r.Before = "", nil
	r.Generation++
	if r.Applied == r.Generation-2 {
		// The two generations of asking and undoing changed nothing in the spec.
		r.Applied = r.Generation
	}
	c.event(r, EventUpdated, map[string]any{"reason": "deleteWithdrawn"})
	return c
}
