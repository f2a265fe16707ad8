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
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
)

// defaultSimulatorAddr is where the simulated provider listens.
const defaultSimulatorAddr = "127.0.0.1:8090"

func newSimulateCommand() *cobra.Command {
	var addr, state string
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run a server that behaves like the DigitalOcean API, for development and tests",
		Long: `Run a server that behaves like the DigitalOcean API. Each bearer token is an
account of its own. GET /_simulator/objects shows what exists; the other calls
below /_simulator inject faults and change how long things take.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return simulate(cmd.Context(), addr, state, log)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", setting("SIMULATOR_ADDR", defaultSimulatorAddr), "address to listen on (SIMULATOR_ADDR)")
	cmd.Flags().StringVar(&state, "state", os.Getenv("SIMULATOR_STATE"), "file that keeps the objects over restarts; empty keeps none (SIMULATOR_STATE)")
	return cmd
}

// simulate serves until the context ends, then saves what exists.
func simulate(ctx context.Context, addr, state string, log *slog.Logger) (err error) {
	if state != "" {
		if err := os.MkdirAll(filepath.Dir(state), 0o755); err != nil {
			return err
		}
	}
	sim, err := simulator.New(simulator.Options{StatePath: state, Log: log})
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	defer func() { err = errors.Join(err, sim.Close()) }()

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	log.Info("simulator listens", "addr", listener.Addr().String(), "state", state)
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
