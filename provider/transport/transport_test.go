package transport_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/transport"
)

func access() cloud.AccountAccess {
	return cloud.AccountAccess{ID: "a", Provider: "test-cloud", Token: cloud.NewSecret("the-token")}
}

// The token goes to the account's own hosts, and not where a redirect points.
func TestTokenStaysAtHome(t *testing.T) {
	var got string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer elsewhere.Close()
	home := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer home.Close()

	answer, err := transport.Client(transport.Options{Access: access(), Hosts: []string{"127.0.0.1"}}).Get(home.URL)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusFound, answer.StatusCode, "not followed")
	require.Empty(t, got)

	for _, c := range []struct {
		hosts []string
		want  string
	}{{[]string{"127.0.0.1"}, "Bearer the-token"}, {[]string{".example.com"}, ""}, {nil, ""}} {
		answer, err := transport.Client(transport.Options{Access: access(), Hosts: c.hosts}).Get(elsewhere.URL)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.want, got)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		block := strings.Repeat("x", 1<<20)
		for range 33 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	answer, err := transport.Client(transport.Options{Access: access()}).Get(server.URL)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, answer.Body)
	require.ErrorIs(t, err, transport.ErrBodyTooLarge)
	require.EqualValues(t, transport.MaxBody, n)
}

func TestRequestsAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(transport.Collectors()...)
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) > 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	counted := access()
	counted.Provider = "counted-cloud"
	client := transport.Client(transport.Options{Access: counted})
	for range 2 {
		answer, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	server.Close()
	_, err := client.Get(server.URL) //nolint:bodyclose // there is no answer
	require.Error(t, err)
	families, err := registry.Gather()
	require.NoError(t, err)
	byStatus := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "cloudresources_provider_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["provider"] == "counted-cloud" {
				byStatus[labels["method"]+" "+labels["status"]] = m.GetCounter().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{"GET 200": 1, "GET 502": 1, "GET 0": 1}, byStatus)
}
