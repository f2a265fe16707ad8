package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/cloud"
)

func (e *entity) status(ctx workflow.Context) Status {
	return Status{
		Step: e.next.Step, State: e.next.State, Message: e.next.Message, RetryAt: e.next.RetryAt,
		UnknownSignals: e.unknownSignals(ctx), Carried: e.carried,
	}
}

// unknownSignals names signals that arrived under a name that means nothing
// here. Nobody reads them, so they stay visible.
func (e *entity) unknownSignals(ctx workflow.Context) []string {
	var names []string
	for _, name := range workflow.GetUnhandledSignalNames(ctx) {
		if !slices.Contains(e.signals, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shownState is the state that the workflow was started or carried on with.
func shownState(ctx workflow.Context) cloud.State {
	v, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(AttributeState)
	return cloud.State(v)
}

// show tells operators where the entity is: the search attribute only when the
// state changed (each write is an event), the details whenever they differ.
func (e *entity) show(ctx workflow.Context) {
	if e.next.State != "" && e.next.State != e.shown {
		e.shown = e.next.State
		if err := workflow.UpsertTypedSearchAttributes(ctx, AttributeState.ValueSet(string(e.shown))); err != nil {
			workflow.GetLogger(ctx).Warn("search attribute not set", "error", err)
		}
	}
	workflow.SetCurrentDetails(ctx, e.details(ctx))
}

func (e *entity) details(ctx workflow.Context) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s", e.next.State, e.waitsFor())
	if e.next.Message != "" {
		fmt.Fprintf(&b, "\n\n%s", e.next.Message)
	}
	if e.next.Step == cloud.StepRetry {
		fmt.Fprintf(&b, "\n\nNext attempt at %s.", e.next.RetryAt.UTC().Format(time.RFC3339))
	}
	if e.carried.LastRefused != "" {
		fmt.Fprintf(&b, "\n\nLast refused signal: %s", e.carried.LastRefused)
	}
	if unknown := e.unknownSignals(ctx); len(unknown) > 0 {
		fmt.Fprintf(&b, "\n\nThere is no signal %s; there are %s.", strings.Join(unknown, ", "), strings.Join(e.signals, ", "))
	}
	if e.carried.CancelIgnored {
		b.WriteString("\n\nA cancel request was ignored; send the signal `" + e.signals[0] + "` instead.")
	}
	return b.String()
}

func (e *entity) waitsFor() string {
	switch e.next.Step {
	case cloud.StepRest:
		return "at rest until somebody asks for something"
	case cloud.StepRetry:
		what := "waiting"
		if e.next.State == cloud.StateError {
			what = "failed"
		}
		return what + "; it is looked at again by itself, or at once after the signal `refresh`"
	case cloud.StepEnd:
		return "ended"
	}
	if step, ok := e.steps[e.next.Step]; ok {
		return "working: " + step.summary
	}
	return "reading the record"
}
