package activities_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// certScenario is a life of a certificate and how it must end whatever happens.
type certScenario struct {
	before func(w *certWorld, name string) *cloud.Certificate
	under  func(w *certWorld, c *cloud.Certificate)
	state  cloud.State
	events []cloud.EventType
	// gone: no object is left; otherwise exactly one.
	gone bool
}

var (
	certMade     = []cloud.EventType{cloud.EventCertificateCreated, cloud.EventCertificateReady}
	certReplaced = and(certMade, cloud.EventCertificateUpdating, cloud.EventCertificateUpdated)
	certDeleted  = []cloud.EventType{cloud.EventCertificateDeleting, cloud.EventCertificateDeleted}
)

func uploadOne(w *certWorld, name string) *cloud.Certificate { return w.upload(name, quarter) }
func issueOne(w *certWorld, name string) *cloud.Certificate  { return w.issued(name) }

func servingOne(w *certWorld, name string) *cloud.Certificate {
	c := w.issued(name)
	w.settle(c.ID)
	return c
}

func settleCert(w *certWorld, c *cloud.Certificate) { w.settle(c.ID) }

var certScenarios = map[string]certScenario{
	"upload": {before: uploadOne, under: settleCert, state: cloud.StateReady, events: certMade},
	"issue":  {before: issueOne, under: settleCert, state: cloud.StateReady, events: certMade},
	"replace": {
		before: servingOne,
		under: func(w *certWorld, c *cloud.Certificate) {
			w.update(c.ID, cloud.CertificateMaterial{Domains: []string{"example.net"}})
			w.settle(c.ID)
		},
		state: cloud.StateReady, events: certReplaced,
	},
	"replace what is being made": {
		before: uploadOne,
		under: func(w *certWorld, c *cloud.Certificate) {
			w.step(c.ID, w.load(c.ID)) // what became of it may not be known
			w.update(c.ID, w.material("second", quarter))
			w.settle(c.ID)
		},
		state: cloud.StateReady,
	},
	"delete": {
		before: servingOne,
		under:  func(w *certWorld, c *cloud.Certificate) { w.delete(c.ID); w.settle(c.ID) },
		state:  cloud.StateDeleted, events: and(certMade, certDeleted...), gone: true,
	},
	"delete what is being made": {
		before: issueOne,
		under: func(w *certWorld, c *cloud.Certificate) {
			w.step(c.ID, w.load(c.ID))
			w.delete(c.ID)
			w.settle(c.ID)
		},
		state: cloud.StateDeleted, events: and([]cloud.EventType{cloud.EventCertificateCreated}, certDeleted...), gone: true,
	},
	"delete while it is replaced": {
		before: servingOne,
		under: func(w *certWorld, c *cloud.Certificate) {
			w.update(c.ID, cloud.CertificateMaterial{Domains: []string{"example.net"}})
			w.step(c.ID, w.load(c.ID))
			w.delete(c.ID)
			w.settle(c.ID)
		},
		state: cloud.StateDeleted, gone: true,
	},
}

// Each life with a fault at each of its points: every call of the provider and
// every commit fails before or after it took effect, or takes the worker along.
// One object is left, or none; nothing is lost, doubled or leaked.
func TestCertificatesSurviveEveryFault(t *testing.T) {
	t.Parallel()
	for name, s := range certScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCertWorld(t)
			points := s.live(w, "undisturbed", 0, "")
			require.NotZero(t, points)
			for _, what := range everyFault {
				for at := 1; at <= points; at++ {
					s.live(w, fmt.Sprintf("f%d-%c%c", at, what[0], what[5]), at, what)
				}
			}
			w.noKey()
		})
	}
}

func (s certScenario) live(w *certWorld, name string, at int, what fault) int {
	t := w.t
	c := s.before(w, name)
	w.faults.arm(at, what)
	s.under(w, c)
	w.faults.disarm()
	about := fmt.Sprintf("%s, %s at %d of %v", name, what, at, w.faults.names)
	c = w.record(c.ID)
	require.Equal(t, s.state, c.State, "%s: %s", about, c.Message)
	if s.events != nil {
		require.Equal(t, s.events, w.events(c.ID), about)
	}
	w.oneObject(c, s.gone, about)
	points := w.faults.count
	if !s.gone { // room for the next: a tenant has 100
		w.delete(c.ID)
		w.settle(c.ID)
	}
	return points
}

// oneObject checks that exactly the recorded object is left, or none.
func (w *certWorld) oneObject(c *cloud.Certificate, gone bool, about string) {
	w.t.Helper()
	objects := w.objects(c.ID)
	if gone {
		require.Empty(w.t, objects, about)
		return
	}
	require.Len(w.t, objects, 1, about)
	require.Equal(w.t, objects[0].Text("id"), c.Current.ProviderID, about)
	require.Empty(w.t, c.Former, about)
}

// The same lives while the provider itself misbehaves over HTTP.
func TestCertificatesSurviveTheProvider(t *testing.T) {
	t.Parallel()
	accept := func(then simulator.Then) simulator.Effect { return simulator.Effect{Accept: true, Then: &then} }
	effects := map[string]simulator.Effect{
		"accepted, then dropped": accept(simulator.Then{Drop: true}),
		"accepted, then 502":     accept(simulator.Then{Status: http.StatusBadGateway}),
		"502":                    {Status: http.StatusBadGateway},
		"429":                    {Status: http.StatusTooManyRequests, Headers: map[string]string{"Retry-After": "7"}},
		"shown late":             {InvisibleFor: simulator.Duration(70 * time.Second)},
	}
	for name, s := range certScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, effect := range effects {
				for _, on := range []string{http.MethodPost, http.MethodDelete, http.MethodGet} {
					if effect.InvisibleFor > 0 && on != http.MethodPost {
						continue
					}
					w := newCertWorld(t)
					c := s.before(w, "one")
					w.fault(on, "/v2/certificates/**", 2, effect)
					w.fault(on, "/v2/certificates", 2, effect)
					s.under(w, c)
					about := what + " on " + on
					c = w.record(c.ID)
					require.Equal(t, s.state, c.State, "%s: %s", about, c.Message)
					w.oneObject(c, s.gone, about)
					require.NoError(t, w.sim.ClearFaults(context.Background()))
					w.noKey()
				}
			}
		})
	}
}
