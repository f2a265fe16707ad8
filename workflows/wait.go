package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// waitFor returns when a signal arrives or, with d above zero, when d has
// passed; the timer is cancelled when the signal wins.
func waitFor(ctx workflow.Context, ch workflow.ReceiveChannel, d time.Duration, summary string) {
	s := workflow.NewSelector(ctx)
	s.AddReceive(ch, func(workflow.ReceiveChannel, bool) {})
	if d > 0 {
		timerCtx, stop := workflow.WithCancel(ctx)
		defer stop()
		s.AddFuture(workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: summary}), func(workflow.Future) {})
	}
	s.Select(ctx)
}

// handOver reports whether a run should continue as new: its history has grown
// and no signal waits, because unread ones do not come along.
func handOver(ctx workflow.Context, channels ...workflow.ReceiveChannel) bool {
	info := workflow.GetInfo(ctx)
	if info.GetCurrentHistoryLength() < restHistory && !info.GetContinueAsNewSuggested() {
		return false
	}
	for _, ch := range channels {
		if ch.Len() > 0 {
			return false
		}
	}
	return true
}
