package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/workflows"
)

// Options are what a worker needs. Certificates, Batches, Webhooks and Expiry may
// be nil; what they do then waits for a worker that has them.
type Options struct {
	Client    client.Client
	Namespace string
	// Identity names this process in the Web UI; "" lets the SDK choose.
	Identity string

	Resources    *activities.Activities
	Certificates *activities.CertificateActivities
	Batches      *activities.BatchActivities
	Sweeps       *activities.Sweeps
	Webhooks     *activities.WebhookActivities
	Outbox       activities.Outbox
	Billing      activities.Billing
	Expiry       activities.Expiry

	Settings cloud.Settings
	// Concurrency is how many provider activities run at once; each may hold a
	// database connection. 0 means DefaultConcurrency.
	Concurrency int
	// StopTimeout is how long running activities may go on after Run's context
	// ended. 0 means 20 seconds.
	StopTimeout time.Duration
	// Registerer gets the metrics of the loops; nil: none.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// DefaultConcurrency is how many provider activities run at once.
const DefaultConcurrency = 16

// Limits of a worker process.
const (
	// stickyCache is how many workflows stay in memory, shared by all workers of
	// a process. Histories are short, so a miss is cheap.
	stickyCache = 2000
	// deadlockTimeout is long enough for a machine with few, busy cores.
	deadlockTimeout = 10 * time.Second
	// heartbeatThrottle is how often heartbeats are sent at most.
	heartbeatThrottle = 5 * time.Second
	// webhookConcurrency is how many subscribers are served at once.
	webhookConcurrency = 32
)

// Worker runs workflows, activities and loops.
type Worker struct {
	Options
	nudger  workflows.Nudger
	metrics *loopMetrics
}

// New checks the options; it starts nothing.
func New(o Options) (*Worker, error) {
	if o.Client == nil || o.Resources == nil || o.Sweeps == nil || o.Outbox == nil || o.Billing == nil || o.Log == nil {
		return nil, errors.New("worker: client, resources, sweeps, outbox, billing and log are required")
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = 20 * time.Second
	}
	if o.Settings == (cloud.Settings{}) {
		o.Settings = cloud.DefaultSettings
	}
	metrics, err := newLoopMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return &Worker{Options: o, nudger: workflows.Nudger{Client: o.Client}, metrics: metrics}, nil
}

var cacheOnce sync.Once // the size is the process's, and fixed once a worker started

// Run works until ctx ends, then stops gracefully: nothing new is begun, what
// runs may finish within StopTimeout. While Temporal does not answer it waits.
// It returns nil after a stop, or what made going on impossible.
func (w *Worker) Run(ctx context.Context) error {
	cacheOnce.Do(func() { worker.SetStickyWorkflowCacheSize(stickyCache) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := w.untilReady(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	fatal := func(err error) { cancel(fmt.Errorf("temporal worker: %w", err)) }
	for _, queue := range w.queues(fatal) {
		if err := w.keepTrying(ctx, "start a worker", queue.Start); err != nil {
			return ignoreEnd(ctx, err)
		}
		defer queue.Stop()
	}
	w.Log.InfoContext(ctx, "worker runs", "namespace", w.Namespace)
	var loops sync.WaitGroup
	for range relays {
		loops.Go(func() { w.relay(ctx) })
	}
	loops.Go(func() { w.every(ctx, "heal", min(healEvery, w.Settings.Refresh), w.heal) })
	loops.Go(func() { w.every(ctx, "bill", billEvery, w.bill) })
	loops.Go(func() { w.every(ctx, "start sweeps", startEvery, w.startSweeps) })
	if w.Expiry != nil {
		loops.Go(func() { w.every(ctx, "notice expiry", min(noticeEvery, w.Settings.Refresh), w.noticeExpiry) })
	}
	<-ctx.Done()
	loops.Wait()
	return ignoreEnd(ctx, context.Cause(ctx))
}

// ignoreEnd is nil for the end that the caller asked for.
func ignoreEnd(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// untilReady waits for Temporal and for the search attributes.
func (w *Worker) untilReady(ctx context.Context) error {
	return w.keepTrying(ctx, "prepare the search attributes", func() error {
		return EnsureSearchAttributes(ctx, w.Client, w.Namespace)
	})
}

// keepTrying repeats do, waiting longer each time, until it works or ctx ends.
func (w *Worker) keepTrying(ctx context.Context, what string, do func() error) error {
	for wait := time.Second; ; wait = min(2*wait, maxWait) {
		err := do()
		if err == nil {
			return nil
		}
		w.Log.WarnContext(ctx, "cannot "+what+" yet", "error", err, "retryIn", wait)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// queues makes a worker for each task queue.
func (w *Worker) queues(fatal func(error)) []worker.Worker {
	options := worker.Options{
		Identity: w.Identity, WorkerStopTimeout: w.StopTimeout, DeadlockDetectionTimeout: deadlockTimeout,
		Interceptors:                 []interceptor.WorkerInterceptor{NewSteady(w.Log)},
		DisableRegistrationAliasing:  true,
		MaxHeartbeatThrottleInterval: heartbeatThrottle, DefaultHeartbeatThrottleInterval: heartbeatThrottle,
		OnFatalError: fatal,
	}
	main := worker.New(w.Client, workflows.Queue, options)
	registerWorkflows(main)
	registerRecordActivities(main, w.Options)
	options.DisableWorkflowWorker = true
	options.MaxConcurrentActivityExecutionSize = w.Concurrency
	provider := worker.New(w.Client, workflows.QueueProvider, options)
	registerProviderActivities(provider, w.Options)
	all := []worker.Worker{main, provider}
	if w.Webhooks != nil {
		options.MaxConcurrentActivityExecutionSize = webhookConcurrency
		webhook := worker.New(w.Client, workflows.QueueWebhook, options)
		register(webhook, workflows.ActivityDeliver, w.Webhooks.DeliverWebhooks)
		all = append(all, webhook)
	}
	return all
}
