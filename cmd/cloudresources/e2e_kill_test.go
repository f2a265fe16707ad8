//go:build unix

package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/workflows"
)

// TestWorkerKilledInTheMiddle kills the worker while a create, a change and a
// delete are on the wire, each of which the provider then carries out. With a
// new worker everything ends as it was meant, and no call is made twice.
func TestWorkerKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	s := start(t)
	w := s.world(t)
	p := w.acme
	changed := p.ready(t, p.create(t, w.poolOwn, pg, "changed", pgSpec()).ID)
	doomed := p.ready(t, p.create(t, w.poolOwn, volume, "doomed", volumeSpec()).ID)

	slow := simulator.Effect{Delay: every(4 * time.Second)}
	w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/databases", Times: times(1), Effect: slow})
	w.fault(t, simulator.Fault{Method: "PUT", Path: "/v2/databases/*/resize", Times: times(1), Effect: slow})
	w.fault(t, simulator.Fault{Method: "DELETE", Path: "/v2/volumes/*", Times: times(1), Effect: slow})
	made := p.create(t, w.poolOwn, pg, "made", pgSpec())
	p.update(t, changed.ID, object{"size": "db-s-1vcpu-2gb"})
	p.delete(t, doomed.ID)
	for id, activity := range map[string]string{
		made.ID: workflows.ActivityProvision, changed.ID: workflows.ActivityUpdate, doomed.ID: workflows.ActivityDelete,
	} {
		w.wait(t, activity+" to run", func() bool { return s.running(t, id, activity) })
	}
	w.wait(t, "the three calls to be on the wire", func() bool {
		faults, err := w.sim.Faults(context.Background())
		require.NoError(t, err)
		for _, f := range faults {
			if *f.Times > 0 {
				return false
			}
		}
		return true
	})
	kill(t, s.worker)

	// The API accepts work meanwhile; its health says that nobody does it.
	during := p.create(t, w.poolOwn, volume, "during", volumeSpec())
	require.Equal(t, cloud.StatePending, during.State)
	require.Equal(t, cloud.StateProvisioning, p.get(t, made.ID).State)
	w.wait(t, "the provider to carry out what was on the wire", func() bool {
		return len(w.asked(t, w.ownToken, "POST", "/v2/databases")) == 2 && len(w.asked(t, w.ownToken, "PUT", "/v2/databases/*/resize")) == 1 &&
			len(w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*")) == 1
	})

	// Two workers come instead of one.
	s.startWorker(t)
	s.process(t, "worker2", []string{"worker"})
	p.ready(t, made.ID)
	p.ready(t, during.ID)
	p.until(t, changed.ID, "the change", func(v cloud.View) bool { return v.State == cloud.StateReady })
	p.reaches(t, doomed.ID, cloud.StateDeleted)
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/databases"), 2, "one create for each cluster")
	require.Len(t, w.asked(t, w.ownToken, "PUT", "/v2/databases/*/resize"), 1)
	require.Len(t, w.asked(t, w.ownToken, "DELETE", "/v2/volumes/*"), 1)
	require.Len(t, w.objects(t, w.ownToken, "database"), 2)
	require.Len(t, w.objects(t, w.ownToken, "volume"), 1)
	require.Equal(t, []string{"created", "ready"}, p.told(t, made.ID))
	require.Equal(t, []string{"created", "ready", "updating", "updated"}, p.told(t, changed.ID))
	require.Equal(t, []string{"created", "ready", "deleting", "deleted"}, p.told(t, doomed.ID))
}

// running tells whether a worker has begun the activity of a workflow.
func (s *system) running(t testing.TB, id, activity string) bool {
	t.Helper()
	d, err := s.describe(id, "")
	if err != nil {
		return false // not started yet
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetActivityType().GetName() == activity && a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			return true
		}
	}
	return false
}

// TestTemporalDown pulls Temporal away: the API goes on accepting, and all of it
// is done when Temporal is back.
func TestTemporalDown(t *testing.T) {
	t.Parallel()
	line := newCable(t, temporalServer(t))
	s := prepare(t, line.addr)
	s.startWorker(t)
	s.startAPI(t)
	s.healthy(t)
	w := s.world(t)
	p := w.acme
	changed := p.ready(t, p.create(t, w.poolOwn, volume, "changed", volumeSpec()).ID)
	doomed := p.ready(t, p.create(t, w.poolOwn, volume, "doomed", volumeSpec()).ID)

	line.pull()
	began := time.Now()
	made := p.create(t, w.poolOwn, volume, "made", volumeSpec())
	require.Equal(t, cloud.StatePending, made.State)
	require.Equal(t, cloud.StateUpdating, p.update(t, changed.ID, object{"size_gigabytes": 20}).State)
	require.Equal(t, cloud.StateDeleting, p.delete(t, doomed.ID).State)
	require.Less(t, time.Since(began), 30*time.Second, "three calls, each with one short attempt to tell Temporal")
	res, err := http.Get(s.base + "/healthz")
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)

	line.plug(t)
	p.ready(t, made.ID)
	p.until(t, changed.ID, "the new size", func(v cloud.View) bool {
		return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 20
	})
	p.reaches(t, doomed.ID, cloud.StateDeleted)
	require.Len(t, w.objects(t, w.ownToken, "volume"), 2)
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/volumes"), 3)
	s.healthy(t)
}

// testAPIKilledBeforeTheSignal: an API that never reached Temporal answers, and
// is then killed; the worker's relay starts the work.
func testAPIKilledBeforeTheSignal(t *testing.T, w *world) {
	p := w.acme
	api, base := w.anotherAPI(t, "api-"+w.word, "TEMPORAL_ADDRESS=127.0.0.1:1")
	v := callAt[cloud.View](t, p, base, "cloudResources/create", p.wish(w.poolOwn, volume, "disk", volumeSpec()))
	require.Equal(t, cloud.StatePending, v.State)
	kill(t, api)
	p.ready(t, v.ID)
	require.Len(t, w.objects(t, w.ownToken, "volume"), 1)
}

// testTerminatedWorkflows: what somebody terminated comes back: at the next
// call, or by itself when its work is due.
func testTerminatedWorkflows(t *testing.T, w *world) {
	p := w.acme
	terminate := func(id string) {
		t.Helper()
		require.NoError(t, w.temporal.TerminateWorkflow(context.Background(), id, "", "a test"))
	}
	rest := p.ready(t, p.create(t, w.poolOwn, volume, "rest", volumeSpec()).ID)
	w.atRest(t, rest.ID)
	terminate(rest.ID)
	p.update(t, rest.ID, object{"size_gigabytes": 20})
	p.until(t, rest.ID, "the new size", func(v cloud.View) bool {
		return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 20
	})

	busy := w.fault(t, simulator.Fault{Method: "POST", Path: "/v2/databases", Effect: simulator.Effect{Busy: http.StatusPreconditionFailed}})
	due := p.create(t, w.poolOwn, pg, "due", pgSpec())
	w.wait(t, "a refused create", func() bool { return len(w.asked(t, w.ownToken, "POST", "/v2/databases")) > 0 })
	sweep := workflows.AccountWorkflowID(w.own)
	w.wait(t, "the account's sweep", func() bool { return len(w.found(t, "WorkflowId = '"+sweep+"' AND ExecutionStatus = 'Running'")) > 0 })
	terminate(due.ID)
	terminate(sweep)
	busy()
	p.ready(t, due.ID)
	require.Len(t, w.objects(t, w.ownToken, "database"), 1)
	// The account is swept again, too.
	w.console(t, "DELETE", "/v2/volumes/"+rest.ProviderID, nil)
	p.reaches(t, rest.ID, cloud.StateError)
}
