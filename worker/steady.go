package worker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
)

// NewSteady makes activities steady: they send heartbeats by themselves, they
// run to their end although their workflow lost interest, and a panic becomes
// an error whose text holds nothing of what panicked.
func NewSteady(log *slog.Logger) interceptor.WorkerInterceptor { return &steady{log: log} }

type steady struct {
	interceptor.WorkerInterceptorBase
	log *slog.Logger
}

func (s *steady) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &steadyActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, log: s.log}
}

type steadyActivity struct {
	interceptor.ActivityInboundInterceptorBase
	log *slog.Logger
}

// errorPanic is the type of the error that a panic becomes.
const errorPanic = "Panic"

func (s *steadyActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (result any, err error) {
	info := activity.GetInfo(ctx)
	// Cancelling a call to a provider half-way would leave its outcome unknown.
	// Only the deadline ends an attempt, and the record's lock keeps others out.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, ok := ctx.Deadline(); ok {
		work, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	defer cancel()
	if info.HeartbeatTimeout > 0 {
		stop := beat(ctx, info.HeartbeatTimeout/3)
		defer stop()
	}
	defer func() {
		if v := recover(); v != nil {
			s.log.ErrorContext(ctx, "activity panicked", "activity", info.ActivityType.Name, "workflow", info.WorkflowExecution.ID,
				"value", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			result, err = nil, temporal.NewApplicationErrorWithOptions("the activity panicked; see the worker's log", errorPanic, temporal.ApplicationErrorOptions{})
		}
	}()
	return s.Next.ExecuteActivity(work, in)
}

// beat sends heartbeats until stop is called.
func beat(ctx context.Context, every time.Duration) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done); <-over }
}
