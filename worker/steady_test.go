package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/worker"
)

// steadily runs one activity behind the interceptor.
func steadily(t *testing.T, log *bytes.Buffer, do func(ctx context.Context) error) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{worker.NewSteady(slog.New(slog.NewTextHandler(log, nil)))}})
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: "do"})
	_, err := env.ExecuteActivity("do")
	return err
}

func TestPanicTellsNothing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	err := steadily(t, &log, func(context.Context) error { panic(errors.New(fakecloud.Canary)) })
	require.ErrorContains(t, err, "panicked")
	require.NotContains(t, err.Error(), fakecloud.Canary)
	require.NotContains(t, log.String(), fakecloud.Canary)
	require.Contains(t, log.String(), "steady_test.go", "the log says where")
}

func TestActivityRunsToItsEnd(t *testing.T) {
	t.Parallel()
	require.NoError(t, steadily(t, &bytes.Buffer{}, func(ctx context.Context) error {
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		return ctx.Err()
	}))
}

// TestLostInterestBreaksNoCall: the record is deleted while its create is on
// the wire. The answer is awaited, then what it made is deleted.
func TestLostInterestBreaksNoCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	inside, leave := make(chan struct{}), make(chan struct{})
	s.cloud.SetHook(func(ctx context.Context, c fakecloud.Call, do func() error) error {
		if c.Verb != "create" {
			return do()
		}
		close(inside)
		select {
		case <-leave:
		case <-ctx.Done():
			return &cloud.ProviderError{Class: cloud.ClassUnknown, Op: "create", Message: "broken off"}
		}
		return do()
	})
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	<-inside
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.until("the workflow turned to the delete", func() bool {
		for _, a := range s.describe(r.ID).GetPendingActivities() {
			if a.GetActivityType().GetName() == "DeleteResource" && a.GetAttempt() > 1 {
				return true
			}
		}
		return false
	})
	// Long enough for a heartbeat to bring the news that nobody waits any more.
	s.until("the worker heard of it", func() bool {
		for _, a := range s.describe(r.ID).GetPendingActivities() {
			if a.GetActivityType().GetName() == "ProvisionResource" && a.GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED {
				return a.GetLastHeartbeatTime() != nil && time.Since(a.GetLastHeartbeatTime().AsTime()) < 5*time.Second
			}
		}
		return false
	})
	close(leave)
	s.becomes(r.ID, cloud.StateDeleted)
	require.Equal(t, map[string]int{cloud.ProviderName(r.ID): 1}, s.cloud.Made())
	require.Empty(t, s.cloud.Objects(), "B33")
}
