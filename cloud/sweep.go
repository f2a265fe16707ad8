package cloud

import (
	"slices"
	"time"
)

// Finding is what a sweep of an account finds about a resource at rest.
type Finding string

// The findings.
const (
	// FindNothing: as recorded; nothing is written.
	FindNothing Finding = ""
	// FindChanged: outputs, secrets or an observed spec moved; they are written.
	FindChanged Finding = "changed"
	// FindDrift: a wanted field differs at the provider (D5).
	FindDrift Finding = "drift"
	// FindMissing: absent for the first time; FindGone: absent again after the
	// settle window, so that a closer look is due (D4).
	FindMissing Finding = "missing"
	FindGone    Finding = "gone"
	// FindSuspect: something that only a closer look may judge; see Suspect.
	FindSuspect Finding = "suspect"
)

// Sweep compares a record at rest with what a complete list of its kind told.
// look.Observed is nil when the list does not have it. secretsChanged are the
// secret outputs whose value differs from the sealed one. The class says what
// FindSuspect suspects. Pure.
func Sweep(r *Resource, m *Manifest, look Look, secretsChanged []string, deployment string, s Settings, now time.Time) (Finding, Class) {
	o := look.Observed
	if o == nil || o.Phase == PhaseGone {
		return missing(r, s, now), ""
	}
	switch {
	case foreign(r, m, o, deployment) != "", Unlabelled(r, m, o):
		return suspect(r, ClassNotManaged)
	case o.Phase == PhaseFailed:
		return suspect(r, ClassRefused)
	case o.Phase == PhaseReady && len(look.Diff) > 0 && !r.ObservedOnly:
		if slices.Equal(mergeFields(nil, look.Diff), r.Drift) && len(secretsChanged) == 0 {
			return FindNothing, "" // told already
		}
		return FindDrift, ""
	case len(secretsChanged) > 0, r.shows(o), r.lingers(o):
		return FindChanged, ""
	}
	return FindNothing, ""
}

func missing(r *Resource, s Settings, now time.Time) Finding {
	switch {
	case !r.AttemptedAt.IsZero() && now.Before(r.AttemptedAt.Add(s.Settle)):
		return FindNothing
	case r.MissingSince.IsZero():
		return FindMissing
	case now.Before(r.MissingSince.Add(s.Settle)):
		return FindNothing
	}
	return FindGone
}

func suspect(r *Resource, class Class) (Finding, Class) {
	if r.ErrorClass == class {
		return FindNothing, "" // told already
	}
	return FindSuspect, class
}

// shows reports whether the object shows something that the record does not.
func (r *Resource) shows(o *Observed) bool {
	if !outputsHold(r.Outputs, o.Outputs) || o.Region != "" && r.Region == "" {
		return true
	}
	return r.ObservedOnly && len(o.Spec) > 0 && len(r.Spec.Changed(r.Spec.Merge(o.Spec))) > 0
}

// lingers reports whether the record keeps notes of trouble that is over.
func (r *Resource) lingers(o *Observed) bool {
	if o.Phase != PhaseReady {
		return !r.MissingSince.IsZero()
	}
	return r.Message != "" || r.ErrorClass != "" || !r.MissingSince.IsZero() || r.Failures > 0 ||
		len(r.Drift) > 0 || len(r.Repairs) > 0
}

// outputsHold reports whether every output of seen is recorded with the same
// value. Both go through JSON, which is how records keep them.
func outputsHold(recorded, seen map[string]any) bool {
	if len(seen) == 0 {
		return true
	}
	a, errA := SpecOf(recorded)
	b, errB := SpecOf(seen)
	if errA != nil || errB != nil {
		return false
	}
	for name, v := range b {
		old, ok := a[name]
		if !ok || !SameValue(old, v) {
			return false
		}
	}
	return true
}
