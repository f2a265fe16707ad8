package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

const (
	// mcpVersion is the release of the MCP server that is known to work.
	mcpVersion = "1.0.70"
	// account is the token, and so the account, that everything happens in.
	account = "dop_v1_clients"
)

// options are the flags.
type options struct {
	mcp, dir, provider string
	terraform          bool
}

func main() {
	var o options
	flag.StringVar(&o.mcp, "mcp", "", "the MCP server's program; empty installs it with npm")
	flag.StringVar(&o.dir, "dir", ".dev/clients", "where clients are installed")
	flag.BoolVar(&o.terraform, "terraform", false, "run Terraform's provider instead, from the registry")
	flag.StringVar(&o.provider, "provider", "", "a folder that holds a terraform-provider-digitalocean; implies -terraform")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	url, stop, err := serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var failed int
	if o.terraform || o.provider != "" {
		tf, err := newTerraform(url, o.provider, o.dir)
		if err != nil {
			return err
		}
		failed = live(ctx, nil, tf.lives(), cycle, out)
	} else {
		client, err := newClient(ctx, o, url)
		if err != nil {
			return err
		}
		defer client.close()
		fmt.Fprintf(out, "client: %s\n\n", client.name)
		failed = live(ctx, client, lives, stages, out)
	}
	if failed > 0 {
		return fmt.Errorf("%d lives failed", failed)
	}
	return nil
}

// newClient starts the MCP server, installed where none is named.
func newClient(ctx context.Context, o options, url string) (*session, error) {
	if o.mcp == "" {
		installed, err := install(ctx, o.dir)
		if err != nil {
			return nil, err
		}
		o.mcp = installed
	}
	return start(ctx, o.mcp, url)
}

// install puts the npm package into a folder, unless it is there, and returns the
// program for this machine.
func install(ctx context.Context, dir string) (string, error) {
	arch := runtime.GOARCH
	program := filepath.Join(dir, "node_modules/@digitalocean/mcp/dist", "mcp-digitalocean-"+runtime.GOOS+"-"+arch)
	version := filepath.Join(dir, "mcp-"+mcpVersion)
	if _, err := os.Stat(version); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// The package needs no script of its own to be run.
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		"@digitalocean/mcp@"+mcpVersion)
	if said, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install @digitalocean/mcp: %w\n%s", err, said)
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("the package has no program for this machine: %w", err)
	}
	return program, os.WriteFile(version, nil, 0o600)
}

// serve runs a simulator in which everything is quick, on a free port.
func serve(ctx context.Context) (url string, stop func(), err error) {
	settings := simulator.DefaultSettings()
	settings.ProvisionTime = simulator.Duration(300 * time.Millisecond)
	settings.UpdateTime = simulator.Duration(200 * time.Millisecond)
	settings.DeleteTime = simulator.Duration(200 * time.Millisecond)
	settings.PerMinute, settings.PerHour, settings.CDNPerTenSeconds = 1_000_000, 1_000_000, 1_000_000
	sim, err := simulator.New(simulator.Options{Settings: &settings})
	if err != nil {
		return "", nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close, below
	return "http://" + listener.Addr().String(), func() {
		_ = sim.Close() // keeps no state
		_ = server.Close()
	}, nil
}
