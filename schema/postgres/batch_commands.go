package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// LoadBatch returns a batch of any tenant, how many of its commands are open
// and when the next of them is due.
func (s *Store) LoadBatch(ctx context.Context, id string) (*cloud.Batch, int, time.Time, error) {
	b, err := oneBatch(ctx, s.pool, "id = $1", id)
	if err != nil {
		return nil, 0, time.Time{}, mapError(err)
	}
	var open int
	var due *time.Time
	err = s.pool.QueryRow(ctx, "SELECT count(*), min(due_at) FROM batch_commands WHERE batch_id = $1 AND state IN ('waiting', 'sent')", id).Scan(&open, &due)
	if err != nil || due == nil {
		return b, open, time.Time{}, mapError(err)
	}
	return b, open, due.UTC(), nil
}

const commandColumns = "index, subject, kind, payload, payload_digest, state, attempts, due_at, message, answer"

func scanCommand(row pgx.CollectableRow) (cloud.BatchCommand, error) {
	var c cloud.BatchCommand
	err := row.Scan(&c.Index, &c.Subject, &c.Kind, &c.Payload, &c.PayloadDigest, &c.State, &c.Attempts, &c.DueAt, &c.Message, &c.Answer)
	c.DueAt = c.DueAt.UTC()
	return c, err
}

// Commands returns every command of a batch, by index.
func (s *Store) Commands(ctx context.Context, batch string) ([]cloud.BatchCommand, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+commandColumns+" FROM batch_commands WHERE batch_id = $1 ORDER BY index", batch)
	if err != nil {
		return nil, mapError(err)
	}
	list, err := pgx.CollectRows(rows, scanCommand)
	return list, mapError(err)
}

// DueCommands returns up to limit commands that may be sent now.
func (s *Store) DueCommands(ctx context.Context, batch string, limit int) ([]cloud.BatchCommand, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+commandColumns+` FROM batch_commands
		WHERE batch_id = $1 AND state IN ('waiting', 'sent') AND due_at <= $2 ORDER BY index LIMIT $3`, batch, s.now(), limit)
	if err != nil {
		return nil, mapError(err)
	}
	list, err := pgx.CollectRows(rows, scanCommand)
	return list, mapError(err)
}

// SaveCommand records what became of a command, with a line in the audit
// trail. A final command stays as it is.
func (s *Store) SaveCommand(ctx context.Context, batch string, c cloud.BatchCommand) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		var answer *string
		if len(c.Answer) > 0 {
			text := string(c.Answer)
			answer = &text
		}
		var tenant string
		err := tx.QueryRow(ctx, `UPDATE batch_commands c SET state = $3, attempts = $4, due_at = $5, message = $6, answer = coalesce($7::jsonb, c.answer)
			FROM command_batches b WHERE b.id = c.batch_id AND c.batch_id = $1 AND c.index = $2 AND c.state IN ('waiting', 'sent')
			RETURNING b.tenant_id`, batch, c.Index, c.State, c.Attempts, c.DueAt, clean(c.Message), answer).Scan(&tenant)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		detail := map[string]any{"index": c.Index, "subject": c.Subject, "kind": c.Kind, "attempt": c.Attempts, "message": c.Message}
		if answer != nil {
			detail["answer"] = json.RawMessage(c.Answer)
		}
		return s.appendAudit(ctx, tx, AuditEntry{Tenant: tenant, Actor: cloud.ActorReconciler, Action: "command-batches:" + string(c.State),
			Subject: batch, Detail: detail})
	})
}

// CommandCounts counts a batch's commands by state.
func (s *Store) CommandCounts(ctx context.Context, batch string) (map[cloud.CommandState]int, error) {
	rows, err := s.pool.Query(ctx, "SELECT state, count(*) FROM batch_commands WHERE batch_id = $1 GROUP BY state", batch)
	if err != nil {
		return nil, mapError(err)
	}
	counts := map[cloud.CommandState]int{}
	var state cloud.CommandState
	var n int
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { counts[state] = n; return nil })
	return counts, mapError(err)
}

// BatchFile returns what was fixed at creation, as approvers sign it, and the
// approvals so far.
func (s *Store) BatchFile(ctx context.Context, id string) (quorum.Batch, []quorum.Approval, error) {
	b, err := oneBatch(ctx, s.pool, "id = $1", id)
	if err != nil {
		return quorum.Batch{}, nil, mapError(err)
	}
	commands, err := s.Commands(ctx, id)
	if err != nil {
		return quorum.Batch{}, nil, err
	}
	list, err := s.Approvals(ctx, id)
	if err != nil {
		return quorum.Batch{}, nil, err
	}
	file, err := BatchFileOf(b, commands)
	if err != nil {
		return quorum.Batch{}, nil, mapError(err)
	}
	signed := make([]quorum.Approval, len(list))
	for i := range list {
		signed[i] = list[i].Approval
	}
	return file, signed, nil
}

// BatchFileOf makes the file that approvers sign from a record and its commands.
func BatchFileOf(b *cloud.Batch, commands []cloud.BatchCommand) (quorum.Batch, error) {
	leaves := make([]quorum.BatchLeaf, len(commands))
	for i, c := range commands {
		leaf := quorum.Leaf{Subject: c.Subject, Kind: c.Kind}
		if c.PayloadDigest != "" {
			var h quorum.Hash
			if err := h.UnmarshalText([]byte(c.PayloadDigest)); err != nil {
				return quorum.Batch{}, err
			}
			leaf.PayloadDigest = &h
		}
		leaves[i] = quorum.BatchLeaf{Leaf: leaf}
		if leaf.PayloadDigest != nil {
			leaves[i].Payload = c.Payload
		}
	}
	return quorum.NewBatch(b.TrustDomain, b.ID, b.ExpiresAt, leaves)
}

// ApproveDeletion lets a resource's held deletion go ahead. NOT_FOUND when the
// batch does not hold it and has not let it go before.
func (s *Store) ApproveDeletion(ctx context.Context, batch, resource string) error {
	return s.work(ctx, s.pool, func(w *work) error {
		l, err := w.lockOne(ctx, "r.id = $1", resource)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNotFound("resource")
		}
		if err != nil {
			return err
		}
		if l.r.HeldBy != batch {
			if l.r.Intent == cloud.IntentDelete && l.r.HeldBy == "" {
				return nil // let go by an earlier send whose answer was lost
			}
			return errNotFound("held resource")
		}
		if _, err := w.save(ctx, l, l.r.Approve(batch, w.now), cloud.ActorReconciler); err != nil {
			return err
		}
		w.nudge(l.r.ID, workflowResource, signalRefresh, l.r.Generation, true)
		return nil
	})
}
