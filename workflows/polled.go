package workflows

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// pollerAge is how old a poller's last sign of life may be: a long poll lasts
// a minute.
const pollerAge = 2 * time.Minute

// Polled says whether Temporal answers and a worker polls for workflows. A nil
// error means both.
func Polled(ctx context.Context, c client.Client) error {
	d, err := c.DescribeTaskQueue(ctx, Queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return fmt.Errorf("temporal does not answer: %w", err)
	}
	for _, p := range d.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < pollerAge {
			return nil
		}
	}
	return fmt.Errorf("no worker polls the queue %q", Queue)
}
