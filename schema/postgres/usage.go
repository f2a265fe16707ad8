package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

var _ ports.Billing = (*Store)(nil)

// UsageHour is one hour of one meter.
type UsageHour = ports.UsageHour

const (
	// billBatch and billHours bound one statement: so many resources, so many
	// hours of each. A backlog takes several.
	billBatch = 500
	billHours = 24 * 31
)

// BillHours writes a row for each hour of UTC in which a billed resource ran:
// from the hour in which its billing began to the one in which it ended (the
// hour that begins as it ends not counted) or to the present one. So the first
// row is there as soon as this runs after the acceptance (D34), an outage is
// made up for, and the key (resource, meter, hour) makes every repeat harmless.
// Hours are counted on the absolute time line, so daylight saving is nothing to
// them. A clock of ours that runs ahead bills nothing early: the database's
// own is the limit.
//
// On top of cloud.resource.hours come those meters of the kind that the
// deployment names in kindMeters, from the hour in which it first named them.
// It returns how many rows are new.
func (s *Store) BillHours(ctx context.Context) (int, error) {
	kinds, meters, err := s.billedMeters(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for {
		var seen, written int
		err := runTx(ctx, s.pool, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, bill, s.now(), billBatch, billHours, cloud.MeterHours, kinds, meters).Scan(&seen, &written)
		})
		if err != nil {
			return total, mapError(err)
		}
		if total += written; seen == 0 {
			return total, nil
		}
	}
}

// bill takes due resources, oldest mark first, writes their hours and moves
// their marks. due.upto is the end of the last hour in which each ran so far;
// the mark billed_to is the start of the first hour that is not written yet.
const bill = `
WITH clock AS (SELECT least($1::timestamptz, clock_timestamp()) AS now
), due AS (
	SELECT r.id, r.tenant_id, r.kind, coalesce(r.ended_at <= clock.now, false) AS ended,
		coalesce(r.billed_to, date_trunc('hour', r.billed_from, 'UTC')) AS since, span.upto
	FROM clock, resources r, LATERAL (SELECT date_trunc('hour', greatest(r.billed_from,
			least(coalesce(r.ended_at, clock.now), clock.now) - interval '1 microsecond'), 'UTC') + interval '1 hour' AS upto) span
	WHERE r.billed_from IS NOT NULL AND NOT r.billed_out AND r.billed_from <= clock.now
	AND (r.billed_to IS NULL OR r.billed_to < clock.now)
	ORDER BY r.billed_to NULLS FIRST, r.id LIMIT $2
	FOR NO KEY UPDATE OF r SKIP LOCKED
), hours AS (
	SELECT d.id, d.tenant_id, d.kind, h
	FROM due d, generate_series(d.since, least(d.upto, d.since + $3::int * interval '1 hour') - interval '1 hour', interval '1 hour') AS h
), rows AS (
	INSERT INTO usage_hours (resource_id, tenant_id, meter, hour)
	SELECT id, tenant_id, $4::text, h FROM hours
	UNION ALL
	SELECT h.id, h.tenant_id, m.meter, h.h FROM hours h JOIN unnest($5::text[], $6::text[]) AS m(kind, meter) ON m.kind = h.kind
	ON CONFLICT DO NOTHING
	RETURNING 1
), marked AS (
	UPDATE resources r SET billed_to = greatest(d.since, least(d.upto, d.since + $3::int * interval '1 hour')),
		billed_out = d.ended AND d.upto <= d.since + $3::int * interval '1 hour'
	FROM due d WHERE r.id = d.id
	RETURNING 1
)
SELECT (SELECT count(*) FROM marked), (SELECT count(*) FROM rows)`

// billedMeters pairs kinds with those of their meters that the deployment named.
func (s *Store) billedMeters(ctx context.Context) (kinds, meters []string, err error) {
	st, _, err := s.Settings(ctx)
	if err != nil {
		return nil, nil, err
	}
	kinds, meters = []string{}, []string{}
	for kind, own := range s.kindMeters {
		for _, meter := range own {
			if slices.Contains(st.KindMeters, meter) && meter != cloud.MeterHours {
				kinds, meters = append(kinds, kind), append(meters, meter)
			}
		}
	}
	return kinds, meters, nil
}

// maxUsageRows is the most that one answer holds: ten resources for a year.
const maxUsageRows = 100_000

// ListUsage returns a tenant's hours that begin in [from, to), by hour,
// resource and meter; a zero time leaves that side open. INVALID_INPUT when
// there are more than an answer holds.
func (s *Store) ListUsage(ctx context.Context, tenant string, from, to time.Time) ([]UsageHour, error) {
	rows, err := s.pool.Query(ctx, `SELECT resource_id, meter, hour, quantity::text FROM usage_hours
		WHERE tenant_id = $1 AND hour >= coalesce($2::timestamptz, '-infinity') AND hour < coalesce($3::timestamptz, 'infinity')
		ORDER BY hour, resource_id, meter LIMIT $4`, tenant, at(from), at(to), maxUsageRows+1)
	if err != nil {
		return nil, mapError(err)
	}
	hours, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (UsageHour, error) {
		var u UsageHour
		err := row.Scan(&u.ResourceID, &u.Meter, &u.Hour, &u.Quantity)
		u.Hour = u.Hour.UTC()
		return u, err
	})
	if err != nil {
		return nil, mapError(err)
	}
	if len(hours) > maxUsageRows {
		return nil, cloud.InvalidField("more hours than one answer holds; ask for a shorter time", "from", "to")
	}
	return hours, nil
}
