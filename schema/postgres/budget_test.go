package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// noon is a clock that stands until a test moves it.
func noon() *clock { return newClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

func move(c *clock, d time.Duration) { c.set(c.now().Add(d)) }

// drain takes until the budget refuses and returns how many it gave and what it
// said then.
func drain(t *testing.T, ctx context.Context, b *postgres.Budget, account string) (int, *cloud.ProviderError) {
	t.Helper()
	for n := 0; ; n++ {
		err := b.Take(ctx, account)
		if err == nil {
			continue
		}
		var p *cloud.ProviderError
		require.ErrorAs(t, err, &p)
		require.NoError(t, p.Err)
		require.Equal(t, cloud.ClassThrottled, p.Class)
		require.Positive(t, p.RetryAfter)
		return n, p
	}
}

func TestBudgetStaysBelowBothLimits(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	c := noon()
	limits := postgres.BudgetLimits{PerMinute: 20, PerHour: 300}
	b := pgtest.Open(t).Budget(limits).WithNow(c.now)
	var times []time.Time
	for range 2 * 3600 / 5 {
		n, _ := drain(t, ctx, b, "a")
		for range n {
			times = append(times, c.now())
		}
		move(c, 5*time.Second)
	}
	for i, from := range times {
		minute, hour := 0, 0
		for _, at := range times[i:] {
			if at.Before(from.Add(time.Minute)) {
				minute++
			}
			if at.Before(from.Add(time.Hour)) {
				hour++
			}
		}
		require.LessOrEqual(t, minute, limits.PerMinute)
		require.LessOrEqual(t, hour, limits.PerHour)
	}
	require.Greater(t, len(times), 550, "and uses what it may")
}

func TestBudgetIsOneForAllProcesses(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := noon()
	limits := postgres.BudgetLimits{PerMinute: 60, PerHour: 60 + 3540} // a size of 0 extra: 1 a second
	stores := []*postgres.Store{db.Store, db.Another()}
	var given atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		b := stores[i%2].Budget(limits).WithNow(c.now)
		wg.Go(func() {
			for range 20 {
				if b.Take(context.Background(), "a") == nil {
					given.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, given.Load(), "size is PerMinute - 60s*rate: nothing to burst with")

	limits = postgres.BudgetLimits{PerMinute: 100, PerHour: 100 + 3540}
	for i := range 8 {
		b := stores[i%2].Budget(limits).WithNow(c.now)
		wg.Go(func() {
			for range 20 {
				if b.Take(context.Background(), "b") == nil {
					given.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 40, given.Load(), "exactly the bucket, however many take at once")
}

func TestBudgetKeepsAShareForCallers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noon()
	b := pgtest.Open(t).Budget(postgres.BudgetLimits{PerMinute: 160, PerHour: 160 + 3540, InteractiveShare: 0.2}).WithNow(c.now)
	n, _ := drain(t, ctx, b, "a")
	require.Equal(t, 80, n)
	n, _ = drain(t, cloud.Interactive(ctx), b, "a")
	require.Equal(t, 20, n, "background work left a fifth of the hundred")
	n, _ = drain(t, ctx, b, "b")
	require.Equal(t, 80, n, "another account has its own")
}

func TestRefusedWorkComesBackInItsOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noon()
	// A bucket of ten, of which background work may have five; one more a second.
	b := pgtest.Open(t).Budget(postgres.BudgetLimits{PerMinute: 70, PerHour: 70 + 3540, InteractiveShare: 0.5}).WithNow(c.now)
	n, first := drain(t, ctx, b, "a")
	require.Equal(t, 5, n)
	require.Equal(t, time.Second, first.RetryAfter.Round(time.Millisecond))
	for i := range 5 {
		_, p := drain(t, ctx, b, "a")
		require.Equal(t, time.Duration(i+2)*time.Second, p.RetryAfter.Round(time.Millisecond), "each a second after the one before")
	}
	move(c, time.Second)
	require.NoError(t, b.Take(ctx, "a"), "the first comes back and is served")
	_, p := drain(t, ctx, b, "a")
	require.Equal(t, 6*time.Second, p.RetryAfter.Round(time.Millisecond), "a newcomer is behind the five that wait")
	require.NoError(t, b.Take(cloud.Interactive(ctx), "a"), "a caller waits behind nobody")
}

func TestProviderHeadersCountMore(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	c := noon()
	b := pgtest.Open(t).Budget(postgres.DefaultBudgetLimits).WithNow(c.now)
	require.NoError(t, b.Take(ctx, "a"))
	reset := c.now().Add(15 * time.Minute)
	b.Report(ctx, "a", 5000, 3, reset, 0)
	b.Report(ctx, "a", 5000, 9, reset, 0) // an older answer that arrives late
	n, p := drain(t, ctx, b, "a")
	require.Equal(t, 3, n, "others spend the same token's allowance")
	require.Equal(t, maxWait(15*time.Minute), p.RetryAfter)
	move(c, 15*time.Minute+time.Second)
	require.NoError(t, b.Take(ctx, "a"))

	b.Report(ctx, "a", 5000, 4000, reset, 29*time.Second)
	_, p = drain(t, ctx, b, "a")
	require.Equal(t, 29*time.Second, p.RetryAfter.Round(time.Second))
	require.NoError(t, b.Take(ctx, "b"), "a pause is one account's")
	move(c, 30*time.Second)
	require.NoError(t, b.Take(ctx, "a"))
}

func maxWait(d time.Duration) time.Duration { return min(d, 10*time.Minute) }

func TestProvidersOwnLimitReplacesOurs(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	c := noon()
	b := pgtest.Open(t).Budget(postgres.DefaultBudgetLimits).WithNow(c.now)
	require.NoError(t, b.Take(ctx, "a"))
	b.Report(ctx, "a", 60, 59, c.now().Add(time.Hour), 0)
	n, _ := drain(t, ctx, b, "a")
	require.Equal(t, 30, n, "half of sixty at once, the rest over the hour")
}

func TestBudgetWithoutDatabaseSpendsNothing(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t)
	b := s.Budget(postgres.DefaultBudgetLimits)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := b.Take(ctx, "a")
	var p *cloud.ProviderError
	require.ErrorAs(t, err, &p)
	require.Equal(t, cloud.ClassThrottled, p.Class, "the request was not sent")
	require.True(t, errors.Is(err, context.Canceled))
}
