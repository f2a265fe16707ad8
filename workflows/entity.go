package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// entityDef says what an entity's loop runs. The loop is the same for all.
type entityDef struct {
	workflow string
	load     string
	hand     string
	// signals in the order in which they are looked at: the weightiest first.
	signals []string
	steps   map[cloud.Step]stepDef
}

type stepDef struct{ activity, summary string }

// Carried is what a run hands to the next one when it continues as new. All
// else is read again from the record.
type Carried struct {
	// LastRefused is the last hand-sent signal that was refused, and why.
	LastRefused string `json:"lastRefused,omitempty"`
	// CancelIgnored: somebody pressed Cancel; see the package comment.
	CancelIgnored bool `json:"cancelIgnored,omitempty"`
}

// Status is the answer of the status query.
type Status struct {
	Step    cloud.Step  `json:"step"`
	State   cloud.State `json:"state"`
	Message string      `json:"message,omitempty"`
	RetryAt time.Time   `json:"retryAt,omitzero"`
	Carried
}

type entity struct {
	*entityDef
	id       string
	next     cloud.Next
	carried  Carried
	channels []workflow.ReceiveChannel
	// shown is the state in the search attribute.
	shown cloud.State
	stale bool // the record must be read again
	hands []activities.HandSignal
}

func runEntity(root workflow.Context, def *entityDef, carried Carried) error {
	ctx, _ := workflow.NewDisconnectedContext(root)
	e := &entity{entityDef: def, id: workflow.GetInfo(ctx).WorkflowExecution.ID, carried: carried, stale: true}
	e.shown = shownState(ctx)
	for _, s := range def.signals {
		e.channels = append(e.channels, workflow.GetSignalChannel(ctx, s))
	}
	if err := workflow.SetQueryHandler(ctx, QueryStatus, e.status); err != nil {
		return err
	}
	for {
		e.drain(ctx)
		if root.Err() != nil && !e.carried.CancelIgnored {
			e.carried.CancelIgnored = true
			workflow.GetLogger(ctx).Warn("cancel request ignored: a resource ends by delete or release")
		}
		e.answerHands(ctx)
		if e.stale {
			e.stale = false
			e.call(ctx, e.load, "read the record", Queue, loadTimeout)
		}
		e.show(ctx)
		switch done, err := e.advance(ctx, root); {
		case err != nil:
			return err
		case done:
			return nil
		}
	}
}

// advance does one step or waits for something. done ends the workflow.
func (e *entity) advance(ctx, root workflow.Context) (done bool, err error) {
	if e.stale || len(e.hands) > 0 {
		return false, nil
	}
	switch e.next.Step {
	case cloud.StepEnd:
		e.drain(ctx) // a signal that came too late finds a final record anyway
		return true, nil
	case cloud.StepRest, "":
		if e.long(ctx) {
			return false, workflow.NewContinueAsNewError(ctx, e.workflow, e.carried)
		}
		e.wait(ctx, root, 0)
	case cloud.StepRetry:
		if e.long(ctx) {
			return false, workflow.NewContinueAsNewError(ctx, e.workflow, e.carried)
		}
		e.wait(ctx, root, max(e.next.RetryAt.Sub(workflow.Now(ctx)), time.Millisecond))
	default:
		step, ok := e.steps[e.next.Step]
		if !ok {
			// A newer worker decided a step that this one does not know: let it
			// be tried again, by then perhaps on the newer one.
			workflow.GetLogger(ctx).Error("unknown step", "step", string(e.next.Step))
			e.wait(ctx, root, brokenDelay)
			e.stale = true
			return false, nil
		}
		e.call(ctx, step.activity, step.summary, QueueProvider, stepTimeout)
	}
	return false, nil
}

// long reports whether this run should hand over to a new one: only when no
// signal waits, because unread signals do not come along.
func (e *entity) long(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	if info.GetCurrentHistoryLength() < restHistory && !info.GetContinueAsNewSuggested() {
		return false
	}
	for _, ch := range e.channels {
		if ch.Len() > 0 {
			return false
		}
	}
	return true
}

// wait returns on a signal, on cancel, or when d has passed (0: never).
func (e *entity) wait(ctx, root workflow.Context, d time.Duration) {
	s := workflow.NewSelector(ctx)
	e.onSignal(ctx, s)
	if !e.carried.CancelIgnored {
		s.AddReceive(root.Done(), func(workflow.ReceiveChannel, bool) {})
	}
	if d > 0 {
		timerCtx, stop := workflow.WithCancel(ctx)
		defer stop()
		timer := workflow.NewTimerWithOptions(timerCtx, d, workflow.TimerOptions{Summary: "look again"})
		s.AddFuture(timer, func(f workflow.Future) { e.stale = f.Get(ctx, nil) == nil })
	}
	s.Select(ctx)
}

// call runs one activity and keeps its answer. A signal that asks for
// something new interrupts it: the attempt may still run to its end somewhere,
// but it holds the record's lock, so what comes next waits for it.
func (e *entity) call(ctx workflow.Context, activity, summary, queue string, timeout time.Duration) {
	actCtx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: timeout, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	}))
	defer cancel()
	f := workflow.ExecuteActivity(actCtx, activity, e.id)
	finished := false
	for !finished {
		s := workflow.NewSelector(ctx)
		e.onSignal(ctx, s)
		s.AddFuture(f, func(workflow.Future) { finished = true })
		s.Select(ctx)
		if !finished && (e.stale || len(e.hands) > 0) {
			return
		}
	}
	var next cloud.Next
	if err := f.Get(ctx, &next); err != nil {
		workflow.GetLogger(ctx).Error("activity failed for good", "activity", activity, "error", err)
		next = e.next
		next.Step, next.RetryAt = cloud.StepRetry, workflow.Now(ctx).Add(brokenDelay)
		next.Message = "internal: " + activity + " failed; see the worker's log"
	}
	e.next = next
}

func (e *entity) onSignal(ctx workflow.Context, s workflow.Selector) {
	for i, ch := range e.channels {
		s.AddReceive(ch, func(workflow.ReceiveChannel, bool) { e.take(ctx, i) })
	}
}

// drain reads every signal that has arrived.
func (e *entity) drain(ctx workflow.Context) {
	for i := range e.channels {
		for e.take(ctx, i) {
		}
	}
}

// take reads one signal without blocking. ReceiveAsync into a raw value never
// fails on a payload that is not what we expect.
func (e *entity) take(ctx workflow.Context, channel int) bool {
	var raw converter.RawValue
	if !e.channels[channel].ReceiveAsync(&raw) {
		return false
	}
	name, data := e.signals[channel], raw.Payload().GetData()
	var nudge struct {
		Generation *int64 `json:"generation"`
	}
	if json.Unmarshal(data, &nudge) == nil && nudge.Generation != nil {
		if *nudge.Generation > e.next.Generation || name == SignalRefresh || e.next.Step == "" {
			e.stale = true
		}
		return true
	}
	hand := activities.HandSignal{ResourceID: e.id, Name: name}
	if len(data) > 0 {
		if json.Valid(data) {
			hand.Payload = data
		} else {
			hand.Payload, _ = json.Marshal(string(data))
		}
	}
	e.hands = append(e.hands, hand)
	workflow.GetLogger(ctx).Info("hand-sent signal", "signal", name)
	return true
}

// answerHands records what operators asked by hand, one after the other.
func (e *entity) answerHands(ctx workflow.Context) {
	for len(e.hands) > 0 {
		hand := e.hands[0]
		e.hands = e.hands[1:]
		actCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: Queue, StartToCloseTimeout: loadTimeout, Summary: "record the hand-sent " + hand.Name,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
		})
		var answer activities.HandAnswer
		if err := workflow.ExecuteActivity(actCtx, e.hand, hand).Get(ctx, &answer); err != nil {
			e.carried.LastRefused = fmt.Sprintf("%s at %s: internal; see the worker's log", hand.Name, workflow.Now(ctx).UTC().Format(time.RFC3339))
			continue
		}
		e.next, e.stale = answer.Next, false
		if answer.Refused != "" {
			e.carried.LastRefused = fmt.Sprintf("%s at %s: %s", hand.Name, workflow.Now(ctx).UTC().Format(time.RFC3339), answer.Refused)
		}
	}
}
