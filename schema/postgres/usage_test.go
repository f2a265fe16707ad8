package postgres_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/postgres"
	"github.com/better-compute/cloud-resources/schema/postgres/pgtest"
)

// clock is a clock that a test sets.
type clock struct{ nanos atomic.Int64 }

func newClock(t time.Time) *clock        { c := &clock{}; c.set(t); return c }
func (c *clock) set(t time.Time)         { c.nanos.Store(t.UnixNano()) }
func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *clock) option() postgres.Option { return postgres.WithClock(c.now) }

// billed makes a resource whose billing began at from.
func billed(t *testing.T, db *pgtest.DB, m *cloud.Manifest, name string, from time.Time) *cloud.Resource {
	t.Helper()
	r := db.Create(pgtest.Request(m, name))
	return ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Accept(&cloud.Observed{ProviderID: "p-" + name}, from)
	})
}

func hours(t *testing.T, db *pgtest.DB, r *cloud.Resource, meter string) []time.Time {
	t.Helper()
	all, err := db.ListUsage(context.Background(), r.TenantID, time.Time{}, time.Time{})
	require.NoError(t, err)
	var out []time.Time
	for _, u := range all {
		if u.ResourceID == r.ID && u.Meter == meter {
			require.Equal(t, "1", u.Quantity.String())
			out = append(out, u.Hour)
		}
	}
	return out
}

func bill(t *testing.T, s *postgres.Store) int {
	t.Helper()
	n, err := s.BillHours(context.Background())
	require.NoError(t, err)
	return n
}

// A year with daylight saving in it, outages of hours and weeks, a clock that
// jumps back and forth, two processes at once: each hour once.
func TestAYearOfHours(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	from := time.Date(2024, 1, 1, 0, 30, 0, 0, berlin)
	to := time.Date(2025, 1, 1, 0, 30, 0, 0, berlin)
	c := newClock(from)
	db := pgtest.New(t, c.option()).World()
	db.Exec("ALTER DATABASE " + pgtest.Value[string](db, "SELECT current_database()") + " SET timezone = 'Asia/Kolkata'")
	other := db.Another(c.option())
	r := billed(t, db, pgtest.KindCluster, "pg", from)

	random := rand.New(rand.NewPCG(1, 2))
	for at := from; at.Before(to); {
		c.set(at)
		bill(t, db.Store)
		switch random.IntN(10) {
		case 0:
			c.set(at.Add(-26 * time.Hour)) // the clock jumps back
		case 1:
			at = at.Add(time.Duration(random.IntN(3*7*24)) * time.Hour) // an outage
		}
		for _, err := range atOnce(2, func(i int) error {
			_, err := []*postgres.Store{db.Store, other}[i].BillHours(context.Background())
			return err
		}) {
			require.NoError(t, err)
		}
		at = at.Add(time.Duration(random.IntN(72*60)) * time.Minute)
	}
	c.set(to)
	ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change { return r.Deleted(to) })
	c.set(to.AddDate(0, 1, 0))
	bill(t, db.Store)
	require.Zero(t, bill(t, db.Store))

	got := hours(t, db, r, cloud.MeterHours)
	want := []time.Time{}
	for h := from.UTC().Truncate(time.Hour); h.Before(to); h = h.Add(time.Hour) {
		want = append(want, h)
	}
	require.Len(t, want, 366*24+1) // leap year; it begins and ends within an hour
	require.Equal(t, want, got)
}

func TestTheFirstHourComesAtOnceAndTheLastIsTheEnds(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 5, 1, 10, 59, 58, 0, time.UTC)
	hour := func(h int) time.Time { return time.Date(2026, 5, 1, h, 0, 0, 0, time.UTC) }
	c := newClock(from)
	db := pgtest.New(t, c.option()).World()
	r := billed(t, db, pgtest.KindCluster, "pg", from)
	require.Equal(t, 1, bill(t, db.Store))
	require.Zero(t, bill(t, db.Store))
	require.Equal(t, []time.Time{hour(10)}, hours(t, db, r, cloud.MeterHours))
	c.set(hour(11)) // on the stroke nothing of the new hour has run
	require.Zero(t, bill(t, db.Store))
	c.set(hour(11).Add(time.Microsecond))
	require.Equal(t, 1, bill(t, db.Store))
	ask(t, db, r.ID, func(r *cloud.Resource) *cloud.Change { return r.Deleted(hour(12)) })
	c.set(hour(20))
	require.Zero(t, bill(t, db.Store))
	require.Equal(t, []time.Time{hour(10), hour(11)}, hours(t, db, r, cloud.MeterHours))
	require.True(t, pgtest.Value[bool](db, "SELECT billed_out FROM resources"))

	// Ended in the moment of its acceptance: the one hour.
	brief := billed(t, db, pgtest.KindCluster, "brief", hour(15))
	ask(t, db, brief.ID, func(r *cloud.Resource) *cloud.Change { return r.Deleted(hour(15)) })
	bill(t, db.Store)
	require.Equal(t, []time.Time{hour(15)}, hours(t, db, brief, cloud.MeterHours))
}

func TestWhatDoesNotBill(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t).World()
	db.Create(pgtest.Request(pgtest.KindCluster, "never-accepted"))
	free := db.Create(pgtest.Request(pgtest.KindCluster, "free", func(n *intent.NewResource) { n.Resource.PoolID, n.Resource.Billed = pgtest.PoolFree, false }))
	ask(t, db, free.ID, func(r *cloud.Resource) *cloud.Change {
		return r.Accept(&cloud.Observed{ProviderID: "p"}, time.Now())
	})
	require.Zero(t, bill(t, db.Store))
}

// A clock of ours that runs ahead bills nothing early.
func TestAClockAheadBillsNothingEarly(t *testing.T) {
	t.Parallel()
	c := newClock(time.Now())
	db := pgtest.New(t, c.option()).World()
	billed(t, db, pgtest.KindCluster, "pg", time.Now().Add(-time.Minute))
	c.set(time.Now().AddDate(1, 0, 0))
	require.LessOrEqual(t, bill(t, db.Store), 2)
}

func TestKindMetersBillWhenNamed(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 5, 1, 10, 30, 0, 0, time.UTC)
	c := newClock(from)
	db := pgtest.New(t, c.option(), postgres.WithKindMeters(map[string][]string{
		"test.cluster": {"test.cluster.nodes", "test.cluster.storage"}, "test.inference": {"test.inference.gpus"}})).World()
	r := billed(t, db, pgtest.KindCluster, "pg", from)
	ai := billed(t, db, pgtest.KindInference, "ai", from)
	bill(t, db.Store)
	require.Empty(t, hours(t, db, r, "test.cluster.nodes"))
	db.Deployment("test", map[string]any{"kindMeters": []string{"test.cluster.nodes"}})
	c.set(from.Add(2 * time.Hour))
	bill(t, db.Store)
	require.Len(t, hours(t, db, r, cloud.MeterHours), 3)
	require.Len(t, hours(t, db, r, "test.cluster.nodes"), 2)
	require.Empty(t, hours(t, db, r, "test.cluster.storage"))
	require.Empty(t, hours(t, db, ai, "test.inference.gpus"))
}

func TestListUsageBounds(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 5, 1, 10, 30, 0, 0, time.UTC)
	c := newClock(from)
	db := pgtest.New(t, c.option()).World()
	billed(t, db, pgtest.KindCluster, "pg", from)
	c.set(from.Add(5 * time.Hour))
	bill(t, db.Store)
	ctx := context.Background()
	got, err := db.ListUsage(ctx, pgtest.Acme, time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC), time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Len(t, got, 2)
	got, err = db.ListUsage(ctx, pgtest.Globex, time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Empty(t, got)
	db.Exec("INSERT INTO usage_hours SELECT 'x', 'globex', 'm', h FROM generate_series('2000-01-01'::timestamptz, '2015-01-01', '1 hour') AS h")
	_, err = db.ListUsage(ctx, pgtest.Globex, time.Time{}, time.Time{})
	refused(t, err, cloud.CodeInvalidInput, "")
}
