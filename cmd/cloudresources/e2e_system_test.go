//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	platformfile "github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

const (
	// patience bounds every wait. It is far beyond what is waited for, so that
	// only a wait without end reaches it, also on a busy machine.
	patience = 90 * time.Second
	lookGap  = 200 * time.Millisecond
)

// The periods of the systems under test.
const (
	converge = 200 * time.Millisecond
	refresh  = 3 * time.Second
	settle   = 2 * time.Second
)

// allowance is how many requests an hour the simulated provider takes from an
// account.
const allowance = 5_000_000

// system is a whole deployment: a database, a Temporal namespace, a simulated
// provider, and api and worker as processes of their own.
type system struct {
	dir, namespace string
	// address is where its parts reach Temporal.
	address  string
	db       *pgtest.DB
	sim      simulator.Control
	temporal client.Client
	// base is the API's URL.
	base    string
	api     *platform.Running
	worker  *platform.Running
	answers answerLog

	mu     sync.Mutex
	worlds []*world

	partsMu sync.Mutex
	parts   []*platform.Running
}

// answerLog keeps what the API answered, for the search for secrets.
type answerLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *answerLog) add(body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(body)
	l.text.WriteByte('\n')
}

// prepare makes all of a system but its processes. address is where its parts
// shall reach Temporal; "" is the server itself.
func prepare(t *testing.T, address string) *system {
	t.Helper()
	server := temporalServer(t)
	if address == "" {
		address = server
	}
	s := &system{dir: t.TempDir(), address: address, db: pgtest.New(t)}
	settings := simulator.DefaultSettings()
	settings.ProvisionTime, settings.UpdateTime, settings.DeleteTime = every(300*time.Millisecond), every(300*time.Millisecond), every(300*time.Millisecond)
	settings.BackupAfter, settings.OverlapTime = every(time.Millisecond), every(5*time.Millisecond)
	settings.PerHour, settings.PerMinute, settings.CDNPerTenSeconds = allowance, allowance/20, allowance
	sim, err := simulator.New(simulator.Options{Settings: &settings})
	require.NoError(t, err)
	provider := httptest.NewServer(sim)
	t.Cleanup(func() {
		require.NoError(t, sim.Close())
		provider.CloseClientConnections()
		provider.Close()
	})
	s.sim = simulator.Control{URL: provider.URL}
	_, err = postgres.LoadKeyset(s.keyset(), true)
	require.NoError(t, err)
	s.namespace, s.temporal = newNamespace(t, server)
	s.apply(t)
	t.Cleanup(func() {
		s.stop()
		s.checkLogs(t)
	})
	return s
}

// start is a system that works.
func start(t *testing.T, env ...string) *system {
	t.Helper()
	s := prepare(t, "")
	s.startWorker(t, env...)
	s.startAPI(t, env...)
	s.healthy(t)
	return s
}

// newNamespace registers a namespace of Temporal, since task queues have the
// same names in every system.
func newNamespace(t *testing.T, address string) (string, client.Client) {
	t.Helper()
	name := "e2e-" + strings.ToLower(rand.Text()[:12])
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: name, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx := context.Background()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err, "registering a namespace at %s", address)
	t.Cleanup(func() {
		_, err := c.OperatorService().DeleteNamespace(ctx, &operatorservice.DeleteNamespaceRequest{Namespace: name})
		if err != nil {
			t.Logf("the namespace %s stays: %v", name, err)
		}
	})
	return name, c
}

func (s *system) keyset() string { return filepath.Join(s.dir, "keyset.json") }

// apply puts the worlds there are in force.
func (s *system) apply(t testing.TB) {
	t.Helper()
	file, err := platformfile.Load(s.writeFile(t))
	require.NoError(t, err)
	keys, err := postgres.LoadKeyset(s.keyset(), false)
	require.NoError(t, err)
	store, err := postgres.Open(context.Background(), s.db.URL, postgres.WithKeyset(keys), postgres.WithMaxConns(2))
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Apply(context.Background(), file, postgres.ApplyOptions{})
	require.NoError(t, err)
}

// writeFile writes the platform file of the worlds there are.
func (s *system) writeFile(t testing.TB) string {
	t.Helper()
	file := object{"development": true, "deployment": "e2e", "tenants": []object{{"id": "root"}}}
	for _, w := range s.worlds {
		w.declare(file)
	}
	raw, err := json.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(s.dir, "platform.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

// environment is that of a part.
func (s *system) environment(more ...string) []string {
	env := os.Environ()
	for _, prefix := range []string{"TEMPORAL_", "TEST_", "DATABASE_URL=", "SECRETS_KEYSET=", "API_ADDR=", "METRICS_ADDR=",
		"CONVERGE_INTERVAL=", "REFRESH_INTERVAL=", "SETTLE_WINDOW=", "LOG_LEVEL="} {
		env = platform.WithoutPrefix(env, prefix)
	}
	return append(append(env, asProgram+"=1", "DATABASE_URL="+s.db.URL, "SECRETS_KEYSET="+s.keyset(),
		"TEMPORAL_ADDRESS="+s.address, "TEMPORAL_NAMESPACE="+s.namespace, "API_ADDR=127.0.0.1:0", "METRICS_ADDR=127.0.0.1:0",
		"CONVERGE_INTERVAL="+converge.String(), "REFRESH_INTERVAL="+refresh.String(), "SETTLE_WINDOW="+settle.String(),
		"LOG_LEVEL=info"), more...)
}

func (s *system) logPath(name string) string { return filepath.Join(s.dir, name+".log") }

// process starts a sub-command; its log goes by the name. It is stopped with
// the system, after what the tests' worlds still have to do.
func (s *system) process(t *testing.T, name string, args []string, env ...string) *platform.Running {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	running, err := platform.Process{
		Name: name, Path: self, Args: args, Env: s.environment(env...), LogPath: s.logPath(name), Grace: 25 * time.Second,
	}.Start()
	require.NoError(t, err)
	s.partsMu.Lock()
	defer s.partsMu.Unlock()
	s.parts = append(s.parts, running)
	return running
}

func (s *system) stop() {
	var all sync.WaitGroup
	for _, running := range s.parts {
		all.Go(running.Stop)
	}
	all.Wait()
}

func (s *system) startWorker(t *testing.T, env ...string) {
	t.Helper()
	s.worker = s.process(t, "worker", []string{"worker"}, env...)
}

// startAPI starts an API and sends all calls from now on to it.
func (s *system) startAPI(t *testing.T, env ...string) {
	t.Helper()
	s.api, s.base = s.anotherAPI(t, "api", env...)
}

// anotherAPI starts an API with a log of its own and returns its URL.
func (s *system) anotherAPI(t *testing.T, name string, env ...string) (*platform.Running, string) {
	t.Helper()
	before := len(s.log(name))
	running := s.process(t, name, []string{"api"}, env...)
	addr := ""
	s.wait(t, name+" to listen", func() bool {
		for line := range strings.Lines(s.log(name)[before:]) {
			var entry struct{ Msg, Addr string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "api listens" {
				addr = entry.Addr
			}
		}
		return addr != "" || ended(running)
	})
	require.NotEmpty(t, addr, "%s ended:\n%s", name, platform.Tail(s.logPath(name), 20))
	return running, "http://" + addr
}

func ended(r *platform.Running) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// kill ends a part as a crash would.
func kill(t *testing.T, r *platform.Running) {
	t.Helper()
	require.NoError(t, syscall.Kill(-r.PID(), syscall.SIGKILL))
	<-r.Done()
}

func (s *system) log(name string) string {
	raw, err := os.ReadFile(s.logPath(name))
	if err != nil {
		return ""
	}
	return string(raw)
}

// healthy waits until the API says that everything is there.
func (s *system) healthy(t *testing.T) {
	t.Helper()
	s.wait(t, "the system to be healthy", func() bool {
		res, err := http.Get(s.base + "/healthz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// wait returns when the condition holds.
func (s *system) wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !eventually(condition) {
		require.FailNow(t, "waited in vain for "+what, "the worker's trouble:\n%s", s.trouble())
	}
}

// eventually tells whether the condition came to hold.
func eventually(condition func() bool) bool {
	tick := time.NewTicker(lookGap)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if condition() {
			return true
		}
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
}

// trouble is the end of what the worker warned of.
func (s *system) trouble() string {
	var out []string
	for line := range strings.Lines(s.log("worker")) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			out = append(out, line)
		}
	}
	return strings.Join(out[max(0, len(out)-10):], "")
}

// checkLogs finds what no test asks about: races and bugs that were survived.
func (s *system) checkLogs(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(s.dir, "*.log"))
	require.NoError(t, err)
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") || strings.Contains(line, `"level":"ERROR"`) {
				t.Errorf("%s: %s", filepath.Base(path), line)
			}
		}
	}
}
