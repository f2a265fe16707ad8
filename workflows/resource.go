package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/cloud"
)

var resourceEntity = &entityDef{
	workflow: TypeResource,
	load:     ActivityLoad,
	hand:     ActivityRecordIntent,
	signals:  []string{SignalDelete, SignalRelease, SignalUpdate, SignalRefresh},
	steps: map[cloud.Step]stepDef{
		cloud.StepAdopt:     {ActivityAdopt, "take the existing object over"},
		cloud.StepProvision: {ActivityProvision, "create it and wait until it is ready"},
		cloud.StepUpdate:    {ActivityUpdate, "apply the changed spec"},
		cloud.StepRefresh:   {ActivityRefresh, "look at it again"},
		cloud.StepDelete:    {ActivityDelete, "delete it at the provider"},
		cloud.StepRelease:   {ActivityRelease, "remove the ownership labels"},
	},
	guess: guessResource,
}

func guessResource(signal string, started bool) cloud.Step {
	switch {
	case signal == SignalDelete:
		return cloud.StepDelete
	case signal == SignalRelease:
		return cloud.StepRelease
	case signal == SignalUpdate && started:
		return cloud.StepUpdate
	case signal == SignalUpdate:
		return cloud.StepProvision
	}
	return ""
}

// CloudResource is the workflow of one resource; its workflow id is the
// resource's id. It runs until the resource is deleted or released.
func CloudResource(ctx workflow.Context, carried Carried) error {
	return runEntity(ctx, resourceEntity, carried)
}
