package apitest

import (
	"bytes"
	"context"
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
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
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
		Intents: w.Service, Platform: Ports{w.Store}, Authorizer: w.Service.Authorizer,
		Secrets: Ports{w.Store}, Events: Ports{w.Store}, Usage: Ports{w.Store},
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

// Ports are the store as the API's ports.
type Ports struct{ *postgres.Store }

// Issuers implements api.Platform.
func (p Ports) Issuers(ctx context.Context) ([]platform.Issuer, error) {
	st, _, err := p.Settings(ctx)
	return st.OIDCIssuers, err
}

// ListSecrets implements api.Secrets.
func (p Ports) ListSecrets(ctx context.Context, tenant, after string, limit int) ([]api.Secret, error) {
	list, err := p.Store.ListSecrets(ctx, tenant, after, limit)
	return convert(list, err, func(s postgres.SecretInfo) api.Secret { return api.Secret(s) })
}

// ListEvents implements api.Events.
func (p Ports) ListEvents(ctx context.Context, tenant string, after int64, limit int) ([]api.Event, error) {
	list, err := p.Store.ListEvents(ctx, tenant, after, limit)
	return convert(list, err, func(e postgres.Event) api.Event { return api.Event(e) })
}

// ListUsage implements api.Usage.
func (p Ports) ListUsage(ctx context.Context, tenant string, from, to time.Time) ([]api.UsageHour, error) {
	list, err := p.Store.ListUsage(ctx, tenant, from, to)
	return convert(list, err, func(h postgres.UsageHour) api.UsageHour { return api.UsageHour(h) })
}

func convert[A, B any](list []A, err error, fn func(A) B) ([]B, error) {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = fn(v)
	}
	return out, err
}

type certificatePorts struct {
	*intent.CertificateService
	store *postgres.Store
}

func (p certificatePorts) Certificate(ctx context.Context, tenant, id string) (*cloud.Certificate, error) {
	return p.store.Certificate(ctx, tenant, id)
}

func (p certificatePorts) ListCertificates(ctx context.Context, f api.CertificateFilter, after string, limit int) ([]*cloud.Certificate, error) {
	return p.store.ListCertificates(ctx, postgres.CertificateFilter(f), after, limit)
}

type batchPorts struct {
	*intent.BatchService
	store *postgres.Store
}

func (p batchPorts) ListBatches(ctx context.Context, tenant string, ended bool, after string, limit int) ([]*cloud.Batch, error) {
	return p.store.ListBatches(ctx, tenant, ended, after, limit)
}

func (p batchPorts) Detail(ctx context.Context, tenant, id string) (*api.BatchDetail, error) {
	b, err := p.store.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	file, approvals, err := p.store.BatchFile(ctx, id)
	if err != nil {
		return nil, err
	}
	commands, err := p.store.Commands(ctx, id)
	if err != nil {
		return nil, err
	}
	trail, err := p.store.AuditTrail(ctx, postgres.AuditFilter{Tenant: tenant, Subject: id}, 0, api.MaxAudit+1)
	d := &api.BatchDetail{Batch: b, File: file, Approvals: approvals, Commands: commands, AuditTruncated: len(trail) > api.MaxAudit}
	for _, l := range trail[:min(len(trail), api.MaxAudit)] {
		d.Audit = append(d.Audit, api.AuditLine{At: l.At, Actor: l.Actor, Action: l.Action, Detail: l.Detail})
	}
	return d, err
}
