package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/api/authz"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/worker"
	"github.com/better-compute/cloud-resources/workflows"
)

// stopTimeout bounds what running calls may still take after a stop.
const stopTimeout = 15 * time.Second

func newAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Serve the HTTP API",
		Long: `Serve the HTTP API. Any number of processes may serve it. Settings come from the
environment: DATABASE_URL, TEMPORAL_*, SECRETS_KEYSET, API_ADDR, LOG_LEVEL.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return runAPI(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
}

// runAPI serves until ctx ends, then lets running calls finish.
func runAPI(ctx context.Context, cfg config, stderr io.Writer) error {
	log := cfg.logger(stderr, "api")
	store, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer store.Close()
	reg := newRegistry()
	temporal, namespace, err := worker.Connect(log, reg)
	if err != nil {
		return err
	}
	defer temporal.Close()
	handler, err := newAPI(ctx, store, temporal, namespace, reg, log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.APIAddr)
	if err != nil {
		return fmt.Errorf("API_ADDR: %w", err)
	}
	log.Info("api listens", "addr", listener.Addr().String())
	return serve(ctx, listener, handler)
}

// newAPI is the API over the store, Temporal and the clouds.
func newAPI(ctx context.Context, store *postgres.Store, temporal client.Client, namespace string, reg *prometheus.Registry, log *slog.Logger) (http.Handler, error) {
	deployment, err := store.Deployment(ctx)
	if err != nil {
		return nil, fmt.Errorf("apply a platform file first: %w", err)
	}
	rules := newRules(store, newAccounts(store, log))
	rules.resources.Authorizer = authz.New(store)
	return api.New(api.Deps{
		Intents: rules.resources, Platform: store, Authorizer: rules.resources.Authorizer,
		Secrets: store, Events: store, Usage: store,
		Certificates: certificatePorts{rules.certificates, store}, Batches: batchPorts{rules.batches, store},
		Nudge:  nudger(store, temporal, log),
		Health: health(store, temporal, namespace), Source: "/cloud-resources/" + deployment,
		Registry: reg, Log: log, Now: time.Now,
	}), nil
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

// nudger delivers the outbox row of a workflow right after the commit that made
// it. What it cannot deliver stays for the relay.
func nudger(store *postgres.Store, c client.Client, log *slog.Logger) func(ctx context.Context, workflowID string) {
	deliver := workflows.Nudger{Client: c}
	return func(ctx context.Context, workflowID string) {
		m, done, err := store.ClaimOne(ctx, workflowID)
		if err != nil || m == nil {
			return
		}
		err = deliver.Deliver(ctx, *m)
		if err != nil {
			log.DebugContext(ctx, "signal left to the relay", "workflow", workflowID, "error", err)
		}
		if err := done(err == nil); err != nil {
			log.DebugContext(ctx, "outbox row left to the relay", "workflow", workflowID, "error", err)
		}
	}
}

// health asks for what calls need: the database, Temporal, and a worker that
// polls for both workflows and activities.
func health(store *postgres.Store, c client.Client, namespace string) []api.Check {
	return []api.Check{
		{Name: "postgres", Run: store.Ping},
		{Name: "temporal", Run: func(ctx context.Context) error {
			_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		}},
		{Name: "worker", Run: func(ctx context.Context) error {
			return errors.Join(
				polled(ctx, c, namespace, workflows.Queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW),
				polled(ctx, c, namespace, workflows.QueueProvider, enumspb.TASK_QUEUE_TYPE_ACTIVITY))
		}},
	}
}

// fresh is how recently a poller must have been seen; a long poll lasts a minute.
const fresh = 90 * time.Second

func polled(ctx context.Context, c client.Client, namespace, queue string, kind enumspb.TaskQueueType) error {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind,
	})
	if err != nil {
		return err
	}
	for _, p := range answer.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < fresh {
			return nil
		}
	}
	return fmt.Errorf("nobody polls the queue %s", queue)
}
