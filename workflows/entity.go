package workflows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
)

// entityDef says what an entity's loop runs. The loop is the same for all.
type entityDef struct {
	workflow string
	load     string
	hand     string
	// signals in the order in which they are looked at: the weightiest first.
	signals []string
	steps   map[cloud.Step]stepDef
	// guess is the step that a signal of the system most likely asks for. Taking
	// it without reading the record first saves a third of a life's events; a
	// wrong guess is harmless, since every activity reads the record itself and
	// answers what it needs when that is something else.
	guess func(signal string, started bool) cloud.Step
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
	// UnknownSignals are names of signals that arrived and mean nothing here.
	UnknownSignals []string `json:"unknownSignals,omitempty"`
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
	// stale: the record must be read before anything else. again: it must be
	// read before the next rest, but what runs now may finish.
	stale, again bool
	guessed      cloud.Step
	hands        []activities.HandSignal
}

func runEntity(root workflow.Context, def *entityDef, carried Carried) error {
	ctx, _ := workflow.NewDisconnectedContext(root)
	e := &entity{entityDef: def, id: workflow.GetInfo(ctx).WorkflowExecution.ID, carried: carried, stale: true}
	e.shown = shownState(ctx)
	for _, s := range def.signals {
		e.channels = append(e.channels, workflow.GetSignalChannel(ctx, s))
	}
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (Status, error) { return e.status(ctx), nil }); err != nil {
		return err
	}
	for {
		e.drain(ctx)
		if root.Err() != nil && !e.carried.CancelIgnored {
			e.carried.CancelIgnored = true
			workflow.GetLogger(ctx).Warn("cancel request ignored: a resource ends by delete or release")
		}
		e.answerHands(ctx)
		e.read(ctx)
		e.show(ctx)
		switch done, err := e.advance(ctx, root); {
		case err != nil:
			return err
		case done:
			return nil
		}
	}
}

// read learns what to do: by the record, or by a signal's guess.
func (e *entity) read(ctx workflow.Context) {
	guessed := e.guessed
	e.guessed = ""
	switch {
	case !e.stale:
	case guessed != "":
		e.stale = false
		e.next.Step, e.next.Message, e.next.State = guessed, "", e.shown
	default:
		e.stale = false
		e.call(ctx, e.load, "read the record", Queue, loadTimeout)
	}
}

// advance does one step or waits for something. done ends the workflow.
func (e *entity) advance(ctx, root workflow.Context) (done bool, err error) {
	if e.stale || len(e.hands) > 0 {
		return false, nil
	}
	if e.next.Step == cloud.StepEnd {
		e.drain(ctx) // a signal that came too late finds a final record anyway
		return true, nil
	}
	// Here nothing runs and all that was read has been dealt with.
	if handOver(ctx, e.channels...) {
		return false, workflow.NewContinueAsNewError(ctx, e.workflow, e.carried)
	}
	switch e.next.Step {
	case cloud.StepRest, cloud.StepRetry:
		if e.again {
			e.again, e.stale = false, true
			return false, nil
		}
		var d time.Duration
		if e.next.Step == cloud.StepRetry {
			d = max(e.next.RetryAt.Sub(workflow.Now(ctx)), minRetry)
		}
		e.wait(ctx, root, d)
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
		s.AddFuture(timer, func(workflow.Future) { e.stale = true })
	}
	s.Select(ctx)
}

// call runs one activity and keeps its answer. A signal that asks for
// something new interrupts it: the attempt may still run to its end somewhere,
// but it holds the record's lock, so what comes next waits for it.
func (e *entity) call(ctx workflow.Context, activity, summary, queue string, timeout time.Duration) {
	actCtx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, activityOptions(queue, timeout, summary)))
	defer cancel()
	e.again = false
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
		// Only news interrupts what runs: a doubled nudge, or one that a child's
		// end sent, waits until it has finished.
		e.again = true
		e.news(name, *nudge.Generation)
		return true
	}
	e.takeHand(ctx, name, data)
	return true
}

// news judges a signal of the system. What is read of the record later than
// the first of several signals covers them all; the weightiest one is read
// first and makes the guess.
func (e *entity) news(name string, generation int64) {
	switch {
	case name == SignalRefresh:
		e.stale, e.guessed = true, ""
	case generation > e.next.Generation:
		if !e.stale || e.next.Step == "" {
			if e.guess != nil && e.guessed == "" {
				e.guessed = e.guess(name, e.next.Step != "")
			}
		}
		e.stale, e.next.Generation = true, generation
	}
}

// takeHand puts a hand-sent signal in line. Equal ones that wait are one.
func (e *entity) takeHand(ctx workflow.Context, name string, data []byte) {
	hand := activities.HandSignal{ResourceID: e.id, Name: name}
	switch {
	case len(data) > maxHandPayload:
		e.refused(ctx, name, fmt.Sprintf("its payload has %d bytes; at most %d are read", len(data), maxHandPayload))
		return
	case len(e.hands) >= maxHands:
		e.refused(ctx, name, "too many hand-sent signals at once")
		return
	case len(data) > 0 && json.Valid(data):
		hand.Payload = data
	case len(data) > 0:
		hand.Payload, _ = json.Marshal(string(data))
	}
	for _, h := range e.hands {
		if h.Name == name && bytes.Equal(h.Payload, hand.Payload) {
			return
		}
	}
	e.hands = append(e.hands, hand)
	workflow.GetLogger(ctx).Info("hand-sent signal", "signal", name)
}

// refused keeps for the details why a hand-sent signal changed nothing.
func (e *entity) refused(ctx workflow.Context, name, why string) {
	if len(why) > maxRefusal {
		why = strings.ToValidUTF8(why[:maxRefusal], "") + "..."
	}
	e.carried.LastRefused = fmt.Sprintf("%s at %s: %s", name, workflow.Now(ctx).UTC().Format(time.RFC3339), why)
}

// answerHands records what operators asked by hand, one after the other.
func (e *entity) answerHands(ctx workflow.Context) {
	for len(e.hands) > 0 {
		hand := e.hands[0]
		e.hands = e.hands[1:]
		actCtx := workflow.WithActivityOptions(ctx, activityOptions(Queue, loadTimeout, "record the hand-sent "+hand.Name))
		var answer activities.HandAnswer
		if err := workflow.ExecuteActivity(actCtx, e.hand, hand).Get(ctx, &answer); err != nil {
			e.refused(ctx, hand.Name, "internal; see the worker's log")
			e.stale = true
			continue
		}
		e.next, e.stale = answer.Next, false
		if answer.Refused != "" {
			e.refused(ctx, hand.Name, answer.Refused)
		}
	}
}

// activityOptions: retried by the server for as long as it takes. What a lost
// worker was doing is given to another when its heartbeats stop.
func activityOptions(queue string, timeout time.Duration, summary string) workflow.ActivityOptions {
	o := workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: timeout, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second},
	}
	if queue != Queue {
		o.HeartbeatTimeout = heartbeatTimeout
	}
	return o
}
