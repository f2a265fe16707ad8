package worker

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// sdkLabels are the SDK's tags that are worth a label. A metric of Prometheus
// has the same labels everywhere, so each has all of these; the rest are left
// out, among them whatever could grow without bound.
var sdkLabels = []string{"namespace", "operation", "task_queue", "worker_type", "workflow_type", "activity_type", "poller_type", "failure_reason", "status_code"}

var sdkBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// NewMetricsHandler gives the SDK's metrics to a Prometheus registry under
// their usual names (temporal_request_latency, ...), in seconds. Handlers of
// one registry share their metrics.
func NewMetricsHandler(reg prometheus.Registerer) client.MetricsHandler {
	return &metricsHandler{shared: &sdkMetrics{reg: reg}, tags: map[string]string{}}
}

type metricsHandler struct {
	shared *sdkMetrics
	tags   map[string]string
}

// sdkMetrics are the vectors that exist, by name.
type sdkMetrics struct {
	reg     prometheus.Registerer
	vectors sync.Map
}

func (h *metricsHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(h.tags)
	maps.Copy(all, tags)
	return &metricsHandler{shared: h.shared, tags: all}
}

func (h *metricsHandler) values() []string {
	values := make([]string, len(sdkLabels))
	for i, label := range sdkLabels {
		values[i] = h.tags[label]
	}
	return values
}

func (h *metricsHandler) Counter(name string) client.MetricsCounter {
	return counter{vector(h.shared, name, func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: sdkHelp}, sdkLabels)
	}).WithLabelValues(h.values()...)}
}

func (h *metricsHandler) Gauge(name string) client.MetricsGauge {
	return gauge{vector(h.shared, name, func() *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: sdkHelp}, sdkLabels)
	}).WithLabelValues(h.values()...)}
}

func (h *metricsHandler) Timer(name string) client.MetricsTimer {
	return timer{vector(h.shared, name, func() *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: sdkHelp, Buckets: sdkBuckets}, sdkLabels)
	}).WithLabelValues(h.values()...)}
}

const sdkHelp = "See the documentation of Temporal's Go SDK."

// vector returns the metric of a name, registering it the first time.
func vector[V prometheus.Collector](m *sdkMetrics, name string, build func() V) V {
	if v, ok := m.vectors.Load(name); ok {
		if known, ok := v.(V); ok {
			return known
		}
		return build() // one name, two types: counted, but not shown
	}
	v := build()
	if err := m.reg.Register(v); err != nil {
		var there prometheus.AlreadyRegisteredError
		if errors.As(err, &there) {
			if known, ok := there.ExistingCollector.(V); ok {
				v = known
			}
		}
	}
	kept, _ := m.vectors.LoadOrStore(name, v)
	if known, ok := kept.(V); ok {
		return known
	}
	return v
}

type (
	counter struct{ prometheus.Counter }
	gauge   struct{ prometheus.Gauge }
	timer   struct{ prometheus.Observer }
)

func (c counter) Inc(n int64)          { c.Add(float64(n)) }
func (g gauge) Update(v float64)       { g.Set(v) }
func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }
