//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/workflows"
)

// payload is one as a careless operator or another program may send it.
func payload(encoding, data string) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)})
}

func (s *system) signal(t testing.TB, id, name string, arg any) {
	t.Helper()
	require.NoError(t, s.temporal.SignalWorkflow(context.Background(), id, "", name, arg))
}

func (s *system) status(t testing.TB, id string) (st workflows.Status) {
	t.Helper()
	answer, err := s.temporal.QueryWorkflow(context.Background(), id, "", workflows.QueryStatus)
	require.NoError(t, err)
	require.NoError(t, answer.Get(&st))
	return st
}

// history is that of the newest run.
func (s *system) history(t testing.TB, id string) (events []*historypb.HistoryEvent) {
	t.Helper()
	iter := s.temporal.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		e, err := iter.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// describe is what the server says of a run; "" is the newest.
func (s *system) describe(id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := s.temporal.DescribeWorkflow(context.Background(), id, run)
	if err != nil {
		return nil, err
	}
	return d.RawResponse, nil
}

// workflow tells, for the message of a failed test, what a workflow does.
func (s *system) workflow(id string) string {
	d, err := s.describe(id, "")
	if err != nil {
		return err.Error()
	}
	info := d.GetWorkflowExecutionInfo()
	out := fmt.Sprintf("its workflow is %s since %s, %d events, pending task %v\n", info.GetStatus(), info.GetStartTime().AsTime(), info.GetHistoryLength(), d.GetPendingWorkflowTask())
	for _, a := range d.GetPendingActivities() {
		out += fmt.Sprintln("pending:", a)
	}
	return out
}

// activities are how many the newest run has completed.
func (s *system) activities(t testing.TB, id string) (n int) {
	t.Helper()
	for _, e := range s.history(t, id) {
		if e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
			n++
		}
	}
	return n
}

func (s *system) found(t testing.TB, query string) (ids []string) {
	t.Helper()
	answer, err := s.temporal.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace, Query: query})
	require.NoError(t, err)
	for _, e := range answer.GetExecutions() {
		ids = append(ids, e.GetExecution().GetWorkflowId())
	}
	return ids
}

// atRest waits until the workflow says that it waits for nothing but signals.
func (s *system) atRest(t testing.TB, id string) {
	t.Helper()
	s.wait(t, "the workflow to rest", func() bool { return s.status(t, id).Step == cloud.StepRest })
}

// testHandSentSignals: what an operator may do from the Web UI or the command
// line, and that nothing sent by hand can harm.
func testHandSentSignals(t *testing.T, w *world) {
	p := w.acme
	v := p.create(t, w.poolOwn, volume, "disk", volumeSpec())
	v = p.ready(t, v.ID)
	w.atRest(t, v.ID)

	looks := len(w.asked(t, w.ownToken, "GET", "/v2/volumes/*"))
	w.signal(t, v.ID, "refresh", nil)
	w.wait(t, "a look", func() bool { return len(w.asked(t, w.ownToken, "GET", "/v2/volumes/*")) > looks })

	w.signal(t, v.ID, "update", object{"spec": object{"size_gigabytes": 20}, "description": "by hand"})
	v = p.until(t, v.ID, "the new size", func(v cloud.View) bool { return v.State == cloud.StateReady && v.Version == 2 })
	require.EqualValues(t, 20, numberOf(t, v.Outputs["size_gigabytes"]))
	require.Equal(t, "by hand", v.Description)

	for name, arg := range map[string]any{
		"a word":            "grow",
		"a number":          7,
		"nothing":           nil,
		"no JSON":           payload("binary/plain", "\x00\xff{"),
		"JSON that is none": payload("json/plain", `{"spec":`),
		"a spec of text":    object{"spec": "big"},
		"a size of text":    object{"spec": object{"size_gigabytes": "big"}},
		"an unknown field":  object{"colour": "red"},
		"what cannot be":    object{"spec": object{"region": "ams3"}},
		"too much":          object{"spec": object{"description": strings.Repeat("a", 70000)}},
		"another version":   object{"description": "late", "expectedVersion": 1},
	} {
		before := w.activities(t, v.ID)
		w.signal(t, v.ID, "update", arg)
		w.wait(t, name+" to be looked at, and refused", func() bool {
			return w.activities(t, v.ID) > before && strings.Contains(w.status(t, v.ID).LastRefused, "update at ")
		})
	}
	w.signal(t, v.ID, "explode", nil)
	w.wait(t, "the unknown signal to show", func() bool { return len(w.status(t, v.ID).UnknownSignals) > 0 })
	require.NoError(t, w.temporal.CancelWorkflow(context.Background(), v.ID, ""))
	w.wait(t, "the cancel to be noted", func() bool { return w.status(t, v.ID).CancelIgnored })
	require.Equal(t, v.Version, p.get(t, v.ID).Version, "none of it changed anything")
	require.Len(t, w.asked(t, w.ownToken, "POST", "/v2/volumes/*/actions"), 1)

	w.signal(t, v.ID, "delete", "please")
	p.reaches(t, v.ID, cloud.StateDeleted)
	require.Empty(t, w.objects(t, w.ownToken, "volume"))
	require.Equal(t, []string{"created", "ready", "updating", "updated", "deleting", "deleted"}, p.told(t, v.ID))
	for _, e := range p.events(t, v.ID) {
		switch e.Type {
		case "cloud.resource.updating", "cloud.resource.deleting":
			require.Equal(t, "operator", e.Data["actor"], e.Type)
		}
	}
}

// testWorkflowAtRest: what is at rest has no timer and no activity, is found by
// its attributes, and a whole life is a short history.
func testWorkflowAtRest(t *testing.T, w *world) {
	p := w.acme
	v := p.create(t, w.poolFree, volume, "disk", volumeSpec())
	p.ready(t, v.ID)
	w.atRest(t, v.ID)
	d, err := w.describe(v.ID, "")
	require.NoError(t, err)
	require.Empty(t, d.GetPendingActivities())
	require.Empty(t, d.GetPendingChildren())
	open := map[int64]bool{}
	for _, e := range w.history(t, v.ID) {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			open[e.GetEventId()] = true
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			delete(open, e.GetTimerFiredEventAttributes().GetStartedEventId())
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			delete(open, e.GetTimerCanceledEventAttributes().GetStartedEventId())
		}
	}
	require.Empty(t, open, "no timer")

	all := "WorkflowType = 'CloudResource' AND TenantId = '" + p.tenant + "' AND PoolId = '" + w.poolFree + "' AND ProviderAccountId = '" + w.own + "' AND ResourceKind = 'do.volume' AND ResourceState = "
	w.wait(t, "the state in the list of workflows", func() bool { return len(w.found(t, all+"'ready'")) == 1 })
	require.Equal(t, []string{v.ID}, w.found(t, all+"'ready'"))
	require.Empty(t, w.found(t, all+"'error'"))

	p.update(t, v.ID, object{"size_gigabytes": 20})
	p.until(t, v.ID, "the new size", func(v cloud.View) bool {
		return v.State == cloud.StateReady && numberOf(t, v.Outputs["size_gigabytes"]) == 20
	})
	w.atRest(t, v.ID)
	p.delete(t, v.ID)
	p.reaches(t, v.ID, cloud.StateDeleted)
	w.wait(t, "the workflow to end", func() bool {
		d, err := w.describe(v.ID, "")
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	require.Less(t, len(w.history(t, v.ID)), 80, "events of a create, an update and a delete")
}

// testIdleCostsNothing: while nothing happens, the account's sweep asks for one
// list of each kind, and no workflow of a resource is woken.
func testIdleCostsNothing(t *testing.T, w *world) {
	p := w.acme
	var ids []string
	for _, name := range []string{"one", "two", "three"} {
		ids = append(ids, p.create(t, w.poolOwn, volume, name, volumeSpec()).ID)
	}
	ids = append(ids, p.create(t, w.poolOwn, pg, "main", pgSpec()).ID)
	before := map[string]int{}
	for _, id := range ids {
		p.ready(t, id)
		w.atRest(t, id)
	}
	sweeps := func() int { return len(w.asked(t, w.ownToken, "GET", "/v2/databases")) }
	first := sweeps()
	w.wait(t, "a sweep that finds all at rest", func() bool { return sweeps() > first+1 })
	for _, id := range ids {
		before[id] = len(w.history(t, id))
	}
	updated := p.list(t, nil)
	since := w.lastRequest(t)
	w.wait(t, "four sweeps", func() bool { return len(w.since(t, since, "/v2/databases")) >= 4 })
	for _, id := range ids {
		require.Len(t, w.history(t, id), before[id], "no workflow task")
	}
	require.Equal(t, updated, p.list(t, nil), "nothing is written")
	databases, volumes := len(w.since(t, since, "/v2/databases")), len(w.since(t, since, "/v2/volumes"))
	require.InDelta(t, databases, volumes, 1, "one list of each kind in each sweep")
	all, err := w.sim.Requests(context.Background(), w.ownToken, since)
	require.NoError(t, err)
	for _, r := range all {
		require.Contains(t, []string{"/v2/databases", "/v2/volumes"}, r.Path, "nothing else is asked")
	}
}

// lastRequest is the newest of the account's requests in the ledger.
func (w *world) lastRequest(t testing.TB) int64 {
	t.Helper()
	all, err := w.sim.Requests(context.Background(), w.ownToken, 0)
	require.NoError(t, err)
	return all[len(all)-1].Seq
}

// since are the account's GETs of a path after another request.
func (w *world) since(t testing.TB, seq int64, path string) (n []int64) {
	t.Helper()
	for _, r := range w.asked(t, w.ownToken, "GET", path) {
		if r.Seq > seq {
			n = append(n, r.Seq)
		}
	}
	return n
}
