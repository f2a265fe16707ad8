//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

func newDevCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run the whole system in the foreground, on this machine alone",
		Long: `Run Postgres, a Temporal server with its Web UI, the simulated provider, the worker
and the API as processes of their own, with the development platform. State lasts:
the next start goes on where this one stopped. Ctrl-C ends all of it.

Ports: API_ADDR, SIMULATOR_ADDR, METRICS_ADDR (the worker's), TEMPORAL_PORT,
TEMPORAL_UI_PORT, POSTGRES_PORT. DATABASE_URL and the other TEMPORAL_ variables are
not read: these servers are its own.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dev(cmd.Context(), dir, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".dev", "folder of all state, logs and process ids")
	return cmd
}

// dev runs the system until the context ends, which is no error.
func dev(ctx context.Context, dir string, out io.Writer) error {
	say := sayTo(out)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil {
		return err
	}
	unlock, err := platform.Lock(filepath.Join(dir, "dev.lock"))
	if err != nil {
		return fmt.Errorf("%s is in use (%w): stop that one, or use another --dir", dir, err)
	}
	defer unlock()
	layout, err := devLayout(dir)
	if err != nil {
		return err
	}
	local, err := newLocal(layout, say)
	if err != nil {
		return err
	}
	local.stopLeftovers()
	if err := local.choosePorts(); err != nil {
		return err
	}
	defer func() {
		say("stopping")
		local.stop()
		say("stopped; the state is kept in %s", layout.dir)
	}()
	err = local.start(ctx)
	if err == nil {
		greet(out, local)
		<-ctx.Done()
	}
	if ctx.Err() != nil { // Ctrl-C, which may have cut the start short
		return nil
	}
	return err
}

// sayTo prints progress lines with the time of day.
func sayTo(out io.Writer) platform.Say {
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
	}
}

// devTokens are the tokens of the development platform, for people to paste.
var devTokens = [][2]string{
	{"dev-acme", "acme/alice, everything of acme"},
	{"dev-acme-data", "acme/dora, databases only"},
	{"dev-acme-reader", "acme/rita, reads only"},
	{"dev-globex", "globex/bob, everything of globex"},
	{"dev-root", "root/admin, everything"},
}

// demoPool is acme's pool on acme's own account.
const demoPool = "pool_0000000000000000000000acme"

// greet prints what a developer needs next.
func greet(out io.Writer, local *local) {
	layout := local.layout
	temporal := "temporal --env-file temporal-dev.yaml --env dev"
	if layout.temporalPort != layout.profilePort {
		temporal = "temporal --address " + local.temporal.Address()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nReady.\n\n")
	for _, line := range [][2]string{
		{"API", layout.apiURL()},
		{"API documentation", layout.apiURL() + "/docs"},
		{"Temporal Web UI", fmt.Sprintf("http://127.0.0.1:%d", layout.uiPort)},
		{"Temporal command", temporal + " workflow list"},
		{"Simulated provider", layout.simulatorURL() + "/_simulator/objects"},
		{"Metrics", layout.apiURL() + "/metrics, http://" + layout.metricsAddr + "/metrics"},
		{"Postgres", local.postgres.URL(databaseName)},
		{"Logs, process ids", filepath.Join(layout.dir, "log") + ", " + filepath.Join(layout.dir, "*.pid")},
	} {
		fmt.Fprintf(&b, "  %-20s %s\n", line[0], line[1])
	}
	fmt.Fprintf(&b, "\nTokens\n")
	for _, token := range devTokens {
		fmt.Fprintf(&b, "  %-20s %s\n", token[0], token[1])
	}
	fmt.Fprintf(&b, `
Try
  curl -s %s/api/compute/cloudResources/create -H 'Authorization: Bearer dev-acme' \
    -H 'Content-Type: application/json' -d '{"tenantId":"acme","poolId":"%s",
    "kind":"do.database.pg","name":"orders","idempotencyKey":"orders-1",
    "spec":{"region":"nyc3","size":"db-s-1vcpu-1gb","version":"16","num_nodes":1}}'

Ctrl-C stops everything.

`, layout.apiURL(), demoPool)
	_, _ = io.WriteString(out, b.String())
}
