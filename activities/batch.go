package activities

import (
	"context"
	"log/slog"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
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
	next, err := a.load(ctx, id)
	if err != nil {
		return cloud.Next{}, a.internal(ctx, "load", id, err)
	}
	return next, nil
}

func (a *BatchActivities) load(ctx context.Context, id string) (cloud.Next, error) {
	b, open, due, err := a.Records.LoadBatch(ctx, id)
	switch e := cloud.AsError(err); {
	case e == nil:
		return cloud.DecideBatch(b, open, due, a.Now()), nil
	case e.Code == cloud.CodeNotFound:
		return cloud.Next{Step: cloud.StepEnd, Message: "no such batch"}, nil
	}
	return cloud.Next{}, err
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
	d, err := a.prepare(ctx, id)
	if err != nil || d == nil {
		if err != nil {
			return cloud.Next{}, err
		}
		return a.load(ctx, id)
	}
	commands, err := a.Records.DueCommands(ctx, id, dispatchBatch)
	if err != nil {
		return cloud.Next{}, err
	}
	if err := d.all(ctx, commands); err != nil {
		return cloud.Next{}, err
	}
	return a.finish(ctx, id)
}

// prepare reads a batch and judges its approvals by the policy in force. Nil
// when it is not to be dispatched; it then waits for approvals.
func (a *BatchActivities) prepare(ctx context.Context, id string) (*dispatching, error) {
	b, _, _, err := a.Records.LoadBatch(ctx, id)
	if err != nil || b.State != cloud.BatchDispatching {
		return nil, err
	}
	file, approvals, err := a.Records.BatchFile(ctx, id)
	if err != nil {
		return nil, err
	}
	policy, err := a.Records.QuorumPolicy(ctx)
	if err != nil {
		return nil, err
	}
	statement, tree, err := file.Open()
	if err != nil {
		return nil, err
	}
	d := &dispatching{BatchActivities: a, batch: b, policy: policy, statement: statement, tree: tree}
	if b.Threshold == 0 && !policy.RequiresApproval() {
		d.policy = quorum.Policy{TrustDomain: statement.TrustDomain, AllowUnapproved: true}
		return d, nil
	}
	d.approvals = standing(policy, statement, approvals, a.Now())
	approvers, err := quorum.VerifyApprovals(policy, statement, d.approvals, a.Now())
	if err == nil {
		return d, nil
	}
	threshold := policy.Threshold
	if threshold == 0 { // the keys were withdrawn, the batch still wants them
		threshold = b.Threshold
	}
	return nil, a.Records.ChangeBatch(ctx, id, cloud.ActorReconciler, func(b *cloud.Batch) *cloud.BatchChange {
		return b.Unapproved(approvers, threshold, "its approvals do not suffice under the approver keys in force: "+err.Error(), a.Now())
	})
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
	return a.load(ctx, id)
}

// RecordBatchIntent is RecordIntent for batches: approve, cancel and refresh by hand.
func (a *BatchActivities) RecordBatchIntent(ctx context.Context, s HandSignal) (HandAnswer, error) {
	var answer HandAnswer
	var err error
	switch s.Name {
	case "approve":
		err = a.Intents.OperatorApprove(ctx, s.ResourceID, s.Payload)
	case "cancel":
		err = a.Intents.OperatorCancel(ctx, s.ResourceID)
	case "refresh":
		err = a.Intents.OperatorRefreshBatch(ctx, s.ResourceID)
	default:
		err = cloud.Errorf(cloud.CodeInvalidInput, "there is no signal %q; there are approve, cancel and refresh", s.Name)
	}
	if e := cloud.AsError(err); e != nil {
		if e.Code == cloud.CodeUnavailable || e.Code == cloud.CodeInternal {
			return answer, a.internal(ctx, "record "+s.Name, s.ResourceID, err)
		}
		a.Log.WarnContext(ctx, "hand-sent signal refused", "batch", s.ResourceID, "signal", s.Name, "code", e.Code, "reason", e.Message)
		answer.Refused = string(e.Code) + ": " + e.Message
	}
	next, err := a.LoadBatch(ctx, s.ResourceID)
	answer.Next = next
	return answer, err
}
