//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

// demoPatience is how long the demo may take once its tools are there.
const demoPatience = 3 * time.Minute

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Live one whole life of a database in front of you, then stop everything",
		Long: `Run the whole system on free ports in a temporary folder, create a database cluster
with a user over HTTP, show its states, outputs and password, change it, delete it,
and stop everything. Nothing stays but the built tools.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// demo fails when any step does, and when all of them take longer than
// demoPatience.
func demo(ctx context.Context, out io.Writer) (err error) {
	say := sayTo(out)
	if _, err := platform.FindTemporal(ctx, say, filepath.Join(".dev", "bin")); err != nil {
		return err
	}
	dir, err := demoFolder()
	if err != nil {
		return err
	}
	layout, err := demoLayout(dir)
	if err != nil {
		return err
	}
	local, err := newLocal(layout, say)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, demoPatience, fmt.Errorf("the demo took longer than %s", demoPatience))
	defer cancel()
	defer func() {
		say("stopping")
		local.stop()
		err = errors.Join(err, local.postgres.Remove(), os.RemoveAll(dir))
		if err == nil {
			say("everything is stopped and nothing is left")
		}
	}()
	say("starting the whole system in %s", dir)
	if err := local.start(limited); err != nil {
		return demoCause(limited, err)
	}
	say("ready; from here on everything goes over HTTP, as %s\n", "acme/alice")
	tenant := caller{base: layout.apiURL(), token: "dev-acme", client: &http.Client{Timeout: 30 * time.Second}}
	return demoCause(limited, newStory(tenant, out).tell(limited))
}

// demoCause names the time limit in the place of the calls it cut short.
func demoCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// demoFolder is a new folder that the user of Postgres can pass through.
func demoFolder() (string, error) {
	dir, err := os.MkdirTemp("", "cloudresources-demo-")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, 0o711), os.Mkdir(filepath.Join(dir, "log"), 0o755))
}
