package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/workflows"
)

// stage is the loop with activities that a test scripts. Every activity call
// is written down.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T
	// record is what LoadResource answers; steps what each step does.
	record cloud.Next
	steps  map[string]func(attempt int) (cloud.Next, error)
	hand   func(s activities.HandSignal) (activities.HandAnswer, error)
	calls  []string
	tries  map[string]int
}

func newStage(t *testing.T) *stage {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &stage{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, tries: map[string]int{}, steps: map[string]func(int) (cloud.Next, error){}}
	s.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 10 * time.Second})
	s.SetTestTimeout(time.Minute)
	s.RegisterWorkflowWithOptions(workflows.CloudResource, workflow.RegisterOptions{Name: workflows.TypeResource})
	s.hand = func(activities.HandSignal) (activities.HandAnswer, error) {
		return activities.HandAnswer{Next: s.record}, nil
	}
	register := func(name string, a any) { s.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name}) }
	register(workflows.ActivityLoad, func(_ context.Context, id string) (cloud.Next, error) {
		s.calls = append(s.calls, "load")
		if do := s.steps["load"]; do != nil {
			s.tries["load"]++
			return do(s.tries["load"])
		}
		return s.record, nil
	})
	register(workflows.ActivityRecordIntent, func(_ context.Context, h activities.HandSignal) (activities.HandAnswer, error) {
		s.calls = append(s.calls, "hand "+h.Name+" "+string(h.Payload))
		return s.hand(h)
	})
	for step, name := range map[string]string{
		"adopt": workflows.ActivityAdopt, "provision": workflows.ActivityProvision, "update": workflows.ActivityUpdate,
		"refresh": workflows.ActivityRefresh, "delete": workflows.ActivityDelete, "release": workflows.ActivityRelease,
	} {
		register(name, func(_ context.Context, _ string) (cloud.Next, error) {
			s.calls = append(s.calls, step)
			s.tries[step]++
			do := s.steps[step]
			if do == nil { // like every activity: it reads the record and says what that needs
				return s.record, nil
			}
			return do(s.tries[step])
		})
	}
	return s
}

// at schedules something in the workflow's own time.
func (s *stage) at(d time.Duration, do func()) { s.RegisterDelayedCallback(do, d) }

// nudge sends what the API and the relay send.
func (s *stage) nudge(signal string, generation int64) {
	s.SignalWorkflow(signal, workflows.Nudge{Generation: generation})
}

// ends makes the record final and nudges, so that the workflow completes.
func (s *stage) ends(d time.Duration) {
	s.at(d, func() {
		s.record = cloud.Next{Step: cloud.StepEnd, State: cloud.StateDeleted, Generation: 99}
		s.nudge(workflows.SignalDelete, 99)
	})
}

func (s *stage) run() {
	s.t.Helper()
	s.ExecuteWorkflow(workflows.TypeResource, workflows.Carried{})
	require.True(s.t, s.IsWorkflowCompleted())
	require.NoError(s.t, s.GetWorkflowError())
}

func (s *stage) status() workflows.Status {
	s.t.Helper()
	v, err := s.QueryWorkflow(workflows.QueryStatus)
	require.NoError(s.t, err)
	var status workflows.Status
	require.NoError(s.t, v.Get(&status))
	return status
}

func rest(generation int64) cloud.Next {
	return cloud.Next{Step: cloud.StepRest, State: cloud.StateReady, Generation: generation}
}

// waiting is the retry that an activity asks for while the work goes on.
func waiting() error {
	return temporal.NewApplicationErrorWithOptions("not yet", activities.ErrorWaiting, temporal.ApplicationErrorOptions{
		NextRetryDelay: 30 * time.Second, Category: temporal.ApplicationErrorCategoryBenign,
	})
}

func TestCreateThenRest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = cloud.Next{Step: cloud.StepProvision, State: cloud.StatePending, Generation: 1}
	s.steps["provision"] = func(attempt int) (cloud.Next, error) {
		if attempt < 4 {
			return cloud.Next{}, waiting()
		}
		s.record = rest(1)
		return s.record, nil
	}
	s.at(10*time.Minute, func() {
		require.Equal(t, []string{"load", "provision", "provision", "provision", "provision"}, s.calls, "then nothing runs")
		require.Equal(t, cloud.StepRest, s.status().Step)
	})
	s.ends(time.Hour)
	s.run()
	require.Equal(t, "delete", s.calls[len(s.calls)-1], "guessed from the signal; it found a final record")
	require.Len(t, s.calls, 6)
}

func TestEverySignalReadsTheRecordAgain(t *testing.T) {
	t.Parallel()
	for signal, guess := range map[string]string{
		workflows.SignalUpdate: "update", workflows.SignalDelete: "delete", workflows.SignalRelease: "release", workflows.SignalRefresh: "load",
	} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.record = rest(1)
			s.at(time.Minute, func() { s.nudge(signal, 2) })
			s.at(2*time.Minute, func() { s.nudge(signal, 1) }) // late, or doubled
			s.at(3*time.Minute, func() { require.Equal(t, []string{"load", guess, "load"}, s.calls) })
			s.ends(time.Hour)
			s.run()
		})
	}
}

func TestNewsInterruptsWhatRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = cloud.Next{Step: cloud.StepProvision, State: cloud.StateProvisioning, Generation: 1}
	s.steps["provision"] = func(int) (cloud.Next, error) { return cloud.Next{}, waiting() }
	s.steps["delete"] = func(int) (cloud.Next, error) {
		return cloud.Next{Step: cloud.StepEnd, State: cloud.StateDeleted, Generation: 2}, nil
	}
	s.at(45*time.Second, func() {
		s.record = cloud.Next{Step: cloud.StepDelete, State: cloud.StateDeleting, Generation: 2}
		s.nudge(workflows.SignalDelete, 2)
	})
	started := s.Now()
	s.run()
	require.Equal(t, []string{"load", "provision", "provision", "delete"}, s.calls)
	require.Less(t, s.Now().Sub(started), time.Minute, "the delete did not wait for the next look")
}

func TestOldNewsWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = cloud.Next{Step: cloud.StepProvision, State: cloud.StateProvisioning, Generation: 2}
	s.steps["provision"] = func(attempt int) (cloud.Next, error) {
		if attempt < 3 {
			return cloud.Next{}, waiting()
		}
		s.record = rest(2)
		return s.record, nil
	}
	s.at(40*time.Second, func() { s.nudge(workflows.SignalUpdate, 2); s.nudge(workflows.SignalUpdate, 1) })
	s.at(10*time.Minute, func() {
		require.Equal(t, []string{"load", "provision", "provision", "provision", "load"}, s.calls, "read once more before it rests")
	})
	s.ends(time.Hour)
	s.run()
}

func TestErrorHoldsOneTimer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	failed := func() cloud.Next {
		return cloud.Next{Step: cloud.StepRetry, State: cloud.StateError, Generation: 1, RetryAt: s.Now().Add(5 * time.Minute), Message: "no such size"}
	}
	s.steps["load"] = func(int) (cloud.Next, error) {
		if s.record.Step == cloud.StepEnd {
			return s.record, nil
		}
		return failed(), nil
	}
	s.at(time.Minute, func() { s.nudge(workflows.SignalRefresh, 1) })
	s.at(7*time.Minute, func() {
		require.Equal(t, []string{"load", "load", "load"}, s.calls, "the first timer was cancelled by the signal; the second fired at minute six")
		require.Equal(t, "no such size", s.status().Message)
	})
	s.ends(8 * time.Minute)
	s.run()
	require.Len(t, s.calls, 4)
}

func TestClocksThatDifferDoNotSpin(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	past := s.Now().Add(-time.Minute)
	s.steps["load"] = func(attempt int) (cloud.Next, error) {
		if attempt > 5 {
			return cloud.Next{Step: cloud.StepEnd}, nil
		}
		return cloud.Next{Step: cloud.StepRetry, State: cloud.StateError, RetryAt: past}, nil
	}
	started := s.Now()
	s.run()
	require.GreaterOrEqual(t, s.Now().Sub(started), 5*time.Second)
}

func TestHandSentSignals(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = rest(1)
	s.hand = func(h activities.HandSignal) (activities.HandAnswer, error) {
		switch {
		case h.Name == workflows.SignalUpdate && !strings.Contains(string(h.Payload), "spec"):
			return activities.HandAnswer{Next: s.record, Refused: "INVALID_INPUT: no spec"}, nil
		case h.Name == workflows.SignalDelete:
			return activities.HandAnswer{Next: cloud.Next{Step: cloud.StepEnd, State: cloud.StateDeleted}}, nil
		}
		return activities.HandAnswer{Next: s.record}, nil
	}
	s.at(time.Minute, func() { s.SignalWorkflow(workflows.SignalUpdate, map[string]any{"spec": map[string]any{"size": "s2"}}) })
	s.at(2*time.Minute, func() { require.Empty(t, s.status().LastRefused) })
	s.at(3*time.Minute, func() { s.SignalWorkflow(workflows.SignalUpdate, "nonsense") })
	s.at(4*time.Minute, func() { require.Contains(t, s.status().LastRefused, "no spec", "visible (D23)") })
	s.at(5*time.Minute, func() { s.SignalWorkflow(workflows.SignalDelete, nil) })
	s.run()
	require.Equal(t, []string{"load", `hand update {"spec":{"size":"s2"}}`, `hand update "nonsense"`, "hand delete "}, s.calls)
}

// nonsense is every sort of payload that a person or a program may send.
func nonsense() []any {
	raw := func(encoding string, data []byte) converter.RawValue {
		return converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: data})
	}
	return []any{
		nil, "", "text", 17, -1.5, true, []int{1, 2}, map[string]any{}, []byte{0, 1, 2, 255}, json.RawMessage("null"),
		map[string]any{"generation": "seven"}, map[string]any{"generation": 1.5}, map[string]any{"generation": nil}, map[string]any{"generation": []int{1}},
		map[string]any{"generation": 1e300}, map[string]any{"generation": int64(-5)},
		raw("json/plain", []byte(`{"broken"`)), raw("json/plain", nil), raw("binary/encrypted", []byte{1, 2, 3}), raw("unheard/of", []byte("x")),
		raw("", []byte("no encoding")), raw("json/protobuf", []byte(`{}`)), converter.NewRawValue(&commonpb.Payload{}), converter.NewRawValue(nil),
		strings.Repeat("x", 300<<10),
	}
}

func TestNonsenseNeverBlocks(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.record = rest(1)
			if busy {
				s.record = cloud.Next{Step: cloud.StepUpdate, State: cloud.StateUpdating, Generation: 1}
				s.steps["update"] = func(int) (cloud.Next, error) { return cloud.Next{}, waiting() }
			}
			s.hand = func(activities.HandSignal) (activities.HandAnswer, error) {
				return activities.HandAnswer{Next: s.record, Refused: "INVALID_INPUT: nonsense"}, nil
			}
			d := time.Second
			for _, payload := range nonsense() {
				for _, signal := range []string{workflows.SignalUpdate, workflows.SignalDelete, workflows.SignalRelease, workflows.SignalRefresh, "unknown"} {
					s.at(d, func() { s.SignalWorkflow(signal, payload) })
					d += 100 * time.Millisecond
				}
			}
			s.at(d, func() {
				status := s.status()
				require.NotEmpty(t, status.LastRefused)
				require.Equal(t, []string{"unknown"}, status.UnknownSignals)
			})
			s.ends(d + time.Second)
			s.run()
			for _, c := range s.calls {
				require.Less(t, len(c), 1000, "a huge payload goes into no activity")
			}
		})
	}
}

func TestEqualHandSignalsAreOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.steps["load"] = func(attempt int) (cloud.Next, error) {
		if attempt == 1 {
			for range 50 {
				s.SignalWorkflowSkippingWorkflowTask(workflows.SignalRefresh, nil)
			}
			for i := range 200 {
				s.SignalWorkflowSkippingWorkflowTask(workflows.SignalUpdate, i)
			}
		}
		return s.record, nil
	}
	s.record = rest(1)
	s.ends(time.Hour)
	s.run()
	hands := 0
	for _, c := range s.calls {
		if strings.HasPrefix(c, "hand") {
			hands++
		}
	}
	require.LessOrEqual(t, hands, 101)
	require.Contains(t, s.status().LastRefused, "too many")
}

func TestCancelIsNotedAndIgnored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = rest(1)
	s.at(time.Minute, s.CancelWorkflow)
	s.at(2*time.Minute, func() { require.True(t, s.status().CancelIgnored) })
	s.at(3*time.Minute, func() {
		s.record = cloud.Next{Step: cloud.StepUpdate, Generation: 2}
		s.nudge(workflows.SignalUpdate, 2)
	})
	s.steps["update"] = func(int) (cloud.Next, error) { s.record = rest(2); return s.record, nil }
	s.at(4*time.Minute, func() { require.Contains(t, s.calls, "update", "work goes on") })
	s.ends(time.Hour)
	s.run()
}

func TestContinuesAsNewAtRestOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = cloud.Next{Step: cloud.StepUpdate, State: cloud.StateUpdating, Generation: 1}
	s.steps["update"] = func(int) (cloud.Next, error) {
		s.SetCurrentHistoryLength(1000)
		for range 3 { // arrive while the last activity ends
			s.SignalWorkflowSkippingWorkflowTask(workflows.SignalUpdate, workflows.Nudge{Generation: 1})
		}
		s.record = rest(1)
		return s.record, nil
	}
	s.at(time.Minute, func() { s.SignalWorkflow(workflows.SignalUpdate, "nonsense") })
	s.hand = func(activities.HandSignal) (activities.HandAnswer, error) {
		return activities.HandAnswer{Next: s.record, Refused: "no"}, nil
	}
	s.ExecuteWorkflow(workflows.TypeResource, workflows.Carried{CancelIgnored: true})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, s.GetWorkflowError(), &again)
	require.Equal(t, workflows.TypeResource, again.WorkflowType.Name)
	var carried workflows.Carried
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &carried))
	require.True(t, carried.CancelIgnored, "what an operator should see comes along")
	require.Equal(t, []string{"load", "update"}, s.calls)
}

func TestSuggestionOfTheServerCounts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = rest(1)
	s.SetContinueAsNewSuggested(true)
	s.ExecuteWorkflow(workflows.TypeResource, workflows.Carried{})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, s.GetWorkflowError(), &again)
}

func TestUnknownStepIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.steps["load"] = func(attempt int) (cloud.Next, error) {
		if attempt < 3 {
			return cloud.Next{Step: "polish", State: cloud.StateReady}, nil
		}
		return cloud.Next{Step: cloud.StepEnd}, nil
	}
	started := s.Now()
	s.run()
	require.GreaterOrEqual(t, s.Now().Sub(started), 2*time.Minute)
}

func TestBrokenActivityIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = cloud.Next{Step: cloud.StepProvision, State: cloud.StatePending, Generation: 1}
	s.steps["provision"] = func(attempt int) (cloud.Next, error) {
		if attempt == 1 {
			return cloud.Next{}, temporal.NewNonRetryableApplicationError("a bug", "Bug", errors.New("cause"))
		}
		return cloud.Next{Step: cloud.StepEnd}, nil
	}
	s.at(10*time.Second, func() { require.Contains(t, s.status().Message, "see the worker's log") })
	s.run()
	require.Equal(t, []string{"load", "provision", "load", "provision"}, s.calls)
}

func TestBrokenHandIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record = rest(1)
	s.hand = func(activities.HandSignal) (activities.HandAnswer, error) {
		return activities.HandAnswer{}, temporal.NewNonRetryableApplicationError("a bug", "Bug", nil)
	}
	s.at(0, func() { s.SignalWorkflow(workflows.SignalRefresh, nil) }) // during the first load
	s.at(time.Minute, func() {
		require.Equal(t, cloud.StepRest, s.status().Step)
		require.Contains(t, s.status().LastRefused, "internal")
	})
	s.ends(time.Hour)
	s.run()
}
