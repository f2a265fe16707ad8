package activities

import (
	"context"
	"encoding/json"
	"errors"
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
	// commandLease is how long a claimed command is left to its claimer: longer
	// than a send takes.
	commandLease = commandTimeout + 10*time.Second
	// commandBackoff bounds the wait between sends, saveTimeout the recording of
	// an answer after the activity was told to stop.
	commandBackoff = 5 * time.Minute
	saveTimeout    = 5 * time.Second
)

// dispatching is one activity's work on one batch.
//
//	waiting --claim--> sent --answer--> succeeded, failed, interrupted
//	   ^                 |----refusal-> refused
//	no daemon            '----nothing-> sent, due again later
//
// A command is claimed before it goes out. A gateway that dies in between
// leaves it sent; it goes out again when the lease is over, and the daemon's
// journal answers if it ran.
type dispatching struct {
	*BatchActivities
	batch     *cloud.Batch
	policy    quorum.Policy
	statement quorum.Statement
	tree      *quorum.Tree
	approvals []quorum.Approval
}

// all sends commands, some at once. One that cannot be recorded holds back no other.
func (d *dispatching) all(ctx context.Context, commands []cloud.BatchCommand) error {
	var wg sync.WaitGroup
	flight := make(chan struct{}, dispatchFlight)
	errs := make([]error, len(commands))
	for i, c := range commands {
		flight <- struct{}{}
		if ctx.Err() != nil {
			errs[i] = ctx.Err()
			break
		}
		wg.Go(func() {
			defer func() { <-flight }()
			errs[i] = d.one(ctx, c)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// one sends a command once and records what came of it.
func (d *dispatching) one(ctx context.Context, c cloud.BatchCommand) error {
	send := d.deleteResource
	if c.Kind != cloud.KindDeleteResource {
		to, err := d.daemon(ctx, &c)
		if err != nil || to == nil {
			return err
		}
		send = to.send
	}
	command, err := d.tree.Command(d.statement, d.approvals, uint64(c.Index), c.Payload)
	if err != nil {
		return err
	}
	c.State, c.Attempts, c.DueAt = cloud.CommandSent, c.Attempts+1, d.Now().Add(commandLease)
	claimed, err := d.Records.ClaimCommand(ctx, d.batch.ID, c, sent(command))
	if err != nil || !claimed {
		return err
	}
	c.Message = ""
	c.DueAt = d.Now().Add(resendAfter(c.Attempts))
	if err := send(ctx, command, &c); err != nil {
		return err
	}
	// What the daemon said must not be lost because the activity was stopped.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return d.Records.SaveCommand(ctx, d.batch.ID, c)
}

func resendAfter(attempts int) time.Duration {
	return min(time.Second<<min(attempts, 10), commandBackoff)
}

// sent is what the audit trail keeps of a command: all that a daemon judges but
// the payload, of which it keeps the digest.
func sent(c quorum.Command) map[string]any {
	approvers := make([]string, len(c.Approvals))
	for i, a := range c.Approvals {
		approvers[i] = a.ApproverID
	}
	said := map[string]any{"leafHash": c.Leaf.Hash(), "root": c.Statement.Root, "approvers": approvers}
	if c.Leaf.PayloadDigest != nil {
		said["payloadDigest"] = c.Leaf.PayloadDigest
	}
	return said
}

// receiver is a daemon with a client for it.
type receiver struct {
	*dispatching
	url    string
	client quorum.Client
}

// daemon finds where a command goes. Without one it stays as it is and is tried
// again until the batch's time is over.
func (d *dispatching) daemon(ctx context.Context, c *cloud.BatchCommand) (*receiver, error) {
	url, token, err := d.Records.Daemon(ctx, c.Kind)
	switch e := cloud.AsError(err); {
	case e == nil:
		client := d.Client
		client.Token = token.Reveal()
		return &receiver{d, url, client}, nil
	case e.Code != cloud.CodeNotFound:
		return nil, err
	}
	c.Message, c.DueAt = "no daemon is declared for commands of this kind", d.Now().Add(commandBackoff)
	return nil, d.Records.SaveCommand(ctx, d.batch.ID, *c)
}

func (to *receiver) send(ctx context.Context, command quorum.Command, c *cloud.BatchCommand) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	answer, err := to.client.Send(ctx, to.url, command)
	var refusal *quorum.Refusal
	switch {
	case err == nil:
		c.State, c.Message = commandState(answer.Outcome), answer.Message
		c.Answer, err = json.Marshal(answer)
		return err
	case errors.As(err, &refusal):
		c.State, c.Message = cloud.CommandRefused, refusal.Error()
		c.Answer, err = json.Marshal(quorum.ErrorBody{Error: *refusal})
		return err
	case errors.Is(err, quorum.ErrNotDelivered):
		c.Message = "the daemon did not take it yet; it is sent again"
	default:
		c.Message = "sent, and no answer came; it is sent again, and the daemon's journal answers if it ran"
	}
	// Where daemons are and why they do not answer is for operators, not tenants.
	to.Log.WarnContext(ctx, "command not answered", "batch", to.batch.ID, "index", c.Index, "attempt", c.Attempts, "daemon", to.url, "error", err)
	return nil
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
	_, err := quorum.Verify(d.policy, command, d.Now())
	var refusal *quorum.Refusal
	if errors.As(err, &refusal) {
		c.State, c.Message = cloud.CommandRefused, refusal.Error()
		return nil
	}
	if err == nil {
		err = d.Records.ApproveDeletion(ctx, d.batch.ID, c.Subject)
	}
	switch e := cloud.AsError(err); {
	case e == nil:
		c.State, c.Message = cloud.CommandSucceeded, "the deletion goes ahead"
	case e.Code == cloud.CodeNotFound:
		c.State, c.Message = cloud.CommandRefused, "the resource does not await its deletion any more"
	default:
		return err
	}
	return nil
}
