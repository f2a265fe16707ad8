package activities_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/cloud/quorum/daemon"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

const (
	trustDomain = "test.example"
	wipe        = "host.wipe"
)

// batchWorld is a database, a real daemon over HTTP with its own policy and
// journal, and the gateway's activities between them, on one clock.
type batchWorld struct {
	t      *testing.T
	db     *pgtest.DB
	clock  *clock
	keys   map[string]quorum.KeyFile
	pki    platform.PKI
	rules  *intent.BatchService
	acts   *activities.BatchActivities
	wire   *wire
	url    string
	kill   *killer
	daemon struct {
		mu  sync.Mutex
		ran map[string]int
		do  func(job daemon.Job) (string, error)
	}
}

// newBatchWorld has three approvers, threshold two.
func newBatchWorld(t *testing.T) *batchWorld {
	w := &batchWorld{t: t, clock: newClock(), keys: map[string]quorum.KeyFile{}, pki: platform.PKI{TrustDomain: trustDomain, Threshold: 2}, kill: &killer{}}
	w.db = pgtest.New(t, postgres.WithClock(w.clock.Now)).World()
	for _, id := range []string{"ann", "ben", "cid"} {
		k, err := quorum.NewKeyFile(id, trustDomain, rand.Reader)
		require.NoError(t, err)
		w.keys[id] = k
		w.pki.Approvers = append(w.pki.Approvers, k.Approver())
	}
	w.publish(&w.pki)
	w.wire = &wire{kill: w.kill}
	w.rules = &intent.BatchService{Store: w.db.Store, Now: w.clock.Now}
	w.acts = &activities.BatchActivities{
		Records: killedRecords{w.db.Store, w.kill}, Intents: w.rules, Client: quorum.Client{HTTP: &http.Client{Transport: w.wire}},
		Now: w.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	w.daemon.ran = map[string]int{}
	w.url = w.startDaemon(w.pki.Policy())
	w.declare(wipe, w.url)
	return w
}

func (w *batchWorld) publish(pki *platform.PKI) {
	w.t.Helper()
	w.db.Deployment("test", map[string]any{"pki": pki})
}

const daemonToken = "daemon-token"

func (w *batchWorld) startDaemon(policy quorum.Policy) (url string) {
	w.t.Helper()
	journal, err := daemon.OpenJournal(filepath.Join(w.t.TempDir(), "journal"), w.clock.Now)
	require.NoError(w.t, err)
	d, err := daemon.New(daemon.Options{
		Policy: policy, Executors: map[string]daemon.Executor{wipe: daemon.ExecutorFunc(w.execute)},
		Journal: journal, Log: slog.New(slog.DiscardHandler), Now: w.clock.Now,
	})
	require.NoError(w.t, err)
	hash := sha256.Sum256([]byte(daemonToken))
	server := httptest.NewServer(d.Handler(&hash))
	w.t.Cleanup(func() {
		d.Close(context.Background())
		server.Close()
		require.NoError(w.t, journal.Close())
	})
	return server.URL
}

func (w *batchWorld) execute(_ context.Context, job daemon.Job) (string, error) {
	w.daemon.mu.Lock()
	w.daemon.ran[job.Leaf.Subject+" "+string(job.Payload)]++
	do := w.daemon.do
	w.daemon.mu.Unlock()
	if do != nil {
		return do(job)
	}
	return "wiped", nil
}

// declare says where commands of a kind go, as the platform file does.
func (w *batchWorld) declare(kind, url string) {
	w.t.Helper()
	w.db.Exec("DELETE FROM daemons")
	w.db.Exec("INSERT INTO daemons (position, kinds, url, token_source) VALUES (0, $1, $2, $3)", []string{kind}, url, `{"value": "`+daemonToken+`"}`)
}

// create makes a batch of n commands, each bound to its payload.
func (w *batchWorld) create(key string, n int) *cloud.Batch {
	w.t.Helper()
	in := intent.NewBatch{TenantID: pgtest.Acme, IdempotencyKey: key, Description: "wipe what is left"}
	for i := range n {
		in.Commands = append(in.Commands, intent.BatchCommand{Subject: fmt.Sprintf("host-%d", i), Kind: wipe, Payload: fmt.Appendf(nil, "disk-%d", i)})
	}
	b, err := w.rules.Create(context.Background(), alice, in)
	require.NoError(w.t, err)
	return b
}

// approve signs off line and hands the signatures in.
func (w *batchWorld) approve(b *cloud.Batch, ids ...string) {
	w.t.Helper()
	file, _, err := w.db.BatchFile(context.Background(), b.ID)
	require.NoError(w.t, err)
	statement, _, err := file.Open()
	require.NoError(w.t, err)
	for _, id := range ids {
		signed, err := w.keys[id].Sign(statement)
		require.NoError(w.t, err)
		_, err = w.rules.Approve(context.Background(), pgtest.Acme, b.ID, "acme/alice", signed)
		require.NoError(w.t, err)
	}
}

func (w *batchWorld) batch(id string) *cloud.Batch {
	w.t.Helper()
	b, err := w.db.Batch(context.Background(), pgtest.Acme, id)
	require.NoError(w.t, err)
	return b
}

// states counts a batch's commands.
func (w *batchWorld) states(id string) map[cloud.CommandState]int {
	w.t.Helper()
	counts, err := w.db.CommandCounts(context.Background(), id)
	require.NoError(w.t, err)
	return counts
}

func (w *batchWorld) commands(id string) []cloud.BatchCommand {
	w.t.Helper()
	list, err := w.db.Commands(context.Background(), id)
	require.NoError(w.t, err)
	return list
}

// next does what the workflow does next, once. A gateway that died is
// succeeded by another when its heartbeats are missed.
func (w *batchWorld) next(id string) cloud.Next {
	w.t.Helper()
	ctx := context.Background()
	next, err := w.acts.LoadBatch(ctx, id)
	switch {
	case err != nil:
	case next.Step == cloud.StepDispatch:
		next, err = w.acts.DispatchCommands(ctx, id)
	case next.Step == cloud.StepExpire:
		next, err = w.acts.ExpireBatch(ctx, id)
	}
	if w.kill.dead() {
		w.kill.revive()
		w.clock.Advance(20 * time.Second)
		return next
	}
	require.NoError(w.t, err)
	return next
}

// settle goes on until the batch ends or only approvals are missing.
func (w *batchWorld) settle(id string) cloud.BatchState {
	w.t.Helper()
	for range 500 {
		next := w.next(id)
		b := w.batch(id)
		switch {
		case b.State.Final(), b.State == cloud.BatchAwaiting:
			return b.State
		case next.Step == cloud.StepRetry:
			w.clock.Advance(max(next.RetryAt.Sub(w.clock.Now()), time.Second))
		}
	}
	w.t.Fatalf("batch %s does not come to rest", id)
	return ""
}

// ranOnce checks that each of n commands ran exactly once, with its payload.
func (w *batchWorld) ranOnce(n int, about string) {
	w.t.Helper()
	w.daemon.mu.Lock()
	defer w.daemon.mu.Unlock()
	want := map[string]int{}
	for i := range n {
		want[fmt.Sprintf("host-%d disk-%d", i, i)] = 1
	}
	require.Equal(w.t, want, w.daemon.ran, about)
}

// trail lists a batch's audit trail: actor, action, and the command's index.
func (w *batchWorld) trail(id string) []string {
	w.t.Helper()
	lines, err := w.db.AuditTrail(context.Background(), postgres.AuditFilter{Tenant: pgtest.Acme, Subject: id}, 0, 10000)
	require.NoError(w.t, err)
	out := []string{}
	for _, l := range lines {
		text := l.Actor + " " + l.Action
		if i, ok := l.Detail["index"]; ok {
			text += fmt.Sprint(" ", i)
		}
		out = append(out, text)
	}
	return out
}

// killer ends a gateway at one of its points: every claim, send and record. A
// dead one has no effect any more, whatever its code still does.
type killer struct {
	mu     sync.Mutex
	at     int
	after  bool
	count  int
	isDead bool
}

var errDead = errors.New("the gateway was killed")

func (k *killer) arm(at int, after bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.after, k.count, k.isDead = at, after, 0, false
}

func (k *killer) dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.isDead
}

func (k *killer) revive() { k.arm(0, false) }

// pass does what a point does unless the gateway is dead or dies here.
func (k *killer) pass(do func() error) error {
	k.mu.Lock()
	k.count++
	dies := k.at > 0 && k.count == k.at
	skip := k.isDead || dies && !k.after
	k.isDead = k.isDead || dies
	k.mu.Unlock()
	if skip {
		return errDead
	}
	if err := do(); err != nil {
		return err
	}
	if dies {
		return errDead
	}
	return nil
}

type killedRecords struct {
	*postgres.Store
	kill *killer
}

func (r killedRecords) ClaimCommand(ctx context.Context, batch string, c cloud.BatchCommand, sent map[string]any) (ok bool, err error) {
	err = r.kill.pass(func() (err error) { ok, err = r.Store.ClaimCommand(ctx, batch, c, sent); return err })
	return ok, err
}

func (r killedRecords) SaveCommand(ctx context.Context, batch string, c cloud.BatchCommand) error {
	return r.kill.pass(func() error { return r.Store.SaveCommand(ctx, batch, c) })
}

func (r killedRecords) ApproveDeletion(ctx context.Context, batch, resource string) error {
	return r.kill.pass(func() error { return r.Store.ApproveDeletion(ctx, batch, resource) })
}

func (r killedRecords) ChangeBatch(ctx context.Context, id, actor string, fn func(b *cloud.Batch) *cloud.BatchChange) error {
	return r.kill.pass(func() error { return r.Store.ChangeBatch(ctx, id, actor, fn) })
}

// daemonJob is what a daemon runs.
type daemonJob = daemon.Job

// wire is the network between gateway and daemon, in the hands of somebody who
// may change, lose or repeat what passes.
type wire struct {
	kill *killer
	// meddle changes a body; lose drops answers, twice sends everything twice.
	meddle func(body []byte) []byte
	lose   int
	twice  bool
	mu     sync.Mutex
	sent   int
}

func (x *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var resp *http.Response
	err := x.kill.pass(func() (err error) {
		resp, err = x.carry(r) //nolint:bodyclose // the caller's to close, or closed below
		return err
	})
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

func (x *wire) carry(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.sent++
	lost := x.sent <= x.lose
	x.mu.Unlock()
	if x.meddle != nil {
		body = x.meddle(body)
	}
	do := func() (*http.Response, error) {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return http.DefaultTransport.RoundTrip(again)
	}
	resp, err := do()
	if err == nil && x.twice {
		_ = resp.Body.Close()
		resp, err = do()
	}
	if err == nil && lost {
		_ = resp.Body.Close()
		return nil, errors.New("connection reset")
	}
	return resp, err
}
