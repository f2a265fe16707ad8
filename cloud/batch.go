package cloud

import (
	"fmt"
	"time"
)

// BatchState is where a command batch is.
type BatchState string

// The states of a batch.
const (
	// BatchAwaiting: fixed and recorded; its commands wait for approvals.
	BatchAwaiting BatchState = "awaitingApproval"
	// BatchDispatching: approved (or no approver keys are published); its
	// commands are going out.
	BatchDispatching BatchState = "dispatching"
	// BatchCompleted: every command has its last answer, which may be a failure.
	BatchCompleted BatchState = "completed"
	BatchCancelled BatchState = "cancelled"
	BatchExpired   BatchState = "expired"
)

// Final reports whether the batch has ended.
func (s BatchState) Final() bool {
	return s == BatchCompleted || s == BatchCancelled || s == BatchExpired
}

// CommandState is where one command of a batch is.
type CommandState string

// The states of a command. Waiting and sent ones may still be sent; the rest are final.
const (
	CommandWaiting     CommandState = "waiting"
	CommandSent        CommandState = "sent" // sent at least once, no answer recorded
	CommandSucceeded   CommandState = "succeeded"
	CommandFailed      CommandState = "failed"
	CommandInterrupted CommandState = "interrupted" // it may have run; its end is unknown
	CommandRefused     CommandState = "refused"     // the daemon said no; it did not run
	CommandDropped     CommandState = "dropped"     // the batch ended before it was sent
)

// Final reports whether the command will not be sent again.
func (s CommandState) Final() bool { return s != CommandWaiting && s != CommandSent }

// The event types of batches.
const (
	EventBatchCreated   EventType = "command.batch.created"
	EventBatchApproved  EventType = "command.batch.approved"
	EventBatchCompleted EventType = "command.batch.completed"
	EventBatchCancelled EventType = "command.batch.cancelled"
	EventBatchExpired   EventType = "command.batch.expired"
)

// KindDeleteResource is the kind of a command that this control plane carries
// out itself: let a held deletion go ahead. Its subject is the resource id.
const KindDeleteResource = "cloud-resource.delete"

// Steps of a batch.
const (
	StepDispatch Step = "dispatch"
	StepExpire   Step = "expire"
)

// Batch is the record of a command batch. What is fixed at creation never changes.
type Batch struct {
	ID          string
	TenantID    string
	Description string
	Owner       string
	// TrustDomain and Root are "" in a batch made without approver keys.
	TrustDomain string
	Root        string // hex
	LeafCount   int
	// Threshold is how many approvers are needed, by the policy under which its
	// approvals were judged last; 0 without approver keys.
	Threshold int
	ExpiresAt time.Time
	// ResourceID is set when the batch stands for a resource's deletion.
	ResourceID string

	State      BatchState
	Message    string
	Generation int64
	// Approvers who signed so far.
	Approvers []string
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time
}

// BatchCommand is one leaf and what became of it.
type BatchCommand struct {
	Index         int
	Subject       string
	Kind          string
	Payload       []byte // nil when none came
	PayloadDigest string // hex; "" when not bound
	State         CommandState
	Attempts      int
	DueAt         time.Time
	Message       string
	// Answer is the daemon's last answer, as JSON.
	Answer []byte
}

// BatchChange is what the transaction that saves a batch also does.
type BatchChange struct {
	Events []Event
	// GiveBack returns the deletions that this batch still holds.
	GiveBack bool
	// Drop ends commands without an answer: dropped when never sent, else
	// interrupted, since nobody knows what became of them.
	Drop bool
}

func (ch *BatchChange) event(b *Batch, t EventType, data map[string]any) {
	d := map[string]any{"state": string(b.State), "commands": b.LeafCount}
	for k, v := range data {
		d[k] = v
	}
	ch.Events = append(ch.Events, Event{Type: t, Data: d})
}

// DecideBatch says which step a batch needs. open is how many commands are not
// final; due is when the next of them may be sent. Pure.
func DecideBatch(b *Batch, open int, due, now time.Time) Next {
	n := Next{State: State(b.State), Generation: b.Generation, Message: b.Message}
	switch {
	case b.State.Final():
		n.Step = StepEnd
	case !now.Before(b.ExpiresAt):
		n.Step = StepExpire
	case b.State == BatchAwaiting:
		// Looks like a retry to the loop: one timer, until the end of its time.
		n.Step, n.RetryAt = StepRetry, b.ExpiresAt
	case open > 0 && now.Before(due):
		n.Step, n.RetryAt = StepRetry, due
		if b.ExpiresAt.Before(due) {
			n.RetryAt = b.ExpiresAt
		}
	default:
		n.Step = StepDispatch
	}
	return n
}

// Created is the change of a new batch.
func (b *Batch) Created(now time.Time) *BatchChange {
	b.Generation, b.CreatedAt, b.UpdatedAt = 1, now, now
	ch := &BatchChange{}
	b.State = BatchDispatching
	if b.Threshold > 0 {
		b.State = BatchAwaiting
		b.Message = "awaits the signatures of its approvers"
	}
	ch.event(b, EventBatchCreated, map[string]any{"root": b.Root, "threshold": b.Threshold})
	return ch
}

// Approved records who signed so far of how many are needed; enough lets the
// commands go out.
func (b *Batch) Approved(approvers []string, threshold int, enough bool, now time.Time) *BatchChange {
	if b.State != BatchAwaiting {
		return nil
	}
	ch := b.touch(now)
	b.Approvers, b.Threshold = approvers, threshold
	b.Message = fmt.Sprintf("awaits the signatures of its approvers: %d of %d have signed", len(approvers), threshold)
	if enough {
		b.State, b.Message = BatchDispatching, ""
		b.Generation++
		ch.event(b, EventBatchApproved, map[string]any{"approvers": approvers})
	}
	return ch
}

// Unapproved makes a batch wait again: the policy changed since it was
// approved, or since it was made without approver keys.
func (b *Batch) Unapproved(approvers []string, threshold int, message string, now time.Time) *BatchChange {
	if b.State != BatchDispatching {
		return nil
	}
	ch := b.touch(now)
	b.State, b.Approvers, b.Threshold, b.Message = BatchAwaiting, approvers, threshold, message
	return ch
}

// Cancel ends a batch; commands that were not sent are dropped.
func (b *Batch) Cancel(now time.Time) *BatchChange {
	return b.end(BatchCancelled, EventBatchCancelled, "cancelled", now)
}

// Expire ends a batch whose time is over.
func (b *Batch) Expire(now time.Time) *BatchChange {
	return b.end(BatchExpired, EventBatchExpired, "its time was over before every command had an answer", now)
}

// Complete ends a batch whose commands all have their last answer. A deletion
// that it holds even so was refused, and is given back.
func (b *Batch) Complete(counts map[CommandState]int, now time.Time) *BatchChange {
	if b.State != BatchDispatching {
		return nil
	}
	ch := b.touch(now)
	ch.GiveBack = true
	b.State, b.Message, b.EndedAt = BatchCompleted, "", now
	b.Generation++
	data := map[string]any{}
	for s, n := range counts {
		data[string(s)] = n
	}
	ch.event(b, EventBatchCompleted, map[string]any{"answers": data})
	return ch
}

func (b *Batch) end(s BatchState, t EventType, message string, now time.Time) *BatchChange {
	if b.State.Final() {
		return nil
	}
	ch := b.touch(now)
	b.State, b.Message, b.EndedAt = s, message, now
	b.Generation++
	ch.GiveBack, ch.Drop = true, true
	ch.event(b, t, nil)
	return ch
}

func (b *Batch) touch(now time.Time) *BatchChange {
	b.UpdatedAt = now
	return &BatchChange{}
}
