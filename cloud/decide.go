package cloud

import (
	"fmt"
	"time"
)

// Step names the activity that a workflow runs next, or what it waits for.
// The names are recorded in workflow histories: add, never rename.
type Step string

// The steps.
const (
	// StepRest: nothing to do until a signal. No timer.
	StepRest Step = "rest"
	// StepRetry: failed; look again at RetryAt.
	StepRetry     Step = "retry"
	StepAdopt     Step = "adopt"
	StepProvision Step = "provision"
	StepUpdate    Step = "update"
	StepRefresh   Step = "refresh"
	StepDelete    Step = "delete"
	StepRelease   Step = "release"
	// StepEnd: the record is final; the workflow completes.
	StepEnd Step = "end"
)

// Next is what activities answer to the workflow: small, without specs or
// secrets, and all that the workflow needs to choose its next move. Because
// the choice is made here and not in workflow code, a changed rule never makes
// an old history diverge.
type Next struct {
	Step       Step      `json:"step"`
	State      State     `json:"state,omitempty"`
	Generation int64     `json:"generation,omitempty"`
	RetryAt    time.Time `json:"retryAt,omitzero"`
	// Message tells an operator in plain words what is waited for.
	Message string `json:"message,omitempty"`
}

// Decide says which step a record needs at a time. liveChildren counts the
// resources that live in it and have not ended. Pure.
func Decide(r *Resource, liveChildren int, now time.Time) Next {
	n := Next{State: r.State, Generation: r.Generation, Message: r.Message}
	switch {
	case r.State.Final():
		n.Step = StepEnd
	case r.HeldBy != "":
		n.Step = StepRest
	case r.waitsForRetry(now):
		n.Step, n.RetryAt = StepRetry, r.RetryAt
	case r.Intent == IntentDelete && liveChildren > 0:
		n.Step = StepRest
		n.Message = fmt.Sprintf("waiting for %d resources that live in it to be deleted", liveChildren)
	case r.Intent == IntentDelete:
		n.Step = StepDelete
	case r.Intent == IntentRelease:
		n.Step = StepRelease
	case r.Adopting():
		n.Step = StepAdopt
	case r.State == StatePending || r.State == StateProvisioning:
		n.Step = StepProvision
	case r.Pending() && r.State != StateError:
		n.Step = StepUpdate
	case r.State == StateUpdating || len(r.Drift) > 0 && r.State == StateReady:
		n.Step = StepUpdate
	case r.State == StateError || r.RefreshWanted || !r.MissingSince.IsZero() || r.suspected():
		n.Step = StepRefresh
	default:
		n.Step = StepRest
	}
	return n
}

// waitsForRetry: a failure is looked at again at RetryAt, unless something new
// was asked for since. A delete waits too once it has failed as such, because
// then the state is StateError under IntentDelete.
func (r *Resource) waitsForRetry(now time.Time) bool {
	return r.State == StateError && !r.RefreshWanted && now.Before(r.RetryAt)
}

// ActionKind is what an activity does after one look.
type ActionKind string

// The actions.
const (
	ActCreate  ActionKind = "create"
	ActWait    ActionKind = "wait"
	ActUpdate  ActionKind = "update"
	ActRecover ActionKind = "recover"
	ActReady   ActionKind = "ready"
	ActFail    ActionKind = "fail"
	// ActLabel: the object is ours by its recorded id but lost its labels; write
	// them again (B29).
	ActLabel ActionKind = "label"
	// ActMissing: note that the recorded object was absent, and wait.
	ActMissing ActionKind = "missing"
	// ActRecreate: the object is absent because we deleted it to get its secrets
	// again; forget its id and make it anew (D19).
	ActRecreate ActionKind = "recreate"
)

// Action is the answer of Reconcile.
type Action struct {
	Kind ActionKind
	// Fields are what ActUpdate asks for; empty starts again what failed.
	Fields []string
	// Message says in stable words why (ActWait, ActFail, ActMissing).
	Message string
	Class   Class
}

// Look is what one look at the provider gave. Observed is nil when the object
// is absent; Diff is the kind's answer for it.
type Look struct {
	Observed *Observed
	Diff     []string
}

// MaxRepairs is how often the same drift is repaired in a row; the next time
// stops with an error (D5).
const MaxRepairs = 2

// Reconcile says what to do for a record whose intent is IntentPresent after
// one look. deployment is ours; m is the kind's manifest. Pure.
func Reconcile(r *Resource, m *Manifest, look Look, deployment string, s Settings, now time.Time) Action {
	o := look.Observed
	if o == nil || o.Phase == PhaseGone {
		return absent(r, s, now)
	}
	if why := foreign(r, m, o, deployment); why != "" {
		if m.Ownership == OwnedByParent && now.Before(r.CreatedAt.Add(s.Settle)) {
			// Perhaps a deleted namesake that the provider still lists (B18).
			return Action{Kind: ActWait, Class: ClassNotManaged, Message: "one of that name exists at the provider; waiting to see whether it is going away"}
		}
		return Action{Kind: ActFail, Class: ClassNotManaged, Message: why}
	}
	if Unlabelled(r, m, o) {
		return Action{Kind: ActLabel, Message: "writing its ownership labels again"}
	}
	switch o.Phase {
	case PhaseFailed:
		return failed(r, look, s, now)
	case PhaseReady:
	case PhaseDeleting:
		return Action{Kind: ActWait, Message: "the provider is deleting it"}
	default:
		return Action{Kind: ActWait, Message: waitText(o)}
	}
	if missing := missingSecrets(r, m, o); len(missing) > 0 {
		return Action{Kind: ActRecover, Fields: missing, Message: "getting its secrets again"}
	}
	if len(look.Diff) == 0 {
		return Action{Kind: ActReady}
	}
	return change(r, look.Diff, s, now)
}

func waitText(o *Observed) string {
	if o.Message != "" {
		return o.Message
	}
	return "the provider is working on it"
}

func absent(r *Resource, s Settings, now time.Time) Action {
	settling := !r.AttemptedAt.IsZero() && now.Before(r.AttemptedAt.Add(s.Settle))
	switch {
	case r.ProviderID == "" && r.AttemptedAt.IsZero():
		return Action{Kind: ActCreate}
	case r.ProviderID == "" && settling:
		return Action{Kind: ActWait, Message: "waiting to see whether the provider accepted the create"}
	case r.ProviderID == "":
		return Action{Kind: ActCreate}
	case !r.Sent[SentRecoverKey].IsZero() && r.ReadyAt.IsZero():
		return Action{Kind: ActRecreate}
	case settling:
		return Action{Kind: ActWait, Message: "accepted; not visible at the provider yet"}
	case r.MissingSince.IsZero():
		return Action{Kind: ActMissing, Message: "not found at the provider; looking again"}
	case r.State != StateError && now.Before(r.MissingSince.Add(s.Settle)):
		return Action{Kind: ActWait, Message: "not found at the provider; looking again"}
	}
	return Action{Kind: ActFail, Class: ClassNotFound, Message: "it no longer exists at the provider; delete it, or wait for it to come back"}
}

// Foreign says why an object is not the record's, or "". Pure.
func Foreign(r *Resource, m *Manifest, o *Observed, deployment string) string {
	return foreign(r, m, o, deployment)
}

// Unlabelled reports whether the recorded object bears no ownership label any
// more although its kind is owned by labels (B29). Pure.
func Unlabelled(r *Resource, m *Manifest, o *Observed) bool {
	return m.Ownership == OwnedByLabels && unlabelled(r, o)
}

// foreign says why the object is not ours, or "".
func foreign(r *Resource, m *Manifest, o *Observed, deployment string) string {
	switch m.Ownership {
	case OwnedByLabels:
		ours := o.Owner.ResourceKey == LabelKey(r.ID) && (o.Owner.Deployment == deployment || o.Owner.Deployment == "")
		switch {
		case ours:
			return ""
		case r.Adopting() && o.Owner.ResourceKey == "":
			return ""
		case unlabelled(r, o):
			return ""
		}
		return "the object at the provider is not managed by this deployment"
	case OwnedByName:
		if o.Owner.ResourceKey != LabelKey(r.ID) {
			return "the object at the provider is not managed by this deployment"
		}
	case OwnedByParent, OwnedByRecord:
		if r.ProviderID == "" && r.AttemptedAt.IsZero() && r.AcceptedAt.IsZero() && !m.IdempotentCreate {
			return "one of that name exists at the provider already and is not managed by this deployment"
		}
	}
	return ""
}

// unlabelled: the recorded object bears no ownership label at all. A delete
// does not reach it then; a look writes the labels again.
func unlabelled(r *Resource, o *Observed) bool {
	return o.Owner.ResourceKey == "" && r.ProviderID != "" && r.ProviderID == o.ProviderID && r.Intent == IntentPresent
}

// failed: a failed object is changed when the wanted spec is newer than the
// failure, or started again when somebody asked; else it is only looked at (D7).
func failed(r *Resource, look Look, s Settings, now time.Time) Action {
	newer := r.Generation > r.FailedGeneration && r.Pending()
	switch {
	case newer && len(look.Diff) > 0:
		return change(r, look.Diff, s, now)
	case r.RefreshWanted:
		return Action{Kind: ActUpdate}
	}
	msg := look.Observed.Message
	if msg == "" {
		msg = "the provider reports that it failed"
	}
	return Action{Kind: ActFail, Class: ClassRefused, Message: msg}
}

// missingSecrets names required secret outputs that are neither sealed nor in
// this answer; ready never comes without them (D19).
func missingSecrets(r *Resource, m *Manifest, o *Observed) []string {
	var missing []string
	for _, s := range m.SecretOutputs {
		if s.Optional || r.SecretOutputs[s.Name] != "" {
			continue
		}
		if v, ok := o.Secrets[s.Name]; !ok || v.Empty() {
			missing = append(missing, s.Name)
		}
	}
	return missing
}

// change sends what is different and was not sent already. A field sent within
// the settle window is waited for: a provider may report the old value for a
// while after it accepted the new one (B06).
func change(r *Resource, diff []string, s Settings, now time.Time) Action {
	var fields []string
	for _, f := range diff {
		if t, ok := r.Sent[f]; ok && now.Before(t.Add(s.Settle)) {
			continue
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		return Action{Kind: ActWait, Message: "waiting for the provider to show the change"}
	}
	if !r.Pending() {
		for _, f := range fields {
			if r.Repairs[f] >= MaxRepairs {
				return Action{Kind: ActFail, Class: ClassRefused, Fields: []string{f},
					Message: fmt.Sprintf("spec.%s was changed at the provider again after %d repairs; not repaired any more until the spec changes", f, MaxRepairs)}
			}
		}
	}
	return Action{Kind: ActUpdate, Fields: fields}
}
