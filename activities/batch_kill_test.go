package activities_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// What the gateway process of the test below is told by.
const (
	gatewayBatch    = "TEST_GATEWAY_BATCH"
	gatewayDatabase = "TEST_GATEWAY_DATABASE"
)

// TestGatewayProcess is a gateway in a process of its own when it is told a
// batch, and nothing otherwise.
func TestGatewayProcess(t *testing.T) {
	batch := os.Getenv(gatewayBatch)
	if batch == "" {
		return
	}
	store, err := postgres.Open(context.Background(), os.Getenv(gatewayDatabase), postgres.WithClock(newClock().Now))
	require.NoError(t, err)
	defer store.Close()
	acts := &activities.BatchActivities{Records: store, Client: quorum.Client{HTTP: &http.Client{}}, Now: newClock().Now, Log: slog.New(slog.DiscardHandler)}
	_, err = acts.DispatchCommands(context.Background(), batch)
	require.NoError(t, err)
}

// A gateway's process is killed while commands are on their way: four are
// answered, the others run at the daemon or were never sent. Another gateway
// finishes the batch; the daemon ran each once.
func TestAnotherGatewayFinishesWhatAKilledOneBegan(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t)
	started, release := make(chan string, 20), make(chan struct{})
	w.daemon.do = func(job daemonJob) (string, error) {
		started <- job.Leaf.Subject
		if job.Index >= 4 {
			<-release
		}
		return "wiped", nil
	}
	b := w.create("one", 10)
	w.approve(b, "ann", "ben")
	cmd := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^TestGatewayProcess$")
	cmd.Env = append(os.Environ(), gatewayBatch+"="+b.ID, gatewayDatabase+"="+w.db.URL)
	require.NoError(t, cmd.Start())
	for range 9 { // four that are answered, five of the eight that may be in flight
		select {
		case <-started:
		case <-time.After(20 * time.Second):
			t.Fatal("the gateway does not send")
		}
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	close(release)
	require.Equal(t, 10, w.states(b.ID)[cloud.CommandSucceeded]+w.states(b.ID)[cloud.CommandSent]+w.states(b.ID)[cloud.CommandWaiting])
	require.NotEqual(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 10}, w.states(b.ID), "it was killed half-way")
	require.Equal(t, cloud.BatchCompleted, w.settle(b.ID))
	require.Equal(t, map[cloud.CommandState]int{cloud.CommandSucceeded: 10}, w.states(b.ID))
	w.ranOnce(10, "")
}
