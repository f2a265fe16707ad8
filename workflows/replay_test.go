package workflows_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/workflows"
)

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// TestReplay replays histories of real runs with today's code. One that fails
// means that workflows which run now would get stuck at the next deploy: guard
// the change with workflow.GetVersion. New histories are recorded with
//
//	go test ./worker -record
func TestReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 11, "a history for each kind of life")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
			require.NoError(t, err)
			for name, w := range map[string]any{
				workflows.TypeResource: workflows.CloudResource, workflows.TypeAccount: workflows.AccountSweep,
				workflows.TypeWebhook: workflows.WebhookDelivery, workflows.TypeCertificate: workflows.Certificate, workflows.TypeBatch: workflows.CommandBatch,
			} {
				r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
			}
			require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(quiet, file))
		})
	}
}

// TestReplayNoticesAChange: a history is of use only if a change shows.
func TestReplayNoticesAChange(t *testing.T) {
	t.Parallel()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	require.NoError(t, err)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ workflows.Carried) error {
		return workflow.Sleep(ctx, time.Minute)
	}, workflow.RegisterOptions{Name: workflows.TypeResource})
	require.Error(t, r.ReplayWorkflowHistoryFromJSONFile(quiet, "testdata/deleted.json"))
}
