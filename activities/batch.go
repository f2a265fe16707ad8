package activities

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Limits of dispatching.
const (
	// dispatchBatch is how many commands one activity takes, dispatchFlight how
	// many of them are on their way to daemons at once.
	dispatchBatch  = 50
	dispatchFlight = 8
	// commandTimeout bounds one send; a daemon that works longer answers the
	// repeat from its journal.
	commandTimeout = 30 * time.Second
	commandBackoff = time.Minute
)

// BatchActivities are the activities of command batches: the gateway.
type BatchActivities struct {
	Records BatchRecords
	Intents BatchIntents
	// Client sends commands; its Token is set per daemon.
	Client quorum.Client
	Now    func() time.Time
	Log    *slog.Logger
}

func (a *BatchActivities) internal(ctx context.Context, op, id string, err error) error {
	return (&Activities{Log: a.Log, Now: a.Now}).internal(ctx, op, id, err)
}

// LoadBatch answers what a batch needs next.
func (a *BatchActivities) LoadBatch(ctx context.Context, id string) (cloud.Next, error) {
	b, open, due, err := a.Records.LoadBatch(ctx, id)
	if err != nil {
		if cloud.AsError(err).Code == cloud.CodeNotFound {
			return cloud.Next{Step: cloud.StepEnd, Message: "no such batch"}, nil
		}
		return cloud.Next{}, a.internal(ctx, "load", id, err)
	}
	return cloud.DecideBatch(b, open, due, a.Now()), nil
}

// ExpireBatch ends a batch whose time is over.
func (a *BatchActivities) ExpireBatch(ctx context.Context, id string) (cloud.Next, error) {
	err := a.Records.ChangeBatch(ctx, id, cloud.ActorReconciler, func(b *cloud.Batch) *cloud.BatchChange {
		if a.Now().Before(b.ExpiresAt) {
			return nil
		}
		return b.Expire(a.Now())
	})
	if err != nil {
		return cloud.Next{}, a.internal(ctx, "expire", id, err)
	}
	return a.LoadBatch(ctx, id)
}

// DispatchCommands sends the commands that are due, a bounded number at once,
// and records every answer. The approvals are checked again first: a key that
// was revoked since no longer counts.
func (a *BatchActivities) DispatchCommands(ctx context.Context, id string) (cloud.Next, error) {
	next, err := a.dispatch(ctx, id)
	if err != nil {
		return cloud.Next{}, a.internal(ctx, "dispatch", id, err)
	}
	return next, nil
}

func (a *BatchActivities) dispatch(ctx context.Context, id string) (cloud.Next, error) {
	file, approvals, err := a.Records.BatchFile(ctx, id)
	if err != nil {
		return cloud.Next{}, err
	}
	policy, err := a.Records.QuorumPolicy(ctx)
	if err != nil {
		return cloud.Next{}, err
	}
	b, _, _, err := a.Records.LoadBatch(ctx, id)
	if err != nil {
		return cloud.Next{}, err
	}
	statement, tree, err := file.Open()
	if err != nil {
		return cloud.Next{}, err
	}
	approvals = standing(policy, statement, approvals, a.Now())
	if b.Threshold > 0 {
		if approvers, err := quorum.VerifyApprovals(policy, statement, approvals, a.Now()); err != nil {
			if err := a.Records.ChangeBatch(ctx, id, cloud.ActorReconciler, func(b *cloud.Batch) *cloud.BatchChange {
				return b.Unapproved(approvers, "its approvals no longer suffice: "+err.Error(), a.Now())
			}); err != nil {
				return cloud.Next{}, err
			}
			return a.LoadBatch(ctx, id)
		}
	}
	commands, err := a.Records.DueCommands(ctx, id, dispatchBatch)
	if err != nil {
		return cloud.Next{}, err
	}
	if len(commands) == 0 {
		return a.finish(ctx, id)
	}
	d := &dispatching{BatchActivities: a, batch: b, policy: policy, statement: statement, tree: tree, approvals: approvals}
	if err := d.all(ctx, commands); err != nil {
		return cloud.Next{}, err
	}
	return a.finish(ctx, id)
}

// standing are the approvals that still hold: one by a key that was revoked
// since would make a daemon refuse the whole set.
func standing(policy quorum.Policy, statement quorum.Statement, all []quorum.Approval, now time.Time) []quorum.Approval {
	var out []quorum.Approval
	for _, approval := range all {
		if quorum.VerifyApproval(policy, statement, approval, now) == nil {
			out = append(out, approval)
		}
	}
	return out
}

// finish completes a batch that has no open command left.
func (a *BatchActivities) finish(ctx context.Context, id string) (cloud.Next, error) {
	counts, err := a.Records.CommandCounts(ctx, id)
	if err != nil {
		return cloud.Next{}, err
	}
	if counts[cloud.CommandWaiting]+counts[cloud.CommandSent] == 0 {
		err := a.Records.ChangeBatch(ctx, id, cloud.ActorReconciler, func(b *cloud.Batch) *cloud.BatchChange {
			return b.Complete(counts, a.Now())
		})
		if err != nil {
			return cloud.Next{}, err
		}
	}
	return a.LoadBatch(ctx, id)
}

// RecordBatchIntent is RecordIntent for batches: approve and cancel by hand.
func (a *BatchActivities) RecordBatchIntent(ctx context.Context, s HandSignal) (HandAnswer, error) {
	var err error
	switch s.Name {
	case "approve":
		err = a.Intents.OperatorApprove(ctx, s.ResourceID, s.Payload)
	case "cancel":
		err = a.Intents.OperatorCancel(ctx, s.ResourceID)
	default:
		err = cloud.Errorf(cloud.CodeInvalidInput, "there is no signal %q; there are approve and cancel", s.Name)
	}
	var answer HandAnswer
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeUnavailable || e.Code == cloud.CodeInternal {
			return answer, a.internal(ctx, "record "+s.Name, s.ResourceID, err)
		}
		answer.Refused = string(e.Code) + ": " + e.Message
	}
	next, err := a.LoadBatch(ctx, s.ResourceID)
	answer.Next = next
	return answer, err
}

// dispatching is one activity's work on one batch.
type dispatching struct {
	*BatchActivities
	batch     *cloud.Batch
	policy    quorum.Policy
	statement quorum.Statement
	tree      *quorum.Tree
	approvals []quorum.Approval
}

func (d *dispatching) all(ctx context.Context, commands []cloud.BatchCommand) error {
	var wg sync.WaitGroup
	flight := make(chan struct{}, dispatchFlight)
	errs := make([]error, len(commands))
	for i, c := range commands {
		flight <- struct{}{}
		wg.Go(func() {
			defer func() { <-flight }()
			errs[i] = d.one(ctx, c)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// one sends a command once and records what came of it. It is noted as sent
// before it goes out, so that a crash in between shows in the audit trail.
func (d *dispatching) one(ctx context.Context, c cloud.BatchCommand) error {
	c.State, c.Attempts, c.DueAt = cloud.CommandSent, c.Attempts+1, d.Now().Add(d.backoff(c.Attempts))
	if err := d.Records.SaveCommand(ctx, d.batch.ID, c); err != nil {
		return err
	}
	command, err := d.tree.Command(d.statement, d.approvals, uint64(c.Index), c.Payload)
	if err != nil {
		return err
	}
	if c.Kind == cloud.KindDeleteResource {
		err = d.deleteResource(ctx, command, &c)
	} else {
		err = d.send(ctx, command, &c)
	}
	if err != nil {
		return err
	}
	return d.Records.SaveCommand(ctx, d.batch.ID, c)
}

func (d *dispatching) backoff(attempts int) time.Duration {
	return min(time.Second<<min(attempts, 10), commandBackoff)
}

func (d *dispatching) send(ctx context.Context, command quorum.Command, c *cloud.BatchCommand) error {
	url, token, err := d.Records.Daemon(ctx, c.Kind)
	if e := cloud.AsError(err); e != nil {
		if e.Code != cloud.CodeNotFound {
			return err
		}
		c.Message = "no daemon is declared for commands of this kind"
		return nil
	}
	client := d.Client
	client.Token = token.Reveal()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	answer, err := client.Send(ctx, url, command)
	var refusal *quorum.Refusal
	switch {
	case errors.As(err, &refusal):
		c.State, c.Message = cloud.CommandRefused, refusal.Error()
	case err != nil:
		c.Message = err.Error()
	default:
		c.State, c.Message = commandState(answer.Outcome), answer.Message
		c.Answer, err = json.Marshal(answer)
	}
	if errors.As(err, &refusal) {
		return nil
	}
	if c.State == cloud.CommandSent {
		return nil // goes out again when it is due
	}
	return err
}

func commandState(o quorum.Outcome) cloud.CommandState {
	switch o {
	case quorum.OutcomeSucceeded:
		return cloud.CommandSucceeded
	case quorum.OutcomeFailed:
		return cloud.CommandFailed
	}
	return cloud.CommandInterrupted
}

// deleteResource is the control plane as its own daemon: it verifies the
// command like any daemon, then lets the held deletion go ahead.
func (d *dispatching) deleteResource(ctx context.Context, command quorum.Command, c *cloud.BatchCommand) error {
	policy := d.policy
	if d.batch.Threshold == 0 { // made while no approver keys were published
		policy = quorum.Policy{TrustDomain: d.statement.TrustDomain, AllowUnapproved: true}
	}
	if _, err := quorum.Verify(policy, command, d.Now()); err != nil {
		c.State, c.Message = cloud.CommandRefused, err.Error()
		return nil
	}
	err := d.Records.ApproveDeletion(ctx, d.batch.ID, c.Subject)
	switch e := cloud.AsError(err); {
	case e == nil:
		c.State, c.Message = cloud.CommandSucceeded, "the deletion goes ahead"
	case e.Code == cloud.CodeNotFound:
		c.State, c.Message = cloud.CommandRefused, "this batch does not hold the resource"
	default:
		return err
	}
	return nil
}
