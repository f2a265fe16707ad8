package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// executor is a pool, a connection or a transaction that writes.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// AuditEntry is one line of the audit trail: something that must be answerable
// later and is no change of a resource (those are events).
type AuditEntry struct {
	// ID orders the trail; set when read.
	ID int64
	// At is now when zero.
	At     time.Time
	Tenant string
	// Actor is a principal's id, or one of cloud.Actor*.
	Actor string
	// Action is the authorization action or another dotted word, Subject what it
	// was done to.
	Action  string
	Subject string
	// Detail never holds a secret.
	Detail map[string]any
}

// AuditFilter narrows AuditTrail; empty fields do not.
type AuditFilter struct {
	Tenant  string
	Subject string
	Action  string
}

// AppendAudit adds a line to the audit trail.
func (s *Store) AppendAudit(ctx context.Context, e AuditEntry) error {
	return mapError(s.appendAudit(ctx, s.pool, e))
}

// appendAudit adds the line with the transaction that does what it tells of.
func (s *Store) appendAudit(ctx context.Context, q executor, e AuditEntry) error {
	if e.At.IsZero() {
		e.At = s.now()
	}
	detail := []byte("{}")
	if len(e.Detail) > 0 {
		var err error
		if detail, err = json.Marshal(e.Detail); err != nil {
			return err
		}
	}
	_, err := q.Exec(ctx, `INSERT INTO audit (at, tenant_id, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.At, e.Tenant, e.Actor, e.Action, e.Subject, detail)
	return err
}

// AuditTrail returns up to limit lines after the one with the given ID, oldest
// first.
func (s *Store) AuditTrail(ctx context.Context, f AuditFilter, after int64, limit int) ([]AuditEntry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT id, at, tenant_id, actor, action, subject, detail FROM audit
		WHERE id > $1 AND ($2 = '' OR tenant_id = $2) AND ($3 = '' OR subject = $3) AND ($4 = '' OR action = $4)
		ORDER BY id LIMIT $5`, after, f.Tenant, f.Subject, f.Action, limit)
	if err != nil {
		return nil, mapError(err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (AuditEntry, error) {
		var e AuditEntry
		err := row.Scan(&e.ID, &e.At, &e.Tenant, &e.Actor, &e.Action, &e.Subject, &e.Detail)
		return e, err
	})
	return entries, mapError(err)
}
