package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/provider"
	"github.com/better-compute/cloud-resources/schema/contract"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/worker"
)

func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run workflows, activities and the loops beside them",
		Long: `Run workflows, activities, the outbox relay, the healer, the account sweeps and
the billing of hours. Any number of workers may run. Settings come from the
environment: DATABASE_URL, TEMPORAL_*, SECRETS_KEYSET, METRICS_ADDR,
CONVERGE_INTERVAL, REFRESH_INTERVAL, SETTLE_WINDOW, LOG_LEVEL.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return runWorker(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
}

// openStore opens the database with the deployment's keys.
func openStore(ctx context.Context, cfg config, opts ...postgres.Option) (*postgres.Store, error) {
	keys, err := postgres.LoadKeyset(cfg.SecretsKeyset, false)
	if err != nil {
		return nil, err
	}
	opts = append(opts, postgres.WithKeyset(keys), postgres.WithKindMeters(meters()))
	return postgres.Open(ctx, cfg.DatabaseURL, opts...)
}

func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(provider.Collectors()...)
	return reg
}

// runWorker works until ctx ends.
func runWorker(ctx context.Context, cfg config, stderr io.Writer) error {
	log := cfg.logger(stderr, "worker")
	store, err := openStore(ctx, cfg, postgres.WithMaxSessions(worker.DefaultConcurrency+8))
	if err != nil {
		return err
	}
	defer store.Close()
	reg := newRegistry()
	client, namespace, err := worker.Connect(log, reg)
	if err != nil {
		return err
	}
	defer client.Close()
	opener := newAccounts(store, log)
	settings := cfg.settings()
	rules := newRules(store, opener)
	w, err := worker.New(worker.Options{
		Client: client, Namespace: namespace, Identity: identity(),
		Resources: &activities.Activities{
			Records: store, Accounts: opener, Intents: rules.resources, Settings: settings, Now: time.Now, Log: log,
		},
		Certificates: &activities.CertificateActivities{
			Records: store, Accounts: opener, Intents: rules.certificates, Settings: settings, Now: time.Now, Log: log,
		},
		Batches: &activities.BatchActivities{
			Records: store, Intents: rules.batches, Client: quorum.Client{HTTP: &http.Client{}}, Now: time.Now, Log: log,
		},
		Sweeps:   &activities.Sweeps{Store: store, Certificates: store, Records: store, Accounts: opener, Settings: settings, Now: time.Now, Log: log},
		Webhooks: &activities.WebhookActivities{Store: store, Deployment: store.Deployment, Now: time.Now, Log: log},
		Outbox:   store, Billing: store, Expiry: store, Settings: settings, Registerer: reg, Log: log,
	})
	if err != nil {
		return err
	}
	stop, err := serveMetrics(ctx, cfg.MetricsAddr, reg, w.Health, log)
	if err != nil {
		return err
	}
	defer stop()
	log.Info("worker starts", "identity", identity(), "namespace", namespace)
	return w.Run(ctx)
}

// rules are the rules of every kind of record, as hand-sent signals use them.
type rules struct {
	resources    *intent.Service
	certificates *intent.CertificateService
	batches      *intent.BatchService
}

func newRules(store *postgres.Store, opener *accounts) rules {
	batches := &intent.BatchService{Store: store, Now: time.Now}
	return rules{
		resources: &intent.Service{
			Store: store, Validator: contract.New(), Accounts: opener,
			SecretStore: store.HasSecretStore, Batches: batches, Answers: store, Now: time.Now,
		},
		certificates: &intent.CertificateService{Store: store, Accounts: opener, Now: time.Now},
		batches:      batches,
	}
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("worker@%s/%d", host, os.Getpid())
}

// serveMetrics serves /metrics and /healthz until stop is called. An empty
// address serves nothing.
func serveMetrics(ctx context.Context, addr string, reg *prometheus.Registry, health func(context.Context) error, log *slog.Logger) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("METRICS_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := health(r.Context()); err != nil {
			log.WarnContext(r.Context(), "not healthy", "error", err)
			http.Error(w, "not healthy", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); err != nil && err != http.ErrServerClosed {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
