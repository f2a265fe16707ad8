package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/better-compute/cloud-resources/activities"
)

// DeliveryState is what one run of a subscriber's deliveries hands to the next.
type DeliveryState struct {
	// Last is what the last pass did, for the status query.
	Last *activities.DeliverResult `json:"last,omitempty"`
}

// WebhookDelivery posts one subscriber's events, each resource's in order. One
// workflow per subscriber: a slow or dead one takes nobody else's place. When
// nothing waits there is no timer. It ends when the subscriber is no longer
// declared, or inactive.
func WebhookDelivery(root workflow.Context, state DeliveryState) error {
	ctx, _ := workflow.NewDisconnectedContext(root)
	subscriber := strings.TrimPrefix(workflow.GetInfo(ctx).WorkflowExecution.ID, WebhookWorkflowID(""))
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (DeliveryState, error) { return state, nil }); err != nil {
		return err
	}
	news := workflow.GetSignalChannel(ctx, SignalDeliver)
	for {
		for news.ReceiveAsync(nil) { // one pass answers them all
		}
		var result activities.DeliverResult
		actCtx := workflow.WithActivityOptions(ctx, activityOptions(QueueWebhook, stepTimeout, "post what is due"))
		err := workflow.ExecuteActivity(actCtx, ActivityDeliver, activities.DeliverInput{Subscriber: subscriber}).Get(ctx, &result)
		if err != nil { // only a bug ends it for good
			workflow.GetLogger(ctx).Error("delivery failed for good", "error", err)
			result = activities.DeliverResult{Message: "internal; see the worker's log", NextAt: workflow.Now(ctx).Add(brokenDelay)}
		}
		state.Last = &result
		workflow.SetCurrentDetails(ctx, deliveryDetails(result))
		if handOver(ctx, news) {
			return workflow.NewContinueAsNewError(ctx, TypeWebhook, state)
		}
		switch {
		case result.Gone:
			return nil
		case result.More:
		case result.NextAt.IsZero():
			waitFor(ctx, news, 0, "")
		default:
			waitFor(ctx, news, max(result.NextAt.Sub(workflow.Now(ctx)), minRetry), "try again")
		}
	}
}

func deliveryDetails(r activities.DeliverResult) string {
	var b strings.Builder
	switch {
	case r.Gone:
		b.WriteString("**Ended**: the subscriber is no longer declared, or inactive.")
	case r.More:
		b.WriteString("**Working**: more is due.")
	case r.NextAt.IsZero():
		b.WriteString("**At rest**: nothing waits.")
	default:
		fmt.Fprintf(&b, "**Waiting** to try again at %s.", r.NextAt.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\n\nLast pass: %d delivered, %d to be tried again, %d given up.", r.Delivered, r.Deferred, r.Dead)
	if r.Message != "" {
		fmt.Fprintf(&b, "\n\nLast refusal: %s.", r.Message)
	}
	return b.String()
}
