package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// Server is the API of a world, served on a port of its own.
type Server struct {
	*World
	URL string
	// Log is all that was logged.
	Log *Log
	// Deps are what it was made of.
	Deps api.Deps
	t    testing.TB
}

// Serve serves the world's API; edits change what it is made of.
func (w *World) Serve(edits ...func(d *api.Deps)) *Server {
	w.t.Helper()
	s := &Server{World: w, Log: &Log{}, t: w.t}
	certificates := &intent.CertificateService{Store: w.Store, Accounts: w.Provider, Now: time.Now}
	batches := &intent.BatchService{Store: w.Store, Now: time.Now}
	s.Deps = api.Deps{
		Intents: w.Service, Platform: w.Store, Authorizer: w.Service.Authorizer,
		Secrets: w.Store, Events: w.Store, Usage: w.Store,
		Certificates: certificatePorts{certificates, w.Store}, Batches: batchPorts{batches, w.Store},
		Source: "/cloud-resources/dev", Log: slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, edit := range edits {
		edit(&s.Deps)
	}
	server := httptest.NewServer(api.New(s.Deps))
	w.t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Answer is what a call answered.
type Answer struct {
	Status int
	Header http.Header
	Raw    []byte
	// Body is the decoded object, numbers as they stand.
	Body map[string]any
}

// Error is the code and the reason of a refusal.
func (a Answer) Error() (code, reason string) {
	e, _ := a.Body["error"].(map[string]any)
	code, _ = e["code"].(string)
	details, _ := e["details"].(map[string]any)
	reason, _ = details["reason"].(string)
	return code, reason
}

// Text is a field of the answer.
func (a Answer) Text(field string) string { v, _ := a.Body[field].(string); return v }

// Items are the items of a list.
func (a Answer) Items() []map[string]any {
	list, _ := a.Body["items"].([]any)
	out := make([]map[string]any, len(list))
	for i, e := range list {
		out[i], _ = e.(map[string]any)
	}
	return out
}

// Call makes a call such as cloudResources/get with an input that is JSON text
// or a value to be written as JSON.
func (s *Server) Call(token, method string, input any) Answer {
	s.t.Helper()
	raw, ok := input.(string)
	if !ok {
		b, err := json.Marshal(input)
		require.NoError(s.t, err)
		raw = string(b)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL+"/api/compute/"+method, strings.NewReader(raw))
	require.NoError(s.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return s.Do(req)
}

// Do sends a request.
func (s *Server) Do(req *http.Request) Answer {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Raw, err = io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		dec := json.NewDecoder(bytes.NewReader(a.Raw))
		dec.UseNumber()
		require.NoError(s.t, dec.Decode(&a.Body), string(a.Raw))
	}
	return a
}

// Log keeps what is logged.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type certificatePorts struct {
	*intent.CertificateService
	*postgres.Store
}

type batchPorts struct {
	*intent.BatchService
	*postgres.Store
}
