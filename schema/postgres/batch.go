package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/better-compute/cloud-resources/cloud"
)

const workflowBatch = "CommandBatch"

const batchColumns = `id, tenant_id, description, owner, trust_domain, root, leaf_count, threshold, expires_at, resource_id,
	state, message, generation, approvers, created_at, updated_at, ended_at`

func scanBatch(row pgx.Row, extra ...any) (*cloud.Batch, error) {
	var b cloud.Batch
	var ended zeronull.Timestamptz
	targets := []any{
		&b.ID, &b.TenantID, &b.Description, &b.Owner, &b.TrustDomain, &b.Root, &b.LeafCount, &b.Threshold, &b.ExpiresAt, &b.ResourceID,
		&b.State, &b.Message, &b.Generation, &b.Approvers, &b.CreatedAt, &b.UpdatedAt, &ended,
	}
	if err := row.Scan(append(targets, extra...)...); err != nil {
		return nil, err
	}
	if len(b.Approvers) == 0 {
		b.Approvers = nil
	}
	b.ExpiresAt, b.CreatedAt, b.UpdatedAt = b.ExpiresAt.UTC(), b.CreatedAt.UTC(), b.UpdatedAt.UTC()
	if t := time.Time(ended); !t.IsZero() {
		b.EndedAt = t.UTC()
	}
	return &b, nil
}

func oneBatch(ctx context.Context, q querier, where string, args ...any) (*cloud.Batch, error) {
	b, err := scanBatch(q.QueryRow(ctx, "SELECT "+batchColumns+" FROM command_batches WHERE "+where, args...))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("batch")
	}
	return b, err
}

// Batch returns a tenant's batch; NOT_FOUND for any other.
func (s *Store) Batch(ctx context.Context, tenant, id string) (*cloud.Batch, error) {
	b, err := oneBatch(ctx, s.pool, "id = $1 AND tenant_id = $2", id, tenant)
	return b, mapError(err)
}

// ReplayBatch returns what is recorded under an id and the digest of the
// request that made it, or nil.
func (s *Store) ReplayBatch(ctx context.Context, id string) (*cloud.Batch, []byte, error) {
	var digest []byte
	b, err := scanBatch(s.pool.QueryRow(ctx, "SELECT "+batchColumns+", request_digest FROM command_batches WHERE id = $1", id), &digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	return b, digest, mapError(err)
}

// ListBatches returns up to limit batches of a tenant, oldest first, after an
// id; open ones only unless ended is set.
func (s *Store) ListBatches(ctx context.Context, tenant string, ended bool, after string, limit int) ([]*cloud.Batch, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+batchColumns+` FROM command_batches b
		WHERE b.tenant_id = $1 AND ($2 OR b.ended_at IS NULL)
		  AND ($3 = '' OR (b.created_at, b.id) > (SELECT a.created_at, a.id FROM command_batches a WHERE a.id = $3 AND a.tenant_id = $1))
		ORDER BY b.created_at, b.id LIMIT $4`, tenant, ended, after, limit)
	if err != nil {
		return nil, mapError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*cloud.Batch, error) { return scanBatch(row) })
	return list, mapError(err)
}

// InsertBatch records a batch with its commands in one transaction. A repeat
// returns what is recorded; the same id with another digest is CONFLICT.
func (s *Store) InsertBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, digest []byte, actor string) (*cloud.Batch, error) {
	var out *cloud.Batch
	err := s.work(ctx, s.pool, func(w *work) (err error) {
		out, err = w.insertBatch(ctx, b, commands, digest, actor)
		return err
	})
	return out, err
}

func (w *work) insertBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, digest []byte, actor string) (*cloud.Batch, error) {
	fresh := *b
	change := fresh.Created(w.now)
	tag, err := w.tx.Exec(ctx, `INSERT INTO command_batches (`+batchColumns+`, request_digest)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18) ON CONFLICT (id) DO NOTHING`,
		fresh.ID, fresh.TenantID, fresh.Description, fresh.Owner, fresh.TrustDomain, fresh.Root, fresh.LeafCount, fresh.Threshold,
		fresh.ExpiresAt, fresh.ResourceID, fresh.State, fresh.Message, fresh.Generation, []string{}, fresh.CreatedAt, fresh.UpdatedAt,
		zeronull.Timestamptz(fresh.EndedAt), digest)
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		var oldDigest []byte
		old, err := scanBatch(w.tx.QueryRow(ctx, "SELECT "+batchColumns+", request_digest FROM command_batches WHERE id = $1", b.ID), &oldDigest)
		if err == nil && !bytes.Equal(oldDigest, digest) {
			return nil, cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
		}
		return old, err
	}
	if err := w.insertCommands(ctx, fresh.ID, commands); err != nil {
		return nil, err
	}
	if _, err := w.tx.Exec(ctx, upsertAuthorization, fresh.ID, fresh.TenantID, fresh.Owner, "{}"); err != nil {
		return nil, err
	}
	err = w.s.appendAudit(ctx, w.tx, AuditEntry{Tenant: fresh.TenantID, Actor: actor, Action: "command-batches:create", Subject: fresh.ID,
		Detail: map[string]any{"statement": statementOf(&fresh), "threshold": fresh.Threshold, "resourceId": fresh.ResourceID}})
	if err != nil {
		return nil, err
	}
	w.emitBatch(&fresh, change, actor)
	w.nudge(fresh.ID, workflowBatch, signalRefresh, fresh.Generation, false)
	return &fresh, nil
}

func (w *work) insertCommands(ctx context.Context, batch string, commands []cloud.BatchCommand) error {
	_, err := w.tx.CopyFrom(ctx, pgx.Identifier{"batch_commands"},
		[]string{"batch_id", "index", "subject", "kind", "payload", "payload_digest", "state", "due_at"},
		pgx.CopyFromSlice(len(commands), func(i int) ([]any, error) {
			c := commands[i]
			return []any{batch, c.Index, c.Subject, c.Kind, c.Payload, c.PayloadDigest, string(cloud.CommandWaiting), w.now}, nil
		}))
	return err
}

// statementOf is what approvers sign, for the audit trail.
func statementOf(b *cloud.Batch) map[string]any {
	return map[string]any{"trustDomain": b.TrustDomain, "batchId": b.ID, "root": b.Root, "leafCount": b.LeafCount, "expiresAt": b.ExpiresAt.UnixMilli()}
}

func (w *work) emitBatch(b *cloud.Batch, change *cloud.BatchChange, actor string) {
	for _, e := range change.Events {
		e.Data["batchId"] = b.ID
		if b.ResourceID != "" {
			e.Data["resourceId"] = b.ResourceID
		}
		w.emit(b.TenantID, b.ID, string(e.Type), actor, e.Data)
	}
}

// ChangeBatch locks a batch, runs fn and saves what it did: events, held
// deletions given back, unsent commands dropped, and an outbox row when the
// generation moved.
func (s *Store) ChangeBatch(ctx context.Context, id, actor string, fn func(b *cloud.Batch) *cloud.BatchChange) error {
	return s.work(ctx, s.pool, func(w *work) error {
		return w.changeBatch(ctx, id, actor, func(b *cloud.Batch) (*cloud.BatchChange, error) { return fn(b), nil })
	})
}

func (w *work) changeBatch(ctx context.Context, id, actor string, fn func(b *cloud.Batch) (*cloud.BatchChange, error)) error {
	b, err := oneBatch(ctx, w.tx, "id = $1 FOR UPDATE", id)
	if err != nil {
		return err
	}
	before := *b
	change, err := fn(b)
	if err != nil || change == nil {
		return err
	}
	approvers := b.Approvers
	if approvers == nil {
		approvers = []string{}
	}
	_, err = w.tx.Exec(ctx, `UPDATE command_batches SET state = $2, message = $3, generation = $4, approvers = $5, updated_at = $6, ended_at = $7, threshold = $8
		WHERE id = $1`, b.ID, b.State, clean(b.Message), b.Generation, approvers, b.UpdatedAt, zeronull.Timestamptz(b.EndedAt), b.Threshold)
	if err != nil {
		return err
	}
	if change.Drop {
		_, err := w.tx.Exec(ctx, `UPDATE batch_commands SET
				state = CASE state WHEN 'waiting' THEN 'dropped' ELSE 'interrupted' END,
				message = CASE state WHEN 'waiting' THEN 'the batch ended before it was sent'
					ELSE 'it was sent, and the batch ended before an answer came; the daemon''s journal knows what became of it' END
			WHERE batch_id = $1 AND state IN ('waiting', 'sent')`, b.ID)
		if err != nil {
			return err
		}
	}
	if change.GiveBack {
		if err := w.giveBack(ctx, b.ID, actor); err != nil {
			return err
		}
	}
	if b.State != before.State {
		err := w.s.appendAudit(ctx, w.tx, AuditEntry{Tenant: b.TenantID, Actor: actor, Action: "command-batches:" + string(b.State), Subject: b.ID,
			Detail: map[string]any{"message": b.Message, "approvers": approvers}})
		if err != nil {
			return err
		}
	}
	if b.State.Final() {
		if _, err := w.tx.Exec(ctx, "DELETE FROM authorization_rows WHERE resource_id = $1", b.ID); err != nil {
			return err
		}
	}
	w.emitBatch(b, change, actor)
	if b.Generation != before.Generation {
		w.nudge(b.ID, workflowBatch, signalRefresh, b.Generation, false)
	}
	return nil
}
