package postgres_test

import (
	"context"
	"sort"
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
func drain(ctx context.Context, t *testing.T, b *postgres.Budget, account string) (int, *cloud.ProviderError) {
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

// provider counts as the real one does: every request of the last minute and of
// the last hour, whoever sent it.
type provider struct {
	minute, hour int
	sent         []time.Time
}

func (p *provider) within(now time.Time, d time.Duration) []time.Time {
	i := sort.Search(len(p.sent), func(i int) bool { return p.sent[i].After(now.Add(-d)) })
	return p.sent[i:]
}

// answer is false for a 429; else what the headers say.
func (p *provider) answer(now time.Time) (remaining int, reset time.Time, ok bool) {
	hour := p.within(now, time.Hour)
	if len(hour) >= p.hour || len(p.within(now, time.Minute)) >= p.minute {
		return 0, time.Time{}, false
	}
	p.sent = append(p.sent, now)
	hour = p.within(now, time.Hour)
	return p.hour - len(hour), hour[0].Add(time.Hour), true
}

func TestTheProviderNeverHasToRefuse(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	for name, other := range map[string]int{"alone": 0, "with others on the same token": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := noon()
			b := pgtest.Open(t).Budget(postgres.BudgetLimits{PerMinute: 20, PerHour: 400}).WithNow(c.now)
			p := &provider{minute: 20 + other, hour: 400}
			served := 0
			for step := range 3 * 3600 / 10 {
				if other > 0 && step%6 == 0 {
					_, _, _ = p.answer(c.now())
				}
				for b.Take(ctx, "a") == nil {
					remaining, reset, ok := p.answer(c.now())
					require.True(t, ok, "refused at %s", c.now())
					b.Report(ctx, "a", p.hour, remaining, reset, 0)
					served++
				}
				move(c, 10*time.Second)
			}
			require.Greater(t, served, 3*400*3/4-other*60, "and most of it is used")
		})
	}
}

func TestBudgetIsOneForAllProcesses(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := noon()
	limits := postgres.BudgetLimits{PerMinute: 80, PerHour: 5000}
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
	require.EqualValues(t, 32, given.Load(), "exactly the bucket, however many take at once")
}

func TestBudgetKeepsAShareForCallers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noon()
	b := pgtest.Open(t).Budget(postgres.BudgetLimits{PerMinute: 200, PerHour: 5000, InteractiveShare: 0.2}).WithNow(c.now)
	n, _ := drain(ctx, t, b, "a")
	require.Equal(t, 64, n)
	n, _ = drain(cloud.Interactive(ctx), t, b, "a")
	require.Equal(t, 16, n, "background work left a fifth of the eighty")
	n, _ = drain(ctx, t, b, "b")
	require.Equal(t, 64, n, "another account has its own")

	b.Report(ctx, "a", 5000, 1000, c.now().Add(time.Hour), 0)
	move(c, time.Minute)
	n, _ = drain(ctx, t, b, "a")
	require.Zero(t, n, "of the hour too")
	require.NoError(t, b.Take(cloud.Interactive(ctx), "a"))
}

func TestRefusedWorkComesBackInItsOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noon()
	// A bucket of forty, of which background work may have half; one more a second.
	b := pgtest.Open(t).Budget(postgres.BudgetLimits{PerMinute: 100, PerHour: 5000, InteractiveShare: 0.5}).WithNow(c.now)
	n, first := drain(ctx, t, b, "a")
	require.Equal(t, 20, n)
	require.Equal(t, time.Second, first.RetryAfter.Round(time.Millisecond))
	for i := range 5 {
		_, p := drain(ctx, t, b, "a")
		require.Equal(t, time.Duration(i+2)*time.Second, p.RetryAfter.Round(time.Millisecond), "each a second after the one before")
	}
	move(c, time.Second)
	require.NoError(t, b.Take(ctx, "a"), "the first comes back and is served")
	_, p := drain(ctx, t, b, "a")
	require.Equal(t, 6*time.Second, p.RetryAfter.Round(time.Millisecond), "a newcomer is behind the five that wait")
	require.NoError(t, b.Take(cloud.Interactive(ctx), "a"), "a caller waits behind nobody")
}

func TestProviderHeadersCountMore(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	c := noon()
	b := pgtest.Open(t).Budget(postgres.DefaultBudgetLimits).WithNow(c.now)
	require.NoError(t, b.Take(ctx, "a"))
	reset := c.now().Add(5 * time.Minute)
	b.Report(ctx, "a", 5000, 13, reset, 0)
	b.Report(ctx, "a", 5000, 19, reset, 0) // an older answer that arrives late
	n, p := drain(ctx, t, b, "a")
	require.Equal(t, 3, n, "others spend the same token's allowance")
	require.Greater(t, p.RetryAfter, 5*time.Minute)
	require.Less(t, p.RetryAfter, 5*time.Minute+2*time.Second)
	move(c, p.RetryAfter)
	require.NoError(t, b.Take(ctx, "a"))

	b.Report(ctx, "a", 5000, 4000, c.now(), 29*time.Second)
	_, p = drain(ctx, t, b, "a")
	require.Equal(t, 29*time.Second, p.RetryAfter.Round(time.Second))
	require.NoError(t, b.Take(ctx, "b"), "a pause is one account's")
	move(c, 30*time.Second)
	require.NoError(t, b.Take(ctx, "a"))
}

func TestProvidersOwnLimitReplacesOurs(t *testing.T) {
	t.Parallel()
	ctx := cloud.Interactive(context.Background())
	c := noon()
	b := pgtest.Open(t).Budget(postgres.DefaultBudgetLimits).WithNow(c.now)
	for account, want := range map[string]int{"small": 2, "large": 1000} {
		require.NoError(t, b.Take(ctx, account))
		limit := 50_000
		if account == "small" {
			limit = 40
		}
		b.Report(ctx, account, limit, limit-1, c.now().Add(time.Hour), 0)
		move(c, time.Hour)
		n, _ := drain(ctx, t, b, account)
		require.Equal(t, want, n, account)
	}
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
	require.ErrorIs(t, err, context.Canceled)
}
