package workflows

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/better-compute/cloud-resources/activities"
)

// nudgeTimeout bounds one signal. Nobody waits for it longer: what was not
// delivered stays in the outbox.
const nudgeTimeout = 3 * time.Second

// Nudger signals workflows and starts those that do not run. The relay uses it
// for the outbox, and the API for its one attempt right after a commit.
type Nudger struct{ Client client.Client }

// Nudge is the payload of a signal that the system itself sends.
type Nudge struct {
	// Generation is the record's at the time; it tells news from repeats.
	Generation int64 `json:"generation"`
}

// Deliver sends one signal, starting the workflow when it does not run. It may
// be repeated: signals carry no truth. An error means that it may not have
// arrived.
func (n Nudger) Deliver(ctx context.Context, m activities.Message) error {
	first, ok := firstArgument[m.WorkflowType]
	if !ok {
		return fmt.Errorf("there is no workflow type %q", m.WorkflowType)
	}
	ctx, cancel := context.WithTimeout(ctx, nudgeTimeout)
	defer cancel()
	_, err := n.Client.SignalWithStartWorkflow(ctx, m.WorkflowID, m.Signal, Nudge{Generation: m.Generation},
		startOptions(m.WorkflowID, m.Attributes), m.WorkflowType, first)
	return err
}

// firstArgument is what the first run of each workflow type gets.
var firstArgument = map[string]any{
	TypeResource:    Carried{},
	TypeCertificate: Carried{},
	TypeBatch:       Carried{},
	TypeAccount:     SweepState{},
	TypeWebhook:     DeliveryState{},
}

// StartSweep starts an account's sweep unless it runs already.
func (n Nudger) StartSweep(ctx context.Context, account string) error {
	ctx, cancel := context.WithTimeout(ctx, nudgeTimeout)
	defer cancel()
	o := startOptions(AccountWorkflowID(account), map[string]string{AttributeAccount.GetName(): account})
	o.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	_, err := n.Client.ExecuteWorkflow(ctx, o, TypeAccount, SweepState{})
	return err
}

// startOptions has no time-outs and no retry policy: an entity runs as long as
// its record lives. An id may be used again: a nudge that comes after the end
// starts a run that finds a final record and ends, and one that comes after an
// operator's terminate brings the entity back.
func startOptions(id string, attributes map[string]string) client.StartWorkflowOptions {
	var updates []temporal.SearchAttributeUpdate
	for _, key := range SearchAttributes {
		if v := attributes[key.GetName()]; v != "" {
			updates = append(updates, key.ValueSet(v))
		}
	}
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: Queue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(updates...),
	}
}
