package transport

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cloudresources_provider_requests_total",
		Help: "Requests sent to cloud providers, by method and status (0 when no answer came).",
	}, []string{"provider", "method", "status"})
	seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cloudresources_provider_request_seconds",
		Help:    "Seconds until the first byte of a cloud provider's answer.",
		Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"provider", "method"})
)

// Collectors are the metrics of every provider call, for a registry. Labels
// hold no account and no path: both would grow without bound.
func Collectors() []prometheus.Collector { return []prometheus.Collector{requests, seconds} }

type measured struct {
	provider string
	next     http.RoundTripper
}

func (m measured) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	answer, err := m.next.RoundTrip(r)
	status := 0
	if err == nil {
		status = answer.StatusCode
	}
	requests.WithLabelValues(m.provider, r.Method, strconv.Itoa(status)).Inc()
	seconds.WithLabelValues(m.provider, r.Method).Observe(time.Since(began).Seconds())
	return answer, err
}
