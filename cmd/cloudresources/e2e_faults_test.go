//go:build unix

package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// createFault is a way in which the provider treats the create of a cluster.
type createFault struct {
	name   string
	effect simulator.Effect
	// times is how often it acts; 0 means until the test takes it back, after
	// the resource has shown the state and message.
	times   int
	state   cloud.State
	message string
	told    []string
	// posts are the creates in the provider's ledger; 0 means any number.
	posts int
}

var onItsWay = []string{"created", "ready"}

var createFaults = []createFault{
	{
		name: "403", effect: answers403("You are not authorized to perform this operation"),
		state: cloud.StateProvisioning, message: "does not answer for us", told: onItsWay,
	},
	{
		name: "412", effect: simulator.Effect{Busy: http.StatusPreconditionFailed},
		state: cloud.StateProvisioning, message: "another operation is in progress", told: onItsWay,
	},
	{
		name: "422", effect: simulator.Effect{Status: 422, Body: object{"id": "unprocessable_entity", "message": "size is sold out in nyc3"}},
		state: cloud.StateError, message: "size is sold out in nyc3", told: []string{"created", "failed", "ready"},
	},
	{
		name: "429", effect: simulator.Effect{Status: 429, Headers: map[string]string{"retry-after": "2"}, Body: object{"id": "too_many_requests", "message": "API Rate limit exceeded."}},
		times: 1, told: onItsWay, posts: 2,
	},
	// Its outcome is unknown, so the second create waits for the settle window.
	{name: "500", effect: simulator.Effect{Status: 500}, times: 1, told: onItsWay, posts: 2},
	{name: "Garbage", effect: simulator.Effect{Status: 200, Body: "<html><h1>It works!</h1>"}, times: 1, told: onItsWay, posts: 2},
	// What was accepted is found again: one create, whatever became of its answer.
	{name: "502AfterAccepting", effect: simulator.Effect{Accept: true, Then: &simulator.Then{Status: 502}}, times: 1, told: onItsWay, posts: 1},
	{name: "DropAfterAccepting", effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}, times: 1, told: onItsWay, posts: 1},
	{name: "InvisibleForAWhile", effect: simulator.Effect{InvisibleFor: every(time.Second)}, times: 1, told: onItsWay, posts: 1},
	{
		name:   "DropAndInvisible",
		effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}, InvisibleFor: every(time.Second)},
		times:  1, told: onItsWay, posts: 1,
	},
}

func answers403(message string) simulator.Effect {
	return simulator.Effect{Status: 403, Body: object{"id": "forbidden", "message": message}}
}

// testCreateFaults: whatever the provider answers to a create, the resource
// gets there by itself, says meanwhile what it waits for, and exists once.
func testCreateFaults(t *testing.T, w *world) {
	for _, c := range createFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := w.world(t)
			fault := simulator.Fault{Method: "POST", Path: "/v2/databases", Effect: c.effect}
			if c.times > 0 {
				fault.Times = times(c.times)
			}
			undo := w.fault(t, fault)
			r := w.acme.create(t, w.poolOwn, pg, "main", pgSpec())
			if c.times == 0 {
				v := w.acme.until(t, r.ID, c.message, func(v cloud.View) bool { return v.State == c.state && v.Message != "" })
				require.Contains(t, v.Message, c.message)
				undo()
			}
			v := w.acme.ready(t, r.ID)
			require.Empty(t, v.Message)
			require.Equal(t, c.told, w.acme.told(t, r.ID))
			made := w.objects(t, w.ownToken, "database")
			require.Len(t, made, 1)
			require.Equal(t, v.ProviderID, made[0].Text("id"))
			posts := w.asked(t, w.ownToken, "POST", "/v2/databases")
			if c.posts > 0 {
				require.Len(t, posts, c.posts)
			}
			if c.posts == 2 {
				require.GreaterOrEqual(t, posts[1].At.Sub(posts[0].At), settle-50*time.Millisecond, "the pause, or the settle window")
			}
		})
	}
}

// testAccountTrouble: a refused token and a locked account are trouble of the
// account (D8): nothing is lost, nothing fails, and work resumes by itself.
func testAccountTrouble(t *testing.T, w *world) {
	lock := func(t *testing.T, w *world, status, message string) {
		t.Helper()
		require.NoError(t, w.sim.SetAccount(context.Background(), w.ownToken, object{"status": status, "statusMessage": message}))
	}
	for name, trouble := range map[string]func(t *testing.T, w *world) (over func()){
		"TokenRefused": func(t *testing.T, w *world) func() {
			return w.fault(t, simulator.Fault{Method: "*", Path: "/v2/**", Effect: simulator.Effect{Status: 401, Body: "Unable to authenticate you"}})
		},
		"AccountLocked": func(t *testing.T, w *world) func() {
			lock(t, w, "locked", "unpaid")
			return func() { lock(t, w, "active", "") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.world(t)
			p := w.acme
			rest := p.create(t, w.poolOwn, volume, "rest", volumeSpec())
			changing := p.create(t, w.poolOwn, volume, "changing", volumeSpec())
			doomed := p.create(t, w.poolOwn, volume, "doomed", volumeSpec())
			p.ready(t, rest.ID)
			p.ready(t, changing.ID)
			p.ready(t, doomed.ID)

			over := trouble(t, w)
			made := p.create(t, w.poolOwn, volume, "new", volumeSpec())
			p.update(t, changing.ID, object{"size_gigabytes": 20})
			p.delete(t, doomed.ID)
			for id, state := range map[string]cloud.State{made.ID: cloud.StateProvisioning, changing.ID: cloud.StateUpdating, doomed.ID: cloud.StateDeleting} {
				v := p.until(t, id, "a message", func(v cloud.View) bool { return v.Message != "" })
				if state != cloud.StateProvisioning || v.State != cloud.StatePending { // a create may not even have been tried
					require.Equal(t, state, v.State)
				}
				require.Contains(t, v.Message, "the provider account does not answer for us")
			}
			require.True(t, pgtest.Value[bool](w.db, "SELECT unreachable_since IS NOT NULL FROM provider_accounts WHERE id = $1", w.own))
			require.Equal(t, cloud.StateReady, p.get(t, rest.ID).State, "nothing is declared gone")

			over()
			p.ready(t, made.ID)
			p.until(t, changing.ID, "the new size", func(v cloud.View) bool {
				return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 20
			})
			p.reaches(t, doomed.ID, cloud.StateDeleted)
			p.until(t, rest.ID, "no message", func(v cloud.View) bool { return v.State == cloud.StateReady && v.Message == "" })
			w.wait(t, "the account to be trusted again", func() bool {
				return pgtest.Value[bool](w.db, "SELECT unreachable_since IS NULL FROM provider_accounts WHERE id = $1", w.own)
			})
			require.Equal(t, []string{"created", "ready"}, p.told(t, rest.ID))
			require.Equal(t, []string{"created", "ready"}, p.told(t, made.ID))
			require.Equal(t, []string{"created", "ready", "updating", "updated"}, p.told(t, changing.ID))
			require.Equal(t, []string{"created", "ready", "deleting", "deleted"}, p.told(t, doomed.ID))
		})
	}
}

// testLaterFaults: what may go wrong after the create.
func testLaterFaults(t *testing.T, w *world) {
	p := w.acme
	c := p.create(t, w.poolOwn, pg, "main", pgSpec())
	p.ready(t, c.ID)

	// A change whose answer is lost is made once.
	w.fault(t, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/resize", Times: times(1), Effect: simulator.Effect{Accept: true, Then: &simulator.Then{Drop: true}}})
	p.update(t, c.ID, object{"size": "db-s-1vcpu-2gb"})
	p.ready(t, c.ID)
	require.Len(t, w.asked(t, w.ownToken, "PUT", "/v2/databases/*/resize"), 1)

	// A refused change names the field and the provider's words, keeps the old
	// spec running, and is tried again.
	undo := w.fault(t, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/resize", Effect: simulator.Effect{Status: 422, Body: object{"id": "unprocessable_entity", "message": "no such flavour"}}})
	p.update(t, c.ID, object{"size": "db-s-2vcpu-4gb"})
	v := p.reaches(t, c.ID, cloud.StateError)
	require.Contains(t, v.Message, "spec.size")
	require.Contains(t, v.Message, "no such flavour")
	require.Regexp(t, `\(request [0-9a-f-]{36}\)`, v.Message, "the provider's own id of the request")
	undo()
	p.ready(t, c.ID)
	require.Equal(t, "db-s-2vcpu-4gb", w.objects(t, w.ownToken, "database")[0].Text("size"))

	// Looks that fail for a while change nothing that is at rest.
	told := p.told(t, c.ID)
	undo = w.fault(t, simulator.Fault{Method: "GET", Path: "/v2/databases", Effect: simulator.Effect{Status: 503, Body: "<html>busy</html>"}})
	before := len(w.asked(t, w.ownToken, "GET", "/v2/databases"))
	w.wait(t, "two sweeps that fail", func() bool { return len(w.asked(t, w.ownToken, "GET", "/v2/databases")) > before+2 })
	require.Equal(t, cloud.StateReady, p.get(t, c.ID).State)
	undo()
	require.Equal(t, told, p.told(t, c.ID))
	require.Equal(t, []string{"created", "ready", "updating", "updated", "updating", "failed", "updated"}, told)

	// A delete whose answer is lost ends once the object is gone.
	w.fault(t, simulator.Fault{Method: "DELETE", Path: "/v2/databases/*", Times: times(1), Effect: simulator.Effect{Status: 500}})
	p.delete(t, c.ID)
	p.reaches(t, c.ID, cloud.StateDeleted)
	require.Empty(t, w.objects(t, w.ownToken, "database"))
}

// testFailsAtTheProvider: accepted, and then it fails there for good.
func testFailsAtTheProvider(t *testing.T, w *world) {
	p := w.acme
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: times(1), Effect: simulator.Effect{Fail: "no capacity left"}})
	c := p.create(t, w.poolOwn, pg, "main", pgSpec())
	v := p.reaches(t, c.ID, cloud.StateError)
	require.NotEmpty(t, v.Message)
	require.NotEmpty(t, v.ProviderID, "accepted, so it is ours to delete")
	before := len(w.asked(t, w.ownToken, "GET", "/v2/databases/*"))
	w.wait(t, "another look", func() bool { return len(w.asked(t, w.ownToken, "GET", "/v2/databases/*")) > before })
	require.Equal(t, []string{"created", "failed"}, p.told(t, c.ID), "told once")
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/databases"), 1, "nothing is started again by itself")
	p.delete(t, c.ID)
	p.reaches(t, c.ID, cloud.StateDeleted)
	require.Empty(t, w.objects(t, w.ownToken, "database"))
}
