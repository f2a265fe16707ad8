package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
)

// SweepState is what one run of an account's sweep hands to the next.
type SweepState struct {
	// Unreachable: the account did not answer for us the last time (D8).
	Unreachable bool `json:"unreachable,omitempty"`
	// From is where a throttled sweep goes on.
	From string `json:"from,omitempty"`
	// Last is what the last sweep found, for the status query.
	Last *activities.SweepResult `json:"last,omitempty"`
	// NextAt is when the next one is due.
	NextAt time.Time `json:"nextAt,omitzero"`
}

// AccountSweep refreshes everything at rest on one account, time after time.
// It ends when the account is no longer declared. Cancelling it does nothing;
// a terminated one is started again by the worker.
func AccountSweep(root workflow.Context, state SweepState) error {
	ctx, _ := workflow.NewDisconnectedContext(root)
	account := strings.TrimPrefix(workflow.GetInfo(ctx).WorkflowExecution.ID, AccountWorkflowID(""))
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (SweepState, error) { return state, nil }); err != nil {
		return err
	}
	now := workflow.GetSignalChannel(ctx, SignalSweep)
	for {
		for now.ReceiveAsync(nil) {
			state.NextAt = time.Time{}
		}
		if d := state.NextAt.Sub(workflow.Now(ctx)); d > 0 {
			workflow.SetCurrentDetails(ctx, sweepDetails(state))
			if handOver(ctx, now) {
				return workflow.NewContinueAsNewError(ctx, TypeAccount, state)
			}
			waitFor(ctx, now, d, "sweep again")
			continue
		}
		var result activities.SweepResult
		actCtx := workflow.WithActivityOptions(ctx, activityOptions(QueueProvider, sweepTimeout, "list the account and compare"))
		in := activities.SweepInput{Account: account, Unreachable: state.Unreachable, From: state.From}
		err := workflow.ExecuteActivity(actCtx, ActivitySweep, in).Get(ctx, &result)
		switch {
		case err != nil: // only a bug ends it for good
			workflow.GetLogger(ctx).Error("sweep failed for good", "error", err)
			result = activities.SweepResult{Message: "internal; see the worker's log", NextIn: brokenDelay, Unreachable: state.Unreachable}
		case result.Gone:
			return nil
		}
		state = SweepState{Unreachable: result.Unreachable, From: result.From, Last: &result, NextAt: workflow.Now(ctx).Add(result.NextIn)}
	}
}

func sweepDetails(s SweepState) string {
	var b strings.Builder
	if s.Unreachable {
		b.WriteString("**The account does not answer for us**; asked again by itself, or at once after the signal `sweep`.")
	} else {
		b.WriteString("**Waiting** until the next sweep; the signal `sweep` runs it at once.")
	}
	fmt.Fprintf(&b, "\n\nNext at %s.", s.NextAt.UTC().Format(time.RFC3339))
	if l := s.Last; l != nil {
		fmt.Fprintf(&b, "\n\nLast sweep: %d lists, %d records compared, %d changed, %d drifted, %d missing, %d to be looked at, %d lists not complete.",
			l.Lists, l.Compared, l.Changed, l.Drifted, l.Missing, l.Suspect, l.Incomplete)
		if l.Message != "" {
			fmt.Fprintf(&b, "\n\n%s", l.Message)
		}
	}
	return b.String()
}
