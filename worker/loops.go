package worker

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/better-compute/cloud-resources/workflows"
)

const (
	healEvery  = 30 * time.Second
	healBatch  = 200
	billEvery  = 30 * time.Second
	startEvery = 30 * time.Second
	// noticeEvery is how late an expiry event may come.
	noticeEvery = time.Minute
)

// every runs do at once and then after each period, until ctx ends. A failure
// is logged and counted; the next turn tries again.
func (w *Worker) every(ctx context.Context, what string, period time.Duration, do func(ctx context.Context) error) {
	for ctx.Err() == nil {
		turn, cancel := context.WithTimeout(ctx, max(period, time.Minute))
		if err := do(turn); err != nil && ctx.Err() == nil {
			w.metrics.failed(what)
			w.Log.WarnContext(ctx, "loop: "+what, "error", err, "retryIn", period)
		}
		cancel()
		sleep(ctx, period)
	}
}

// heal asks again for what should move and does not: workflows that somebody
// terminated, a Temporal that lost its database, a backup that was restored.
func (w *Worker) heal(ctx context.Context) error {
	quiet := 2*w.Settings.Refresh + w.Settings.Converge
	n, err := w.Outbox.NudgeStalled(ctx, quiet, healBatch)
	if n > 0 {
		w.metrics.healed(n)
		w.Log.InfoContext(ctx, "nudged what stood still", "count", n, "quiet", quiet)
	}
	return err
}

func (w *Worker) bill(ctx context.Context) error {
	n, err := w.Billing.BillHours(ctx)
	w.metrics.billed(n)
	return err
}

// noticeExpiry tells of certificates that come to their end.
func (w *Worker) noticeExpiry(ctx context.Context) error {
	n, err := w.Expiry.NoticeExpiry(ctx)
	if n > 0 {
		w.Log.InfoContext(ctx, "told of certificates that expire", "count", n)
	}
	return err
}

// startSweeps keeps a sweep running for every account.
func (w *Worker) startSweeps(ctx context.Context) error {
	accounts, err := w.Sweeps.Store.SweepAccounts(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if err := w.nudger.StartSweep(ctx, account); err != nil {
			return err
		}
	}
	return nil
}

// Health says whether Temporal answers and polls are kept up.
func (w *Worker) Health(ctx context.Context) error { return workflows.Polled(ctx, w.Client) }

// loopMetrics counts what the loops do.
type loopMetrics struct {
	signals  *prometheus.CounterVec
	failures *prometheus.CounterVec
	nudged   prometheus.Counter
	hours    prometheus.Counter
}

func newLoopMetrics(reg prometheus.Registerer) (*loopMetrics, error) {
	m := &loopMetrics{
		signals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudresources_signals_total", Help: "Signals of the outbox, by workflow type and outcome.",
		}, []string{"workflow_type", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudresources_loop_failures_total", Help: "Turns of the worker's loops that failed.",
		}, []string{"loop"}),
		nudged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cloudresources_stalled_nudged_total", Help: "Records that stood still and were nudged.",
		}),
		hours: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cloudresources_usage_rows_total", Help: "Usage rows written.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.signals, m.failures, m.nudged, m.hours} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *loopMetrics) delivered(workflowType string, err error) {
	outcome := "delivered"
	if err != nil {
		outcome = "failed"
	}
	m.signals.WithLabelValues(workflowType, outcome).Inc()
}

func (m *loopMetrics) failed(loop string) { m.failures.WithLabelValues(loop).Inc() }
func (m *loopMetrics) healed(n int)       { m.nudged.Add(float64(n)) }
func (m *loopMetrics) billed(n int)       { m.hours.Add(float64(n)) }
