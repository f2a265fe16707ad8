package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/contract"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
	"github.com/better-compute/cloud-resources/worker"
)

// quick are periods that a test can wait for.
var quick = cloud.Settings{Converge: 200 * time.Millisecond, Refresh: time.Second, Settle: 500 * time.Millisecond}

// patience bounds every wait for a condition. A busy machine needs a lot of it.
const patience = 90 * time.Second

// site is a worker on a real Temporal server and a real database, with a cloud
// in memory. The namespace is the test's own.
type site struct {
	t         *testing.T
	db        *pgtest.DB
	cloud     *fakecloud.Cloud
	client    client.Client
	namespace string
	settings  cloud.Settings
	log       *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newSite(t *testing.T, settings cloud.Settings) *site {
	t.Helper()
	address := os.Getenv("TEST_TEMPORAL_ADDRESS")
	if address == "" {
		t.Fatal("TEST_TEMPORAL_ADDRESS is not set: these tests need a Temporal development server; `make test` starts one")
	}
	s := &site{t: t, db: pgtest.New(t).World(), cloud: fakecloud.New(time.Now), settings: settings, log: &lockedBuffer{}}
	s.namespace = "test-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + fmt.Sprint(time.Now().UnixNano())
	options := client.Options{HostPort: address, Namespace: s.namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(s.log, nil)))}
	namespaces, err := client.NewNamespaceClient(options)
	require.NoError(t, err)
	t.Cleanup(namespaces.Close)
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: s.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	s.client, err = client.Dial(options)
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	return s
}

// options are those of a worker of the site.
func (s *site) options() worker.Options {
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	intents := &intent.Service{Store: s.db.Store, Validator: contract.New(), Accounts: s.cloud, SecretStore: s.db.HasSecretStore, Now: time.Now}
	return worker.Options{
		Client: s.client, Namespace: s.namespace, Settings: s.settings, Log: log, StopTimeout: 5 * time.Second,
		Resources: &activities.Activities{Records: s.db.Store, Accounts: s.cloud, Intents: intents, Settings: s.settings, Now: time.Now, Log: log},
		Sweeps:    &activities.Sweeps{Store: s.db.Store, Records: s.db.Store, Accounts: s.cloud, Settings: s.settings, Now: time.Now, Log: log},
		Webhooks:  &activities.WebhookActivities{Store: s.db.Store, Deployment: s.db.Store.Deployment, Now: time.Now, Log: log},
		Outbox:    s.db.Store, Billing: s.db.Store,
	}
}

// start runs a worker until the test ends or stop is called.
func (s *site) start() (stop func()) {
	s.t.Helper()
	w, err := worker.New(s.options())
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(s.t, <-ended)
	})
	s.t.Cleanup(stop)
	return stop
}

func (s *site) create(kind, name string, spec cloud.Spec, edits ...func(*intent.NewResource)) *cloud.Resource {
	s.t.Helper()
	edits = append([]func(*intent.NewResource){func(n *intent.NewResource) { n.Resource.Spec = spec }}, edits...)
	return s.db.Create(pgtest.Request(fakecloud.Manifest(kind), name, edits...))
}

func (s *site) change(id, signal string, fn func(r *cloud.Resource, now time.Time) *cloud.Change) {
	s.t.Helper()
	_, err := s.db.Change(s.t.Context(), pgtest.Acme, id, "acme/alice", signal,
		func(_ context.Context, _ intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return fn(r, time.Now()), nil
		})
	require.NoError(s.t, err)
}

func (s *site) record(id string) *cloud.Resource {
	s.t.Helper()
	r, _, err := s.db.Load(s.t.Context(), id)
	require.NoError(s.t, err)
	return r
}

// until waits for a condition.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-again.C:
		case <-late:
			s.t.Fatalf("not in time: %s\n%s", what, tail(s.log.String()))
		}
	}
}

func tail(text string) string { return text[max(0, len(text)-6000):] }

func (s *site) becomes(id string, state cloud.State) *cloud.Resource {
	s.t.Helper()
	s.until(fmt.Sprintf("%s is %s", id, state), func() bool { return s.record(id).State == state })
	return s.record(id)
}

// closes waits for the end of a workflow's run.
func (s *site) closes(id string) {
	s.t.Helper()
	s.until(id+" closes", func() bool {
		return s.describe(id).GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
}

func (s *site) describe(id string) *workflowservice.DescribeWorkflowExecutionResponse {
	s.t.Helper()
	d, err := s.client.DescribeWorkflow(s.t.Context(), id, "")
	require.NoError(s.t, err)
	return d.RawResponse
}

// rests waits until nothing of a workflow is on its way, and shows that it
// costs nothing: no activity, no task, and no timer without its end.
func (s *site) rests(id string) {
	s.t.Helper()
	s.until(id+" rests", func() bool {
		d := s.describe(id)
		return len(d.GetPendingActivities()) == 0 && d.GetPendingWorkflowTask() == nil
	})
	timers := 0
	for _, e := range s.history(id).GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			timers++
		case enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_CANCELED:
			timers--
		}
	}
	require.Zero(s.t, timers, "a resource at rest has no timer")
}

func (s *site) history(id string) *historypb.History {
	s.t.Helper()
	h := &historypb.History{}
	it := s.client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		require.NoError(s.t, err)
		h.Events = append(h.Events, e)
	}
	return h
}

func (s *site) historyJSON(id string) []byte {
	s.t.Helper()
	b, err := protojson.MarshalOptions{Indent: " "}.Marshal(s.history(id))
	require.NoError(s.t, err)
	return b
}

// noCanary searches every row, log line and history for secrets.
func (s *site) noCanary(ids ...string) {
	s.t.Helper()
	require.NotContains(s.t, s.db.Dump(), fakecloud.Canary)
	require.NotContains(s.t, s.log.String(), fakecloud.Canary)
	for _, id := range ids {
		for _, e := range s.history(id).GetEvents() {
			require.NotContains(s.t, e.String(), fakecloud.Canary)
		}
	}
}

func (s *site) deleteTree(id string) {
	s.t.Helper()
	_, err := s.db.Change(s.t.Context(), pgtest.Acme, id, "acme/alice", "delete",
		func(ctx context.Context, tx intent.Tx, r *cloud.Resource) (*cloud.Change, error) {
			return r.WantDelete(time.Now()), tx.DeleteTree(ctx, r.ID, "acme/alice")
		})
	require.NoError(s.t, err)
}
