package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/worker"
)

// newBenchCommand measures a whole system in this process. Every figure that
// depends on the machine stands beside a baseline of the same run.
func newBenchCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "bench",
		Hidden: true,
		Short:  "Measure creates, reads and whole lives beside bare baselines (see make bench)",
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			b, err := newBench(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, b.close()) }()
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// bench is a system under measurement: API and worker in this process, over
// the Postgres and Temporal servers that the environment names.
type bench struct {
	store    *postgres.Store
	temporal client.Client
	url      string // the API's
	control  simulator.Control
	database string
	stop     []func() error
}

func newBench(ctx context.Context) (b *bench, err error) {
	b = &bench{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	admin, address := os.Getenv("TEST_DATABASE_URL"), os.Getenv("TEST_TEMPORAL_ADDRESS")
	if admin == "" || address == "" {
		return b, errors.New("TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS name the servers; make bench starts them")
	}
	if err := b.makeDatabase(ctx, admin); err != nil {
		return b, err
	}
	dir, err := os.MkdirTemp("", "cloudresources-bench")
	if err != nil {
		return b, err
	}
	b.stop = append(b.stop, func() error { return os.RemoveAll(dir) })
	keyset := filepath.Join(dir, "keyset.json")
	if _, err := postgres.LoadKeyset(keyset, true); err != nil {
		return b, err
	}
	for name, value := range map[string]string{
		"DATABASE_URL": b.database, "SECRETS_KEYSET": keyset, "TEMPORAL_ADDRESS": address, "METRICS_ADDR": "127.0.0.1:0",
		"CONVERGE_INTERVAL": "100ms", "REFRESH_INTERVAL": "5m", "SETTLE_WINDOW": "10s", "LOG_LEVEL": "ERROR",
	} {
		if err := os.Setenv(name, value); err != nil {
			return b, err
		}
	}
	return b, b.start(ctx)
}

// makeDatabase makes a database of its own beside the administrator's.
func (b *bench) makeDatabase(ctx context.Context, admin string) error {
	var word [6]byte
	if _, err := rand.Read(word[:]); err != nil {
		return err
	}
	name := "bench_" + hex.EncodeToString(word[:])
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	b.stop = append(b.stop, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		return errors.Join(err, conn.Close(ctx))
	})
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	config := conn.Config()
	b.database = fmt.Sprintf("postgres://%s:%s@%s:%d/%s", config.User, config.Password, config.Host, config.Port, name)
	return postgres.Migrate(ctx, b.database)
}

// start runs simulator, platform and API. The worker starts when it is needed,
// so that accepting is measured alone.
func (b *bench) start(ctx context.Context) error {
	settings := simulator.DefaultSettings()
	for _, d := range []*simulator.Duration{&settings.ProvisionTime, &settings.UpdateTime, &settings.DeleteTime} {
		*d = simulator.Duration(50 * time.Millisecond)
	}
	settings.PerHour, settings.PerMinute = 100_000_000, 100_000_000
	sim, err := simulator.New(simulator.Options{Settings: &settings})
	if err != nil {
		return err
	}
	provider := httptest.NewServer(sim)
	b.stop = append(b.stop, func() error { err := sim.Close(); provider.Close(); return err })
	b.control = simulator.Control{URL: provider.URL}
	cfg, err := readConfig()
	if err != nil {
		return err
	}
	if b.store, err = openStore(ctx, cfg); err != nil {
		return err
	}
	b.stop = append(b.stop, func() error { b.store.Close(); return nil })
	if err := b.apply(ctx, provider.URL); err != nil {
		return err
	}
	log := cfg.logger(io.Discard, "bench")
	temporal, namespace, err := worker.Connect(log, nil)
	if err != nil {
		return err
	}
	b.temporal = temporal
	b.stop = append(b.stop, func() error { temporal.Close(); return nil })
	handler, err := newAPI(ctx, b.store, temporal, namespace, newRegistry(), log)
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler)
	b.url = server.URL
	b.stop = append(b.stop, func() error { server.Close(); return nil })
	return nil
}

func (b *bench) apply(ctx context.Context, providerURL string) error {
	f, err := platform.Development(providerURL)
	if err != nil {
		return err
	}
	many := int64(1_000_000)
	f.MaxPerKind = &many
	_, err = b.store.Apply(ctx, f, postgres.ApplyOptions{})
	return err
}

// startWorker runs a worker until the bench closes.
func (b *bench) startWorker(ctx context.Context) error {
	cfg, err := readConfig()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runWorker(ctx, cfg, io.Discard) }()
	b.stop = append(b.stop, func() error { cancel(); return <-ended })
	return nil
}

func (b *bench) close() error {
	var err error
	for i := len(b.stop) - 1; i >= 0; i-- {
		err = errors.Join(err, b.stop[i]())
	}
	return err
}

// table is what is printed.
type table struct{ rows []row }

type row struct{ what, figure, baseline, ratio string }

func (t *table) add(what, figure, baseline, ratio string) {
	t.rows = append(t.rows, row{what, figure, baseline, ratio})
}

func (t *table) print(w io.Writer) {
	width := [3]int{}
	for _, r := range t.rows {
		for i, cell := range []string{r.what, r.figure, r.baseline} {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, r := range t.rows {
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", width[0], r.what, width[1], r.figure, width[2], r.baseline, r.ratio)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
