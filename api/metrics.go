package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/better-compute/cloud-resources/cloud"
)

type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(registry *prometheus.Registry) *metrics {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	m := &metrics{
		registry: registry,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudresources_http_requests_total", Help: "Requests by path, HTTP status and error code.",
		}, []string{"path", "status", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cloudresources_http_request_seconds", Help: "How long requests took, by path.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"path"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	return m
}

// note counts a request; route is the pattern, of which there are few.
func (m *metrics) note(route string, status int, code cloud.Code, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status), string(code)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
