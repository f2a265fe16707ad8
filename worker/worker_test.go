package worker_test

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
	"github.com/better-compute/cloud-resources/worker"
	"github.com/better-compute/cloud-resources/workflows"
)

var record = flag.Bool("record", false, "write the histories of these lives to workflows/testdata, for the replay tests")

// keep writes a history for the replay tests, when asked to.
func (s *site) keep(id, name string) {
	s.t.Helper()
	if *record {
		require.NoError(s.t, os.WriteFile(filepath.Join("..", "workflows", "testdata", name+".json"), s.historyJSON(id), 0o644))
	}
}

// lifeEvents is the most that a whole life may take: create with several
// looks, rest, an update, rest, delete with several looks. Each of the three is
// 11 or 12 events, however often the provider is looked at; a doubled signal
// may add a few.
const lifeEvents = 46

func TestWholeLife(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	s.cloud.SetBusy(4)
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	s.keep(r.ID, "created")
	atRest := len(s.history(r.ID).GetEvents())
	s.change(r.ID, "update", func(r *cloud.Resource, now time.Time) *cloud.Change {
		return r.WantSpec(cloud.Spec{"size": "s2"}, now)
	})
	s.until("the update is applied", func() bool { return !s.record(r.ID).Pending() })
	s.rests(r.ID)
	s.keep(r.ID, "updated")
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.becomes(r.ID, cloud.StateDeleted)
	s.closes(r.ID)
	s.keep(r.ID, "deleted")
	total := len(s.history(r.ID).GetEvents())
	t.Logf("events: %d at first rest, %d in all", atRest, total)
	require.LessOrEqual(t, total, lifeEvents)
	require.Empty(t, s.cloud.Objects())
	s.noCanary(r.ID)
	info := s.describe(r.ID).GetWorkflowExecutionInfo()
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus())
}

func TestSearchAttributesTellWhatItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	require.NoError(t, worker.EnsureSearchAttributes(t.Context(), s.client, s.namespace))
	require.NoError(t, worker.EnsureSearchAttributes(t.Context(), s.client, s.namespace), "twice is as good as once")
	s.start()
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	fields := s.describe(r.ID).GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	for name, want := range map[string]string{
		"TenantId": pgtest.Acme, "PoolId": pgtest.PoolAcme, "ProviderAccountId": pgtest.AccountAcme, "ResourceKind": fakecloud.KindCluster, "ResourceState": "ready",
	} {
		require.Equal(t, `"`+want+`"`, string(fields[name].GetData()), name)
	}
}

func TestDeleteInterruptsAWait(t *testing.T) {
	t.Parallel()
	slow := quick
	slow.Converge = time.Hour
	s := newSite(t, slow)
	s.start()
	s.cloud.SetBusy(2)
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.until("it waits for its next look", func() bool { return s.record(r.ID).ProviderID != "" && len(s.pendingRetries(r.ID)) == 1 })
	s.cloud.SetBusy(0)
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.until("it is being deleted", func() bool { return s.record(r.ID).Intent == cloud.IntentDelete && len(s.cloud.Writes()) == 2 })
}

// pendingRetries are activities that wait for their next attempt.
func (s *site) pendingRetries(id string) (waiting []string) {
	for _, a := range s.describe(id).GetPendingActivities() {
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && a.GetAttempt() > 1 {
			waiting = append(waiting, a.GetActivityType().GetName())
		}
	}
	return waiting
}

func TestTerminatedIsHealed(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	s.cloud.SetBusy(1000)
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.until("it is on its way", func() bool { return s.record(r.ID).ProviderID != "" })
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), r.ID, "", "an operator's mistake"))
	s.cloud.Edit(s.record(r.ID).ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Looks, s.cloud.BusyLooks = 0, 1; return o })
	s.becomes(r.ID, cloud.StateReady)
	require.Equal(t, map[string]int{cloud.ProviderName(r.ID): 1}, s.cloud.Made())
	s.rests(r.ID)
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), r.ID, "", "again, at rest"))
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.becomes(r.ID, cloud.StateDeleted)
}

func TestSignalsByHand(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	signal := func(name string, payload any) {
		require.NoError(t, s.client.SignalWorkflow(t.Context(), r.ID, "", name, payload))
	}
	for _, nonsense := range []any{
		nil, "text", 17, []string{"a"}, map[string]any{"spec": "none"}, map[string]any{"spec": map[string]any{"size": 17}},
		map[string]any{"sepc": map[string]any{}}, []byte{0, 255}, map[string]any{"generation": "x"}, map[string]any{"generation": 1e300},
	} {
		signal(workflows.SignalUpdate, nonsense)
	}
	signal("polish", nil)
	signal(workflows.SignalUpdate, map[string]any{"spec": map[string]any{"size": "s2"}})
	s.until("the one good signal is obeyed", func() bool { return s.record(r.ID).Spec.String("size") == "s2" && !s.record(r.ID).Pending() })
	s.rests(r.ID)
	require.Equal(t, int64(2), s.record(r.ID).Version, "the others changed nothing")
	events, err := s.db.ListEvents(t.Context(), pgtest.Acme, 0, 100)
	require.NoError(t, err)
	require.Equal(t, cloud.ActorOperator, events[2].Actor)
	status := s.status(r.ID)
	require.NotEmpty(t, status.LastRefused)
	require.Equal(t, []string{"polish"}, status.UnknownSignals)
	signal(workflows.SignalRefresh, nil)
	s.until("the refresh is done", func() bool { return !s.record(r.ID).RefreshWanted && s.record(r.ID).State == cloud.StateReady })
	require.NoError(t, s.client.CancelWorkflow(t.Context(), r.ID, ""))
	s.until("the cancel is noted", func() bool { return s.status(r.ID).CancelIgnored })
	s.keep(r.ID, "by-hand")
	signal(workflows.SignalDelete, nil)
	s.becomes(r.ID, cloud.StateDeleted)
	s.closes(r.ID)
	s.noCanary(r.ID)
}

func (s *site) status(id string) workflows.Status {
	s.t.Helper()
	v, err := s.client.QueryWorkflow(s.t.Context(), id, "", workflows.QueryStatus)
	require.NoError(s.t, err)
	var status workflows.Status
	require.NoError(s.t, v.Get(&status))
	return status
}

func TestErrorRetriesByItselfAndOnRequest(t *testing.T) {
	t.Parallel()
	slow := quick
	slow.Refresh = time.Hour
	s := newSite(t, slow)
	s.start()
	refusal := &cloud.ProviderError{Class: cloud.ClassRefused, Op: "create", Status: 422, Message: "no such size"}
	s.cloud.SetHook(func(_ context.Context, c fakecloud.Call, do func() error) error {
		if c.Verb == "create" {
			return refusal
		}
		return do()
	})
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(r.ID, cloud.StateError)
	s.until("it waits", func() bool { return s.status(r.ID).Step == cloud.StepRetry })
	s.keep(r.ID, "failed")
	s.cloud.SetHook(nil)
	require.NoError(t, s.client.SignalWorkflow(t.Context(), r.ID, "", workflows.SignalRefresh, nil))
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	s.keep(r.ID, "recovered")
}

func TestAdoptAndRelease(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	id := s.cloud.Put(fakecloud.Object{Kind: fakecloud.KindCluster, Name: "legacy", Spec: cloud.Spec{"size": "s7"}})
	n := pgtest.Request(fakecloud.Manifest(fakecloud.KindCluster), "one")
	n.Resource.Adopted, n.Resource.ProviderID = true, id
	r := s.db.Create(n)
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	s.keep(r.ID, "adopted")
	s.change(r.ID, "release", (*cloud.Resource).WantRelease)
	s.becomes(r.ID, cloud.StateReleased)
	s.closes(r.ID)
	s.keep(r.ID, "released")
	require.Empty(t, s.cloud.Objects()[0].Owner)
	s.noCanary(r.ID)
}

func TestChildrenGoFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	parent := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.becomes(parent.ID, cloud.StateReady)
	users := []*cloud.Resource{}
	for _, name := range []string{"a", "b", "c"} {
		users = append(users, s.create(fakecloud.KindUser, name, cloud.Spec{"name": name}, pgtest.In(parent)))
	}
	for _, u := range users {
		s.becomes(u.ID, cloud.StateReady)
	}
	for _, made := range s.cloud.Made() {
		require.Equal(t, 1, made, "changes under one parent are serialised (D17)")
	}
	s.deleteTree(parent.ID)
	s.becomes(parent.ID, cloud.StateDeleted)
	for _, u := range users {
		require.False(t, s.record(u.ID).EndedAt.After(s.record(parent.ID).EndedAt))
	}
	s.closes(parent.ID)
	s.keep(parent.ID, "parent")
	require.Empty(t, s.cloud.Objects())
}

func TestSweepRepairsDrift(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	ready := s.becomes(r.ID, cloud.StateReady)
	s.cloud.Edit(ready.ProviderID, func(o *fakecloud.Object) *fakecloud.Object { o.Spec["size"] = "s9"; return o })
	s.until("the wanted size is back", func() bool {
		return s.cloud.Objects()[0].Spec["size"] == "s1" && s.record(r.ID).State == cloud.StateReady
	})
	account := workflows.AccountWorkflowID(pgtest.AccountAcme)
	before := len(s.history(account).GetEvents())
	require.NoError(t, s.client.SignalWorkflow(t.Context(), account, "", workflows.SignalSweep, nil))
	s.until("it sweeps on", func() bool { return len(s.history(account).GetEvents()) > before })
	s.keep(account, "account")
	s.noCanary(r.ID, account)
}

func TestTemporalMayBeDownAtFirst(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := listener.Addr().String()
	require.NoError(t, listener.Close())
	dead, err := client.NewLazyClient(client.Options{HostPort: closed})
	require.NoError(t, err)
	t.Cleanup(dead.Close)
	s := newSite(t, quick)
	o := s.options()
	o.Client = dead
	w, err := worker.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	s.until("it says what it waits for", func() bool { return len(s.log.String()) > 0 })
	require.Error(t, workflows.Polled(t.Context(), dead))
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, cloud.StatePending, s.record(r.ID).State)
	s.start()
	s.becomes(r.ID, cloud.StateReady)
	require.NoError(t, workflows.Polled(t.Context(), s.client))
}

func TestDeliverIsHarmlessToRepeat(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	require.NoError(t, worker.EnsureSearchAttributes(t.Context(), s.client, s.namespace))
	r := s.create(fakecloud.KindCluster, "one", cloud.Spec{"size": "s1"})
	nudger := workflows.Nudger{Client: s.client}
	m := activities.Message{WorkflowID: r.ID, WorkflowType: workflows.TypeResource, Signal: workflows.SignalUpdate, Generation: 1,
		Attributes: map[string]string{"TenantId": pgtest.Acme, "Unknown": "left out"}}
	for range 5 {
		require.NoError(t, nudger.Deliver(t.Context(), m))
	}
	require.Error(t, nudger.Deliver(t.Context(), activities.Message{WorkflowID: r.ID, WorkflowType: "Nothing"}))
	s.start()
	s.becomes(r.ID, cloud.StateReady)
	s.rests(r.ID)
	require.Equal(t, map[string]int{cloud.ProviderName(r.ID): 1}, s.cloud.Made())
	s.change(r.ID, "delete", (*cloud.Resource).WantDelete)
	s.becomes(r.ID, cloud.StateDeleted)
	s.closes(r.ID)
	require.NoError(t, nudger.Deliver(t.Context(), m), "a nudge that comes too late")
	s.closes(r.ID)
	require.Equal(t, cloud.StateDeleted, s.record(r.ID).State)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := worker.New(worker.Options{})
	require.Error(t, err)
}

func TestMetricsHandler(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	for _, h := range []client.MetricsHandler{worker.NewMetricsHandler(reg), worker.NewMetricsHandler(reg)} {
		h = h.WithTags(map[string]string{"namespace": "n", "operation": "o", "unheard_of": "x"})
		h.Counter("temporal_request").Inc(2)
		h.WithTags(map[string]string{"operation": "p"}).Counter("temporal_request").Inc(1)
		h.Gauge("temporal_num_pollers").Update(3)
		h.Timer("temporal_request_latency").Record(time.Second)
		h.Gauge("temporal_request").Update(1) // one name, another type
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 3)
	for _, f := range families {
		if f.GetName() == "temporal_request" {
			require.Len(t, f.GetMetric(), 2)
			require.InDelta(t, 4, f.GetMetric()[0].GetCounter().GetValue(), 0)
		}
	}
}
