// Package spectest starts a simulator whose every answer is checked against the
// provider's OpenAPI document. Tests of areas use it, so that what they exercise
// is validated without saying so.
package spectest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

// Token is the account that Sim.Client speaks for.
const Token = "dop_v1_spectest"

// Sim is a running simulator under validation.
type Sim struct {
	// URL is the base of the API and of the control surface.
	URL    string
	Server *core.Server
	// Client is a godo client of the account of Token, without retries.
	Client *godo.Client
	Clock  *Clock

	t        testing.TB
	document *document
	areas    []core.Area
	mu       sync.Mutex
	covered  map[string]bool
}

// Clock is a clock that moves only when told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Start serves the areas in memory until the test ends, with development
// settings and a clock that stands still until it is advanced. An answer that
// breaks the OpenAPI document fails the test.
func Start(t testing.TB, areas ...core.Area) *Sim {
	t.Helper()
	clock := &Clock{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	settings := core.DefaultSettings()
	settings.PerHour, settings.PerMinute = 1_000_000, 1_000_000
	settings.OverlapTime = 0
	server, err := core.New(core.Options{Now: clock.Now, Settings: &settings}, areas...)
	require.NoError(t, err)
	sim := &Sim{Server: server, Clock: clock, t: t, document: load(t), areas: areas, covered: map[string]bool{}}
	listener := httptest.NewServer(http.HandlerFunc(sim.serve))
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		listener.Close()
	})
	sim.URL = listener.URL
	sim.Client = sim.ClientOf(Token)
	return sim
}

// ClientOf returns a godo client of the account of another token.
func (s *Sim) ClientOf(token string) *godo.Client {
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	client, err := godo.New(oauth2.NewClient(context.Background(), source), godo.SetBaseURL(s.URL))
	require.NoError(s.t, err)
	return client
}

// Do makes a raw request as the account of Token and returns the status and the
// decoded JSON object, nil when there is none.
func (s *Sim) Do(method, path string, body any) (status int, answer map[string]any) {
	s.t.Helper()
	request, err := s.Client.NewRequest(context.Background(), method, path, body)
	require.NoError(s.t, err)
	response, err := s.Client.Do(context.Background(), request, &answer)
	require.NotNil(s.t, response, "no answer: %v", err)
	return response.StatusCode, answer
}

// SetAccount changes what is said of the account of Token, as PUT
// /_simulator/accounts does.
func (s *Sim) SetAccount(change map[string]any) {
	s.t.Helper()
	body := map[string]any{"account": Token}
	maps.Copy(body, change)
	status, answer := s.Do(http.MethodPut, "_simulator/accounts", body)
	require.Equal(s.t, http.StatusOK, status, answer)
}

// AddFault registers a fault.
func (s *Sim) AddFault(fault core.Fault) {
	s.t.Helper()
	status, answer := s.Do(http.MethodPost, "_simulator/faults", fault)
	require.Equal(s.t, http.StatusCreated, status, answer)
}

// RequireCovered fails for each route of the areas (all that are served when none
// is given) that the document knows and no request of this Sim was answered 2xx
// on.
func (s *Sim) RequireCovered(areas ...core.Area) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(areas) == 0 {
		areas = s.areas
	}
	var missed []string
	for _, area := range areas {
		for _, route := range area.Routes {
			key := route.Method + " " + route.Pattern
			if s.document.knows(route.Method, route.Pattern) && !s.covered[normal(key)] {
				missed = append(missed, key)
			}
		}
	}
	slices.Sort(missed)
	require.Empty(s.t, missed, "operations that no test of this run saw succeed")
}

// serve answers through a recorder and validates what was recorded.
func (s *Sim) serve(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	s.Server.ServeHTTP(recorder, r)
	if err := s.validate(r, recorder); err != nil {
		s.t.Errorf("%s %s answered %d against the OpenAPI document: %v\n%s", r.Method, r.URL, recorder.Code, err, recorder.Body)
	}
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

func (s *Sim) validate(r *http.Request, recorder *httptest.ResponseRecorder) error {
	if strings.HasPrefix(r.URL.Path, "/_simulator/") {
		return nil
	}
	route, params := s.document.find(r)
	if route == nil {
		return nil
	}
	if recorder.Code < http.StatusMultipleChoices {
		s.mu.Lock()
		s.covered[normal(r.Method+" "+route.Path)] = true
		s.mu.Unlock()
	}
	if recorder.Code >= http.StatusBadRequest && !strings.Contains(recorder.Header().Get("Content-Type"), "json") {
		// A fault answered the page of a proxy, which no document describes.
		return nil
	}
	if route.Operation.Responses.Status(recorder.Code) == nil && route.Operation.Responses.Default() == nil {
		return fmt.Errorf("the operation has no response %d", recorder.Code)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 recorder.Code,
		Header:                 recorder.Header(),
		Options:                &openapi3filter.Options{MultiError: true},
	}
	input.SetBodyBytes(bytes.Clone(recorder.Body.Bytes()))
	return openapi3filter.ValidateResponse(context.Background(), input)
}

// normal takes the names out of path parameters, which areas choose freely.
func normal(key string) string {
	parts := strings.Split(key, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "{}"
		}
	}
	return strings.Join(parts, "/")
}
