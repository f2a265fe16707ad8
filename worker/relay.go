package worker

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/better-compute/cloud-resources/activities"
)

const (
	// relays run side by side in a process; claims never overlap.
	relays = 2
	// relayBatch is how many rows one claim takes; few enough that they are
	// delivered within the claim's lease.
	relayBatch = 20
	// relayPoll is the longest wait for a notification.
	relayPoll = 5 * time.Second
	// maxWait bounds the wait after failures in a row.
	maxWait = 15 * time.Second
)

// relay delivers what is in the outbox until ctx ends.
func (w *Worker) relay(ctx context.Context) {
	wait := time.Second
	for ctx.Err() == nil {
		n, err := w.relayOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.Log.WarnContext(ctx, "outbox waits", "error", err, "retryIn", wait)
			sleep(ctx, wait)
			wait = min(2*wait, maxWait)
		default:
			if wait = time.Second; n < relayBatch {
				w.Outbox.Wait(ctx, relayPoll)
			}
		}
	}
}

// relayOnce claims a batch and delivers it. When Temporal does not answer, the
// rest of the batch is put back without asking again. The error is Temporal's
// or the outbox's.
func (w *Worker) relayOnce(ctx context.Context) (int, error) {
	var down error
	n, err := w.Outbox.Claim(ctx, relayBatch, func(ctx context.Context, m activities.Message) error {
		if down != nil {
			return down
		}
		err := w.nudger.Deliver(ctx, m)
		w.metrics.delivered(m.WorkflowType, err)
		switch {
		case err == nil:
		case unreachable(err):
			down = err
		default:
			w.Log.WarnContext(ctx, "signal not delivered", "workflow", m.WorkflowID, "signal", m.Signal, "error", err)
		}
		return err
	})
	return n, errors.Join(err, down)
}

// unreachable: the server, and not this one message, is the trouble.
func unreachable(err error) bool {
	var unavailable *serviceerror.Unavailable
	var deadline *serviceerror.DeadlineExceeded
	var exhausted *serviceerror.ResourceExhausted
	return errors.As(err, &unavailable) || errors.As(err, &deadline) || errors.As(err, &exhausted) ||
		errors.Is(err, context.DeadlineExceeded)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
