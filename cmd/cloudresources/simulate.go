package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// defaultSimulatorAddr is where the simulated provider listens.
const defaultSimulatorAddr = "127.0.0.1:8090"

func newSimulateCommand() *cobra.Command {
	var addr, state string
	var perHour, perMinute int
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run a server that behaves like the DigitalOcean API, for development and tests",
		Long: `Run a server that behaves like the DigitalOcean API. Each bearer token is an
account of its own. GET /_simulator/objects shows what exists; the other calls
below /_simulator inject faults and change how long things take.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			settings := simulator.DefaultSettings()
			if perHour > 0 {
				settings.PerHour = perHour
			}
			if perMinute > 0 {
				settings.PerMinute = perMinute
			}
			return simulate(cmd.Context(), addr, simulator.Options{StatePath: state, Settings: &settings, Log: log})
		},
	}
	cmd.Flags().StringVar(&addr, "addr", setting("SIMULATOR_ADDR", defaultSimulatorAddr), "address to listen on (SIMULATOR_ADDR)")
	cmd.Flags().StringVar(&state, "state", os.Getenv("SIMULATOR_STATE"), "file that keeps the objects over restarts; empty keeps none (SIMULATOR_STATE)")
	cmd.Flags().IntVar(&perHour, "per-hour", number("SIMULATOR_PER_HOUR"), "requests that a token may make in an hour; 0 is the provider's own limit (SIMULATOR_PER_HOUR)")
	cmd.Flags().IntVar(&perMinute, "per-minute", number("SIMULATOR_PER_MINUTE"), "requests that a token may make in a minute; 0 is the provider's own limit (SIMULATOR_PER_MINUTE)")
	return cmd
}

// number is a count in an environment variable; 0 where there is none.
func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return 0
	}
	return n
}

// simulate serves until the context ends, then saves what exists.
func simulate(ctx context.Context, addr string, opts simulator.Options) (err error) {
	if opts.StatePath != "" {
		if err := os.MkdirAll(filepath.Dir(opts.StatePath), 0o755); err != nil {
			return err
		}
	}
	sim, err := simulator.New(opts)
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	defer func() { err = errors.Join(err, sim.Close()) }()

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	opts.Log.Info("simulator listens", "addr", listener.Addr().String(), "state", opts.StatePath)
	server := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Requests held up by a fault's delay may be long: they are cut off.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(limited) != nil {
		return server.Close()
	}
	return nil
}

// setting is an environment variable or, where it is unset or empty, a default.
func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
