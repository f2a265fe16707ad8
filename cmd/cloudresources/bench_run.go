package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Sizes of the measurements: small enough for a minute, large enough that the
// ratios settle.
const (
	benchCreates = 600
	benchReads   = 3000
	benchLives   = 80
	benchAtOnce  = 16
)

func (b *bench) run(ctx context.Context, w io.Writer) error {
	t := &table{}
	t.add("WHAT", "FIGURE", "BASELINE", "RATIO")
	for _, step := range []func(context.Context, *table) error{b.creates, b.reads, b.lives, b.families} {
		if err := step(ctx, t); err != nil {
			return err
		}
	}
	t.print(w)
	return nil
}

// creates measures accepting alone: no worker runs yet.
func (b *bench) creates(ctx context.Context, t *table) error {
	m, err := measure(ctx, benchCreates, benchAtOnce, func(ctx context.Context, i int) error {
		_, err := b.create(ctx, "do.volume", fmt.Sprintf("accepted-%d", i), map[string]any{"region": "nyc3", "size_gigabytes": 10})
		return err
	})
	if err != nil {
		return err
	}
	bare, err := b.bare(ctx)
	if err != nil {
		return err
	}
	defer bare.close()
	base, err := measure(ctx, benchCreates, benchAtOnce, func(ctx context.Context, i int) error {
		return post(ctx, bare.url+"/insert", fmt.Appendf(nil, `{"id":"row-%d"}`, i), nil)
	})
	if err != nil {
		return err
	}
	t.add(fmt.Sprintf("accepted creates, %d at once", benchAtOnce), perSecond(m), perSecond(base)+" bare inserts", ratio(m, base))
	t.add("  p50, p99", latencies(m), latencies(base), "")
	return nil
}

// reads measures get and list beside a bare Echo and pgx handler on the same row.
func (b *bench) reads(ctx context.Context, t *table) error {
	r, err := b.create(ctx, "do.volume", "read", map[string]any{"region": "nyc3", "size_gigabytes": 10})
	if err != nil {
		return err
	}
	bare, err := b.bare(ctx)
	if err != nil {
		return err
	}
	defer bare.close()
	get, err := measure(ctx, benchReads, benchAtOnce, func(ctx context.Context, _ int) error {
		return b.call(ctx, "cloudResources/get", map[string]any{"resourceId": r.ID}, nil)
	})
	if err != nil {
		return err
	}
	base, err := measure(ctx, benchReads, benchAtOnce, func(ctx context.Context, _ int) error {
		return post(ctx, bare.url+"/get", []byte(`{"id":"`+r.ID+`"}`), nil)
	})
	if err != nil {
		return err
	}
	t.add("get", perSecond(get), perSecond(base)+" bare Echo+pgx", ratio(get, base))
	t.add("  p50, p99", latencies(get), latencies(base), "")
	list, err := measure(ctx, 100, 4, func(ctx context.Context, _ int) error {
		return b.call(ctx, "cloudResources/list", map[string]any{}, nil)
	})
	if err != nil {
		return err
	}
	baseList, err := measure(ctx, 100, 4, func(ctx context.Context, _ int) error {
		return post(ctx, bare.url+"/list", []byte(`{}`), nil)
	})
	if err != nil {
		return err
	}
	t.add("list of 500", perSecond(list), perSecond(baseList)+" bare Echo+pgx", ratio(list, baseList))
	return nil
}

// lives measures create, ready, delete, deleted beside a bare workflow of three
// activities on the same Temporal server, measured before our worker starts.
func (b *bench) lives(ctx context.Context, t *table) error {
	base, err := b.bareLives(ctx)
	if err != nil {
		return err
	}
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	if err := b.settled(ctx); err != nil {
		return err
	}
	m, err := measure(ctx, benchLives, benchAtOnce, func(ctx context.Context, i int) error {
		return b.life(ctx, "do.volume", fmt.Sprintf("life-%d", i), map[string]any{"region": "nyc3", "size_gigabytes": 10})
	})
	if err != nil {
		return err
	}
	t.add(fmt.Sprintf("whole lives, %d at once", benchAtOnce), perSecond(m), perSecond(base)+" bare 3-activity workflows", ratio(m, base))
	return nil
}

// settled waits until the worker is through with what was accepted before.
func (b *bench) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, b.database)
	if err != nil {
		return err
	}
	defer pool.Close()
	for {
		var moving int
		err := pool.QueryRow(ctx, "SELECT count(*) FROM resources WHERE state <> 'ready'").Scan(&moving)
		if err != nil || moving == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d resources are not ready: %w", moving, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (b *bench) life(ctx context.Context, kind, name string, spec map[string]any) error {
	r, err := b.create(ctx, kind, name, spec)
	if err != nil {
		return err
	}
	if err := b.wait(ctx, r.ID, "ready"); err != nil {
		return err
	}
	if err := b.call(ctx, "cloudResources/delete", map[string]any{"resourceId": r.ID}, nil); err != nil {
		return err
	}
	return b.wait(ctx, r.ID, "deleted")
}

func (b *bench) bareLives(ctx context.Context) (measured, error) {
	const queue = "bench-bare"
	w := sdkworker.New(b.temporal, queue, sdkworker.Options{})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for range 3 {
			if err := workflow.ExecuteActivity(ctx, "nothing").Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	}, workflow.RegisterOptions{Name: "bare"})
	if err := w.Start(); err != nil {
		return measured{}, err
	}
	defer w.Stop()
	return measure(ctx, benchLives, benchAtOnce, func(ctx context.Context, i int) error {
		run, err := b.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench-bare-%d-%d", os.Getpid(), i), TaskQueue: queue,
		}, "bare")
		if err != nil {
			return err
		}
		return run.Get(ctx, nil)
	})
}

// bareServer answers from the same database with nothing in between.
type bareServer struct {
	url   string
	close func()
}

func (b *bench) bare(ctx context.Context) (*bareServer, error) {
	pool, err := pgxpool.New(ctx, b.database)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_bare (id text PRIMARY KEY, at timestamptz DEFAULT now())"); err != nil {
		return nil, err
	}
	e := echo.New()
	one := func(sql string) echo.HandlerFunc {
		return func(c echo.Context) error {
			var in struct {
				ID string `json:"id"`
			}
			if err := c.Bind(&in); err != nil {
				return err
			}
			var out []byte
			if err := pool.QueryRow(c.Request().Context(), sql, in.ID).Scan(&out); err != nil {
				return err
			}
			return c.JSONBlob(http.StatusOK, out)
		}
	}
	e.POST("/insert", one("INSERT INTO bench_bare (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET at = now() RETURNING json_build_object('id', id)"))
	e.POST("/get", one("SELECT row_to_json(r) FROM resources r WHERE id = $1"))
	e.POST("/list", one("SELECT json_agg(row_to_json(r)) FROM (SELECT * FROM resources WHERE $1 = '' ORDER BY created_at, id LIMIT 500) r"))
	server := httptest.NewServer(e)
	return &bareServer{server.URL, func() { server.Close(); pool.Close() }}, nil
}

// events is how long the history of a finished workflow is.
func (b *bench) events(ctx context.Context, id string) (int, error) {
	n := 0
	it := b.temporal.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		if _, err := it.Next(); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func perSecond(m measured) string { return fmt.Sprintf("%.0f/s", m.rate()) }

func ratio(m, base measured) string { return fmt.Sprintf("%.2f", m.rate()/base.rate()) }

func latencies(m measured) string {
	return fmt.Sprintf("%.1f ms, %.1f ms", ms(m.percentile(0.5)), ms(m.percentile(0.99)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
