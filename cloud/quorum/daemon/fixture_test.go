package daemon

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

const (
	testDomain = "daemon.example"
	testKind   = "resource.delete"
)

// testClock is a time that tests move by hand.
type testClock struct{ millis atomic.Int64 }

func newClock() *testClock {
	c := &testClock{}
	c.millis.Store(1_800_000_000_000)
	return c
}

func (c *testClock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }
func (c *testClock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

func keyOf(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func approver(id string, b byte) quorum.Approver {
	return quorum.Approver{ID: id, PublicKey: quorum.PublicKey(keyOf(b).Public().(ed25519.PublicKey))}
}

func testPolicy() quorum.Policy {
	return quorum.Policy{TrustDomain: testDomain, Threshold: 2, Approvers: []quorum.Approver{
		approver("alice", 1), approver("bob", 2), approver("carol", 3),
	}}
}

func payloadOf(i int) []byte { return fmt.Appendf(nil, "payload %d", i) }

// commands makes an approved batch of n. The last one is not bound to its
// payload.
func commands(t testing.TB, batch string, n int, expires time.Time) []quorum.Command {
	t.Helper()
	leaves := make([]quorum.Leaf, n)
	for i := range leaves {
		leaves[i] = quorum.Leaf{Subject: fmt.Sprintf("crs_%d", i), Kind: testKind}
		if i < n-1 {
			leaves[i] = leaves[i].Bind(payloadOf(i))
		}
	}
	tree, err := quorum.NewTree(leaves)
	require.NoError(t, err)
	st := quorum.Statement{TrustDomain: testDomain, BatchID: batch, Root: tree.Root(), LeafCount: tree.Size(), ExpiresAt: expires.UnixMilli()}
	out := make([]quorum.Command, n)
	for i := range out {
		out[i], err = tree.Command(st, []quorum.Approval{approve(t, st, "alice", 1), approve(t, st, "bob", 2)}, uint64(i), payloadOf(i))
		require.NoError(t, err)
	}
	return out
}

func approve(t testing.TB, st quorum.Statement, id string, key byte) quorum.Approval {
	t.Helper()
	a, err := quorum.Sign(keyOf(key), id, st)
	require.NoError(t, err)
	return a
}

// recorder is an Executor that counts executions by subject.
type recorder struct {
	mu    sync.Mutex
	count map[string]int
	do    func(context.Context, Job) (string, error)
}

func (r *recorder) Execute(ctx context.Context, job Job) (string, error) {
	r.mu.Lock()
	if r.count == nil {
		r.count = map[string]int{}
	}
	r.count[job.Leaf.Subject]++
	r.mu.Unlock()
	if r.do != nil {
		return r.do(ctx, job)
	}
	return "done " + string(job.Payload), nil
}

func (r *recorder) times(subject string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[subject]
}

// rig is a daemon over a journal in a temporary folder.
type rig struct {
	*Daemon
	clock *testClock
	exec  *recorder
	path  string
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{clock: newClock(), exec: &recorder{}, path: filepath.Join(t.TempDir(), "journal")}
	r.open(t, change...)
	return r
}

// open starts a daemon over the rig's journal and stops it with the test.
func (r *rig) open(t testing.TB, change ...func(*Options)) {
	t.Helper()
	journal, err := OpenJournal(r.path, r.clock.now)
	require.NoError(t, err)
	o := Options{Policy: testPolicy(), Executors: map[string]Executor{testKind: r.exec}, Journal: journal, Log: slog.New(slog.DiscardHandler), Now: r.clock.now}
	for _, c := range change {
		c(&o)
	}
	r.Daemon, err = New(o)
	require.NoError(t, err)
	d := r.Daemon
	t.Cleanup(func() { stop(d) })
}

// stop ends a daemon and its journal at once.
func stop(d *Daemon) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d.Close(ctx)
	_ = d.journal.Close()
}

func (r *rig) batch(t testing.TB, n int) []quorum.Command {
	return commands(t, "cmb_1", n, r.clock.now().Add(time.Hour))
}
