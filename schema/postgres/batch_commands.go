package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
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

// ClaimCommand notes that a command is about to be sent: c has its new count of
// attempts and the time at which it may be sent again. It is false when another
// attempt took it meanwhile or the batch ended; the command is then not to be
// sent. sent says, for the audit trail, what goes out.
func (s *Store) ClaimCommand(ctx context.Context, batch string, c cloud.BatchCommand, sent map[string]any) (claimed bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		tenant, err := saveCommand(ctx, tx, batch, c, `c.state IN ('waiting', 'sent') AND c.attempts = $4 - 1 AND b.state = 'dispatching'`)
		claimed = err == nil && tenant != ""
		if err != nil || !claimed {
			return err
		}
		return s.auditCommand(ctx, tx, tenant, batch, "send", c, sent)
	})
	return claimed, err
}

// SaveCommand records what became of a command, with a line in the audit trail
// unless it only waits. A final command stays as it is, except that a daemon's
// answer which came after the batch ended is the truth about one that was sent.
func (s *Store) SaveCommand(ctx context.Context, batch string, c cloud.BatchCommand) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		tenant, err := saveCommand(ctx, tx, batch, c, `(c.state IN ('waiting', 'sent') OR c.state = 'interrupted' AND c.answer IS NULL AND $3 NOT IN ('waiting', 'sent'))
			AND c.attempts <= $4`)
		if err != nil || tenant == "" || !c.State.Final() {
			return err
		}
		said := map[string]any{}
		if len(c.Answer) > 0 {
			said["answer"] = json.RawMessage(c.Answer)
		}
		return s.auditCommand(ctx, tx, tenant, batch, string(c.State), c, said)
	})
}

// saveCommand returns the batch's tenant, "" when the condition did not hold.
func saveCommand(ctx context.Context, tx pgx.Tx, batch string, c cloud.BatchCommand, condition string) (tenant string, err error) {
	var answer *string
	if len(c.Answer) > 0 {
		text := string(c.Answer)
		answer = &text
	}
	err = tx.QueryRow(ctx, `UPDATE batch_commands c SET state = $3, attempts = $4, due_at = $5, message = $6, answer = coalesce($7::jsonb, c.answer)
		FROM command_batches b WHERE b.id = c.batch_id AND c.batch_id = $1 AND c.index = $2 AND `+condition+`
		RETURNING b.tenant_id`, batch, c.Index, c.State, c.Attempts, c.DueAt, clean(c.Message), answer).Scan(&tenant)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return tenant, err
}

func (s *Store) auditCommand(ctx context.Context, tx pgx.Tx, tenant, batch, what string, c cloud.BatchCommand, more map[string]any) error {
	detail := map[string]any{"index": c.Index, "subject": c.Subject, "kind": c.Kind, "attempt": c.Attempts}
	if c.Message != "" {
		detail["message"] = c.Message
	}
	maps.Copy(detail, more)
	return s.appendAudit(ctx, tx, AuditEntry{Tenant: tenant, Actor: cloud.ActorReconciler, Action: "command-batches:" + what, Subject: batch, Detail: detail})
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
	signed, err := s.BatchApprovals(ctx, id)
	if err != nil {
		return quorum.Batch{}, nil, err
	}
	file, err := BatchFileOf(b, commands)
	return file, signed, mapError(err)
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
