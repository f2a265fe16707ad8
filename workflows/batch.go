package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/cloud"
)

// Signals and activity names of command batches.
const (
	SignalApprove = "approve"
	SignalCancel  = "cancel"

	ActivityLoadBatch   = "LoadBatch"
	ActivityRecordBatch = "RecordBatchIntent"
	ActivityDispatch    = "DispatchCommands"
	ActivityExpireBatch = "ExpireBatch"
)

var batchEntity = &entityDef{
	workflow: TypeBatch,
	load:     ActivityLoadBatch,
	hand:     ActivityRecordBatch,
	signals:  []string{SignalCancel, SignalApprove, SignalRefresh},
	steps: map[cloud.Step]stepDef{
		cloud.StepDispatch: {ActivityDispatch, "send the commands that are due"},
		cloud.StepExpire:   {ActivityExpireBatch, "end it, its time is over"},
	},
}

// CommandBatch is the workflow of one command batch; its workflow id is the
// batch's id. It waits for approvals or the end of its time with one timer.
func CommandBatch(ctx workflow.Context, carried Carried) error {
	return runEntity(ctx, batchEntity, carried)
}
