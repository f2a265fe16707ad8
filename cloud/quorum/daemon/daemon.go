package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// ErrClosing: the daemon takes no more commands; this one did not run.
var ErrClosing = errors.New("the daemon is stopping")

// Daemon verifies commands and runs each at most once.
type Daemon struct {
	policy    quorum.Policy
	executors map[string]Executor
	journal   *Journal
	log       *slog.Logger
	now       func() time.Time

	// jobs is the parent of every execution, so that one outlives its request.
	jobs    context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex // guards closing against running.Add
	closing bool
	running sync.WaitGroup
}

// Options are what New needs; all fields are required.
type Options struct {
	Policy quorum.Policy
	// Executors are by kind; a kind that is not here is refused.
	Executors map[string]Executor
	Journal   *Journal
	Log       *slog.Logger
	Now       func() time.Time
}

// New makes a daemon. The journal remains the caller's to close, after Close.
func New(o Options) (*Daemon, error) {
	if err := o.Policy.Validate(); err != nil {
		return nil, err
	}
	d := &Daemon{policy: o.Policy, executors: o.Executors, journal: o.Journal, log: o.Log, now: o.Now}
	d.jobs, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Do verifies the command, runs it unless it ran before, and returns its
// answer. Errors: *quorum.Refusal when it must not run; ErrJournal and
// ErrClosing when it cannot run now; ctx's error when the caller stopped
// waiting, while the command goes on.
func (d *Daemon) Do(ctx context.Context, c quorum.Command) (quorum.Answer, error) {
	key := leafKey{c.Statement.BatchID, c.Leaf.Hash()}
	request, err := digest(c)
	if err != nil {
		return quorum.Answer{}, err
	}
	known := d.journal.lookup(key)
	// The very request that was accepted gets its record without a new check:
	// the caller must learn what happened even when the statement has expired
	// or a key was revoked since.
	if known != nil && known.intent.RequestDigest == request {
		return d.wait(ctx, key, known, true)
	}
	intent, err := d.verify(c, known)
	if err != nil {
		return quorum.Answer{}, err
	}
	intent.RequestDigest = request
	e, started, err := d.start(key, intent, c)
	if err != nil {
		return quorum.Answer{}, err
	}
	if !started && !sameDigest(e.intent.PayloadDigest, intent.PayloadDigest) {
		return quorum.Answer{}, &quorum.Refusal{Reason: quorum.ReasonReplayed, Message: "the command was used with another payload"}
	}
	return d.wait(ctx, key, e, !started)
}

// verify judges the command by the daemon's policy. The expiry of one that was
// accepted before is judged at that time: it will not run again.
func (d *Daemon) verify(c quorum.Command, known *entry) (Intent, error) {
	now := d.now()
	if known != nil {
		now = time.UnixMilli(known.acceptedAt)
	}
	approvers, err := quorum.Verify(d.policy, c, now)
	if err != nil {
		return Intent{}, err
	}
	if d.executors[c.Leaf.Kind] == nil {
		return Intent{}, &quorum.Refusal{Reason: quorum.ReasonKindNotAllowed, Message: fmt.Sprintf("commands of kind %s are not obeyed here", c.Leaf.Kind)}
	}
	intent := Intent{Command: c, Approvers: approvers}
	intent.Command.Payload = nil
	if c.Payload != nil {
		sum := quorum.Hash(sha256.Sum256(c.Payload))
		intent.PayloadDigest = &sum
	}
	return intent, nil
}

// start records the intent and sets the execution going.
func (d *Daemon) start(key leafKey, intent Intent, c quorum.Command) (*entry, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return nil, false, ErrClosing
	}
	e, started, err := d.journal.begin(key, intent)
	if !started {
		return e, false, err
	}
	job := Job{BatchID: key.batch, Leaf: c.Leaf, LeafHash: key.leaf, Index: c.Index, Approvers: intent.Approvers, Payload: c.Payload}
	d.running.Go(func() { d.run(key, job) })
	return e, true, nil
}

// run executes the job and records the result.
func (d *Daemon) run(key leafKey, job Job) {
	result := d.execute(job)
	if err := d.journal.finish(key, result); err != nil {
		d.log.Error("result not recorded", "batch", key.batch, "leaf", key.leaf, "outcome", result.Outcome, "error", err)
		return
	}
	d.log.Info("command done", "batch", key.batch, "leaf", key.leaf, "kind", job.Leaf.Kind, "outcome", result.Outcome)
}

func (d *Daemon) execute(job Job) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("executor panicked", "kind", job.Leaf.Kind, "panic", p)
			result = Result{Outcome: quorum.OutcomeInterrupted, Message: "the executor panicked"}
		}
	}()
	output, err := d.executors[job.Leaf.Kind].Execute(d.jobs, job)
	output = clip(output)
	switch {
	case err == nil:
		return Result{Outcome: quorum.OutcomeSucceeded, Output: output}
	case errors.Is(err, context.DeadlineExceeded):
		return Result{Outcome: quorum.OutcomeInterrupted, Message: "ended by its time limit", Output: output}
	case errors.Is(err, context.Canceled):
		return Result{Outcome: quorum.OutcomeInterrupted, Message: "ended because the daemon stopped", Output: output}
	}
	return Result{Outcome: quorum.OutcomeFailed, Message: clip(err.Error()), Output: output}
}

// wait returns the answer once the entry has its result.
func (d *Daemon) wait(ctx context.Context, key leafKey, e *entry, replayed bool) (quorum.Answer, error) {
	select {
	case <-e.done:
	case <-ctx.Done():
		return quorum.Answer{}, ctx.Err()
	}
	if e.result == nil {
		return quorum.Answer{}, fmt.Errorf("%w: the command ran and its result is lost", ErrJournal)
	}
	return quorum.Answer{
		BatchID: key.batch, LeafHash: key.leaf, Index: e.intent.Command.Index,
		Outcome: e.result.Outcome, Message: e.result.Message, Output: e.result.Output,
		PayloadDigest: e.intent.PayloadDigest,
		AcceptedAt:    e.acceptedAt, FinishedAt: e.finishedAt, Replayed: replayed,
	}, nil
}

// Close takes no more commands and waits for those that run; when ctx ends
// first it stops them, which records them as interrupted.
func (d *Daemon) Close(ctx context.Context) {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	stop := context.AfterFunc(ctx, d.cancel)
	d.running.Wait()
	stop()
	d.cancel()
}

// digest recognises a request: SHA-256 over its JSON as this package writes it.
func digest(c quorum.Command) (quorum.Hash, error) {
	body, err := json.Marshal(c)
	return quorum.Hash(sha256.Sum256(body)), err
}

func sameDigest(a, b *quorum.Hash) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
