package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

var _ ports.Sweep = (*Store)(nil)

// SweepAccounts lists every account that is declared, by id.
func (s *Store) SweepAccounts(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT id FROM provider_accounts WHERE declared ORDER BY id")
	if err != nil {
		return nil, mapError(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, mapError(err)
}

// SweepKinds lists the kinds in use on an account and the parents, with an id
// at the provider, in which live resources of a kind are. It notes that a sweep
// began. NOT_FOUND when the account is not declared.
func (s *Store) SweepKinds(ctx context.Context, account string) ([]ports.SweepKind, error) {
	tag, err := s.pool.Exec(ctx, "UPDATE provider_accounts SET swept_at = $2 WHERE id = $1 AND declared", account, s.now())
	if err != nil {
		return nil, mapError(err)
	}
	if tag.RowsAffected() == 0 {
		return nil, errNotFound("provider account")
	}
	kinds, err := s.sweepKinds(ctx, account)
	return kinds, mapError(err)
}

func (s *Store) sweepKinds(ctx context.Context, account string) ([]ports.SweepKind, error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT kind, parent_id FROM resources
		WHERE account_id = $1 AND `+live+` ORDER BY kind, parent_id NULLS FIRST`, account)
	if err != nil {
		return nil, err
	}
	type inParent struct {
		Kind     string
		ParentID *string
	}
	pairs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[inParent])
	if err != nil {
		return nil, err
	}
	parents, err := collectResources(s.pool.Query(ctx, selectResource+` WHERE r.account_id = $1 AND r.provider_id <> '' AND r.`+live+`
		AND EXISTS (SELECT FROM resources c WHERE c.parent_id = r.id AND c.`+live+`)`, account))
	if err != nil {
		return nil, err
	}
	byID := map[string]*cloud.Resource{}
	for _, p := range parents {
		byID[p.ID] = p
	}
	var kinds []ports.SweepKind
	for _, p := range pairs {
		if len(kinds) == 0 || kinds[len(kinds)-1].Kind != p.Kind {
			kinds = append(kinds, ports.SweepKind{Kind: p.Kind})
		}
		if p.ParentID != nil && byID[*p.ParentID] != nil {
			k := &kinds[len(kinds)-1]
			k.Parents = append(k.Parents, *refTo(byID[*p.ParentID]))
		}
	}
	return kinds, nil
}

// SweepRecords returns up to limit records of a kind that are at rest, of one
// parent unless it is "", by id after the given one.
func (s *Store) SweepRecords(ctx context.Context, account, kind, parent, after string, limit int) ([]*cloud.Resource, error) {
	rs, err := collectResources(s.pool.Query(ctx, selectResource+` WHERE r.account_id = $1 AND r.kind = $2
		AND ($3 = '' OR r.parent_id = $3) AND r.id > $4 AND r.state = 'ready' AND r.intent = 'present'
		ORDER BY r.id LIMIT $5`, account, kind, parent, after, limit))
	return rs, mapError(err)
}

// SaveSweep applies what a sweep found to the records that are still as it
// read them: at rest, of the same generation. All in one transaction; the
// others are left out, with their nudges.
func (s *Store) SaveSweep(ctx context.Context, items []ports.SweepItem) (int, error) {
	items = slices.SortedFunc(slices.Values(items), func(a, b ports.SweepItem) int { return strings.Compare(a.ID, b.ID) })
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	saved := 0
	err := s.work(ctx, s.pool, func(w *work) error {
		saved = 0
		records, err := w.lock(ctx, "r.id = ANY ($1)", ids)
		if err != nil {
			return err
		}
		for _, item := range items {
			i := slices.IndexFunc(records, func(l *locked) bool { return l.r.ID == item.ID })
			if i < 0 {
				continue
			}
			wrote, err := w.applySweep(ctx, records[i], item)
			if err != nil {
				return err
			}
			if wrote {
				saved++
			}
		}
		return nil
	})
	if err != nil {
		return 0, mapError(err)
	}
	return saved, nil
}

func (w *work) applySweep(ctx context.Context, l *locked, item ports.SweepItem) (bool, error) {
	r := l.r
	if r.Generation != item.Generation || r.State != cloud.StateReady || r.Intent != cloud.IntentPresent {
		return false, nil
	}
	var change *cloud.Change
	if item.Apply != nil {
		change = item.Apply(r)
	}
	wrote, err := w.save(ctx, l, change, cloud.ActorReconciler)
	if err == nil && item.Nudge {
		w.nudge(r.ID, workflowResource, signalRefresh, r.Generation, true)
	}
	return wrote, err
}

// AccountMessage sets the message of every ready resource of an account, and of
// every certificate at rest, or clears it with "" (D8). Those that have it
// already are not written.
func (s *Store) AccountMessage(ctx context.Context, account, message string) error {
	_, err := s.pool.Exec(ctx, `WITH certificates AS (
			UPDATE certificates SET message = $2, updated_at = $3
			WHERE account_id = $1 AND state = 'ready' AND intent = 'present' AND former = '[]' AND message <> $2)
		UPDATE resources SET message = $2, updated_at = $3
		WHERE account_id = $1 AND state = 'ready' AND message <> $2`, account, clean(message), s.now())
	return mapError(err)
}

// NudgeAccount wakes every resource of an account that waits for it to answer
// again, and returns how many.
func (s *Store) NudgeAccount(ctx context.Context, account string) (int, error) {
	n, err := s.insertNudges(ctx, `SELECT r.id, '`+workflowResource+`', '`+signalRefresh+`', r.generation FROM resources r
		WHERE r.account_id = $1 AND r.`+live+` AND r.held_by = '' AND r.error_class = $2 AND (r.state <> 'ready' OR r.intent <> 'present')
		ORDER BY r.id`, account, cloud.ClassUnreachable)
	return n, mapError(err)
}

// insertNudges adds the outbox rows that a query selects (id, type, signal,
// generation; in the order of their ids) and wakes the relay.
func (s *Store) insertNudges(ctx context.Context, query string, args ...any) (n int, err error) {
	err = runTx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO outbox (workflow_id, workflow_type, signal, generation) "+query+" "+onAskedAgain, args...)
		if err != nil {
			return err
		}
		if n = int(tag.RowsAffected()); n == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, "SELECT pg_notify($1, '')", outboxChannel)
		return err
	})
	return n, err
}
