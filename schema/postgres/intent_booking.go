package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// book sets what a record's spec takes of each capacity. Growth counts at once
// and is refused over the tenant's capacity on the pool (none declared is
// none); a shrink is only remembered, because until the provider runs the new
// spec the old amount still runs.
func (w *work) book(ctx context.Context, r *cloud.Resource, booking map[string]int64) error {
	have, err := w.bookings(ctx, r.ID)
	if err != nil {
		return err
	}
	capacities := slices.Sorted(maps.Keys(booking))
	for capacity := range have {
		if _, ok := booking[capacity]; !ok {
			capacities = append(capacities, capacity)
		}
	}
	if len(capacities) == 0 {
		return nil
	}
	// Sums are only right when nobody else books; a lock of its own, since an
	// update does not wait for the tenant's creates.
	if err := advisoryLock(ctx, w.tx, "capacity/"+r.TenantID+"/"+r.PoolID); err != nil {
		return err
	}
	for _, capacity := range capacities {
		wanted := booking[capacity]
		amount := max(wanted, have[capacity])
		if amount > have[capacity] {
			if err := w.checkCapacity(ctx, r, capacity, amount-have[capacity]); err != nil {
				return err
			}
		}
		if _, err := w.tx.Exec(ctx, `INSERT INTO quota_bookings (resource_id, capacity, tenant_id, pool_id, amount, wanted)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (resource_id, capacity) DO UPDATE SET amount = EXCLUDED.amount, wanted = EXCLUDED.wanted`,
			r.ID, capacity, r.TenantID, r.PoolID, amount, wanted); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) bookings(ctx context.Context, id string) (map[string]int64, error) {
	rows, err := w.tx.Query(ctx, "SELECT capacity, amount FROM quota_bookings WHERE resource_id = $1", id)
	if err != nil {
		return nil, err
	}
	have := map[string]int64{}
	var capacity string
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&capacity, &amount}, func() error { have[capacity] = amount; return nil })
	return have, err
}

func (w *work) checkCapacity(ctx context.Context, r *cloud.Resource, capacity string, growth int64) error {
	var limit, used int64
	err := w.tx.QueryRow(ctx, `SELECT
		coalesce((SELECT amount FROM capacities WHERE tenant_id = $1 AND pool_id = $2 AND capacity = $3), 0),
		coalesce((SELECT sum(amount) FROM quota_bookings WHERE tenant_id = $1 AND pool_id = $2 AND capacity = $3), 0)::bigint`,
		r.TenantID, r.PoolID, capacity).Scan(&limit, &used)
	if err != nil {
		return err
	}
	if growth > limit-used {
		return cloud.Errorf(cloud.CodeQuotaExceeded, "the tenant's %s on this pool: %d of %d are booked, %d more are asked for", capacity, used, limit, growth).
			With("limit", limit).With("used", used).With("capacity", capacity)
	}
	return nil
}

// settleBooking returns what a shrink gave up, now that the new spec runs.
func (w *work) settleBooking(ctx context.Context, id string) error {
	_, err := w.tx.Exec(ctx, "UPDATE quota_bookings SET amount = wanted WHERE resource_id = $1 AND amount <> wanted", id)
	return err
}

// advisoryLock waits for a lock by name that lasts to the end of the transaction.
func advisoryLock(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", name)
	return err
}
