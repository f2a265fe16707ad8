package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/workflows"
)

// looping is an environment for a workflow that does one thing time after time.
func looping[In, Out any](t *testing.T, id, name string, w any, activityName string, do func(ctx context.Context, in In) (Out, error)) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 10 * time.Second})
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id, TaskQueue: workflows.Queue})
	env.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: activityName})
	env.SetTestTimeout(time.Minute)
	return env
}

func TestAccountSweep(t *testing.T) {
	t.Parallel()
	var inputs []activities.SweepInput
	results := []activities.SweepResult{
		{Lists: 1, NextIn: 5 * time.Minute},
		{From: "test.cluster", NextIn: 17 * time.Second, Message: "used up"},
		{Unreachable: true, NextIn: 5 * time.Minute},
		{NextIn: 5 * time.Minute},
		{Gone: true},
	}
	env := looping(t, workflows.AccountWorkflowID("acct_acme"), workflows.TypeAccount, workflows.AccountSweep, workflows.ActivitySweep,
		func(_ context.Context, in activities.SweepInput) (activities.SweepResult, error) {
			inputs = append(inputs, in)
			return results[len(inputs)-1], nil
		})
	started := env.Now()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalSweep, "now, please") }, time.Minute)
	env.RegisterDelayedCallback(func() {
		env.CancelWorkflow()
		var state workflows.SweepState
		v, err := env.QueryWorkflow(workflows.QueryStatus)
		require.NoError(t, err)
		require.NoError(t, v.Get(&state))
		require.True(t, state.Unreachable)
	}, 2*time.Minute)
	env.ExecuteWorkflow(workflows.TypeAccount, workflows.SweepState{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []activities.SweepInput{
		{Account: "acct_acme"}, {Account: "acct_acme"}, {Account: "acct_acme", From: "test.cluster"},
		{Account: "acct_acme", Unreachable: true}, {Account: "acct_acme"},
	}, inputs)
	require.Equal(t, time.Minute+17*time.Second+10*time.Minute, env.Now().Sub(started).Round(time.Second))
}

func TestAccountSweepHandsOver(t *testing.T) {
	t.Parallel()
	env := looping(t, workflows.AccountWorkflowID("acct_acme"), workflows.TypeAccount, workflows.AccountSweep, workflows.ActivitySweep,
		func(context.Context, activities.SweepInput) (activities.SweepResult, error) {
			return activities.SweepResult{Unreachable: true, NextIn: time.Hour}, nil
		})
	env.SetCurrentHistoryLength(1000)
	env.ExecuteWorkflow(workflows.TypeAccount, workflows.SweepState{})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
}

func TestAccountSweepOutlivesABug(t *testing.T) {
	t.Parallel()
	tries := 0
	env := looping(t, workflows.AccountWorkflowID("acct_acme"), workflows.TypeAccount, workflows.AccountSweep, workflows.ActivitySweep,
		func(context.Context, activities.SweepInput) (activities.SweepResult, error) {
			if tries++; tries == 1 {
				return activities.SweepResult{}, temporal.NewNonRetryableApplicationError("a bug", "Bug", nil)
			}
			return activities.SweepResult{Gone: true}, nil
		})
	env.ExecuteWorkflow(workflows.TypeAccount, workflows.SweepState{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, tries)
}

func TestWebhookDelivery(t *testing.T) {
	t.Parallel()
	passes := 0
	var env *testsuite.TestWorkflowEnvironment
	started := time.Time{}
	var at []time.Duration
	env = looping(t, workflows.WebhookWorkflowID("audit"), workflows.TypeWebhook, workflows.WebhookDelivery, workflows.ActivityDeliver,
		func(_ context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
			require.Equal(t, "audit", in.Subscriber)
			passes++
			at = append(at, env.Now().Sub(started).Round(time.Second))
			switch passes {
			case 1:
				return activities.DeliverResult{More: true}, nil
			case 2:
				return activities.DeliverResult{NextAt: env.Now().Add(time.Hour), Deferred: 1}, nil
			case 3:
				return activities.DeliverResult{NextAt: env.Now().Add(5 * time.Minute)}, nil
			case 4:
				return activities.DeliverResult{Delivered: 1}, nil // nothing waits: no timer
			}
			return activities.DeliverResult{Gone: true}, nil
		})
	started = env.Now()
	env.RegisterDelayedCallback(func() {
		for range 10 {
			env.SignalWorkflow(workflows.SignalDeliver, nil)
		}
	}, 10*time.Minute)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalDeliver, "news") }, 10*time.Hour)
	env.ExecuteWorkflow(workflows.TypeWebhook, workflows.DeliveryState{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 0*time.Second, at[0])
	require.Equal(t, 0*time.Second, at[1])
	require.Equal(t, 10*time.Minute, at[2], "news is sent at once")
	require.LessOrEqual(t, len(at), 7, "many signals at once need few passes")
}
