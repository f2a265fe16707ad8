package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// work is one transaction that changes records. What it has to tell (events,
// outbox rows) is gathered and written last, in the package's lock order.
type work struct {
	s      *Store
	tx     pgx.Tx
	now    time.Time
	nudges map[string]nudge
	news   map[string][]eventEntry // by tenant
}

// work runs fn in a transaction of b and writes what it gathered. fn may be
// run again, see tx.
func (s *Store) work(ctx context.Context, b beginner, fn func(w *work) error) error {
	return runTx(ctx, b, func(tx pgx.Tx) error {
		w := &work{s: s, tx: tx, now: s.now(), nudges: map[string]nudge{}, news: map[string][]eventEntry{}}
		if err := fn(w); err != nil {
			return err
		}
		if err := w.writeNudges(ctx); err != nil {
			return err
		}
		return w.writeEvents(ctx)
	})
}

// locked is a record whose row this transaction holds. r is changed by the
// domain; was is what it was before.
type locked struct {
	r      *cloud.Resource
	raw    rowScan
	was    cloud.Resource
	before []any
}

// lock reads rows for update, in the order of their ids so that two
// transactions never wait for each other.
func (w *work) lock(ctx context.Context, where string, args ...any) ([]*locked, error) {
	rows, err := w.tx.Query(ctx, selectResource+" WHERE "+where+" ORDER BY r.id FOR UPDATE", args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*locked, error) {
		l := &locked{}
		if err := row.Scan(l.raw.targets()...); err != nil {
			return nil, err
		}
		var err error
		if l.r, err = l.pristine(); err != nil {
			return nil, err
		}
		l.was = *l.r
		l.before, err = rowValues(l.r)
		return l, err
	})
}

// lockOne is lock for one row; pgx.ErrNoRows when there is none.
func (w *work) lockOne(ctx context.Context, where string, args ...any) (*locked, error) {
	ls, err := w.lock(ctx, where, args...)
	if err != nil {
		return nil, err
	}
	if len(ls) == 0 {
		return nil, pgx.ErrNoRows
	}
	return ls[0], nil
}

// pristine is the record as it was read, whatever was done to r since.
func (l *locked) pristine() (*cloud.Resource, error) {
	raw := l.raw
	raw.r.Drift = slices.Clone(raw.r.Drift)
	return raw.record()
}

// asks reports whether something new was asked of the record's workflow.
func (l *locked) asks() bool {
	return l.r.Generation != l.was.Generation || l.r.Intent != l.was.Intent ||
		l.r.RefreshWanted && !l.was.RefreshWanted || l.r.HeldBy != l.was.HeldBy
}

// save writes a changed record and what its change asks for, and reports
// whether anything was written. A final record stays as it is. A change that
// only moved UpdatedAt is none: refreshing what did not change writes nothing.
func (w *work) save(ctx context.Context, l *locked, c *cloud.Change, actor string) (bool, error) {
	if c == nil || l.was.State.Final() {
		r, err := l.pristine()
		l.r = r
		return false, err
	}
	sealed, err := w.seal(ctx, l.r, c.Seal)
	if err != nil {
		return false, err
	}
	values, err := rowValues(l.r)
	if err != nil {
		return false, err
	}
	changed := !sameButUpdated(values, l.before)
	if !changed && !sealed && len(c.Events) == 0 {
		l.r.UpdatedAt = l.was.UpdatedAt
	} else if _, err := w.tx.Exec(ctx, updateResource, values...); err != nil {
		return false, err
	}
	if c.SettleBooking {
		if err := w.settleBooking(ctx, l.r.ID); err != nil {
			return false, err
		}
	}
	if err := w.reauthorize(ctx, l); err != nil {
		return false, err
	}
	if c.Ended {
		if err := w.end(ctx, l.r); err != nil {
			return false, err
		}
	}
	for _, e := range c.Events {
		w.emitFor(l.r, e, actor)
	}
	return changed || sealed || len(c.Events) > 0, nil
}

var updatedAtColumn = slices.Index(resourceColumns, "updated_at")

func sameButUpdated(a, b []any) bool {
	for i := range a {
		if i != updatedAtColumn && !reflect.DeepEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}

// end removes what must not outlive a record, and wakes a parent whose delete
// waits for it.
func (w *work) end(ctx context.Context, r *cloud.Resource) error {
	b := &pgx.Batch{}
	b.Queue("DELETE FROM authorization_rows WHERE resource_id = $1", r.ID)
	b.Queue("DELETE FROM quota_bookings WHERE resource_id = $1", r.ID)
	b.Queue("DELETE FROM secrets WHERE resource_id = $1 AND resource_id <> ''", r.ID)
	if err := w.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if r.ParentID == "" {
		return nil
	}
	var generation int64
	err := w.tx.QueryRow(ctx, "SELECT generation FROM resources WHERE id = $1 AND intent = 'delete' AND "+live, r.ParentID).Scan(&generation)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	w.nudge(r.ParentID, workflowResource, signalRefresh, generation, true)
	return nil
}

// authorizationAttributes are what a policy may ask about a resource.
func authorizationAttributes(r *cloud.Resource) (string, error) {
	b, err := json.Marshal(map[string]string{
		"kind": r.Kind, "family": string(r.Family), "provider": r.Provider, "providerAccountId": r.AccountID,
		"poolId": r.PoolID, "region": r.Region, "projectId": r.ProjectID,
	})
	return string(b), err
}

const upsertAuthorization = `INSERT INTO authorization_rows (resource_id, tenant_id, owner, attributes) VALUES ($1, $2, $3, $4)
	ON CONFLICT (resource_id) DO UPDATE SET attributes = EXCLUDED.attributes`

// reauthorize follows an attribute that only the provider told, such as the
// region of an adopted resource.
func (w *work) reauthorize(ctx context.Context, l *locked) error {
	before, err := authorizationAttributes(&l.was)
	if err != nil {
		return err
	}
	after, err := authorizationAttributes(l.r)
	if err != nil || before == after {
		return err
	}
	_, err = w.tx.Exec(ctx, upsertAuthorization, l.r.ID, l.r.TenantID, l.r.Owner, after)
	return err
}
