package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/better-compute/cloud-resources/cloud"
)

// Activities are the activities of resources and what they need.
type Activities struct {
	Records  Records
	Accounts Accounts
	Intents  Intents
	Settings cloud.Settings
	Now      func() time.Time
	Log      *slog.Logger
}

// maxRounds bounds the calls of one attempt: a synchronous kind is created,
// changed and seen ready in one; what needs longer goes on at the next look.
const maxRounds = 12

// unknownLimit is how many unknown outcomes in a row make an error.
const unknownLimit = 10

// heldDelay is how long an attempt waits for another one under the same parent.
const heldDelay = time.Second

// ErrorWaiting is the type of the retries that are no failures.
const ErrorWaiting = "Waiting"

// later asks the server to run the activity again after a delay. It is benign:
// expected, so neither logged nor counted as a failure.
func later(delay time.Duration, message string) error {
	if delay <= 0 {
		delay = heldDelay
	}
	return temporal.NewApplicationErrorWithOptions(message, ErrorWaiting, temporal.ApplicationErrorOptions{
		NextRetryDelay: delay,
		Category:       temporal.ApplicationErrorCategoryBenign,
	})
}

// LoadResource answers what a resource needs next.
func (a *Activities) LoadResource(ctx context.Context, id string) (cloud.Next, error) {
	r, children, err := a.Records.Load(ctx, id)
	if err != nil {
		if cloud.AsError(err).Code == cloud.CodeNotFound {
			return cloud.Next{Step: cloud.StepEnd, Message: "no such resource"}, nil
		}
		return cloud.Next{}, a.internal(ctx, "load", id, err)
	}
	return cloud.Decide(r, children, a.Now()), nil
}

// internal hides what failed inside: the whole goes to the log, the history
// gets a sentence.
func (a *Activities) internal(ctx context.Context, op, id string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if app := (*temporal.ApplicationError)(nil); errors.As(err, &app) {
		return app
	}
	e := cloud.AsError(err)
	a.Log.ErrorContext(ctx, "activity failed", "op", op, "resource", id, "code", e.Code, "error", err.Error())
	return temporal.NewApplicationErrorWithOptions(op+": "+e.Message, string(e.Code), temporal.ApplicationErrorOptions{})
}
