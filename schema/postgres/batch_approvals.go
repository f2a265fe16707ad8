package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

var _ intent.BatchStore = (*Store)(nil)

// Approval is one approval as it was handed in.
type Approval struct {
	quorum.Approval
	Actor string
	At    time.Time
}

// Approvals returns the approvals of a batch, in the order of their coming.
func (s *Store) Approvals(ctx context.Context, batch string) ([]Approval, error) {
	list, err := approvals(ctx, s.pool, batch)
	return list, mapError(err)
}

// BatchApprovals is Approvals without who handed them in.
func (s *Store) BatchApprovals(ctx context.Context, batch string) ([]quorum.Approval, error) {
	list, err := approvals(ctx, s.pool, batch)
	return signatures(list), mapError(err)
}

func signatures(list []Approval) []quorum.Approval {
	out := make([]quorum.Approval, len(list))
	for i := range list {
		out[i] = list[i].Approval
	}
	return out
}

func approvals(ctx context.Context, q querier, batch string) ([]Approval, error) {
	rows, err := q.Query(ctx, "SELECT approval, actor, at FROM batch_approvals WHERE batch_id = $1 ORDER BY at, approver_id", batch)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Approval, error) {
		var a Approval
		var raw []byte
		if err := row.Scan(&raw, &a.Actor, &a.At); err != nil {
			return a, err
		}
		a.At = a.At.UTC()
		return a, json.Unmarshal(raw, &a.Approval)
	})
}

// AddApproval records a verified approval (nil: none), with its line in the
// audit trail, and judges all of them anew. A repeat is not recorded again; an
// approver who signs with another key replaces the former signature.
// INVALID_STATE unless the batch awaits approvals.
func (s *Store) AddApproval(ctx context.Context, batch, actor string, a *quorum.Approval, judge func(all []quorum.Approval) intent.Verdict) (*cloud.Batch, error) {
	var out *cloud.Batch
	err := s.work(ctx, s.pool, func(w *work) error {
		return w.changeBatch(ctx, batch, actor, func(b *cloud.Batch) (*cloud.BatchChange, error) {
			out = b
			if b.State != cloud.BatchAwaiting {
				return nil, cloud.Errorf(cloud.CodeInvalidState, "the batch is %s and takes no approvals", b.State).With("state", string(b.State))
			}
			if a != nil {
				if err := w.insertApproval(ctx, b, actor, *a); err != nil {
					return nil, err
				}
				// Its workflow shows who has signed, and is started again if somebody
				// terminated it.
				w.nudge(b.ID, workflowBatch, signalRefresh, b.Generation, false)
			}
			list, err := approvals(ctx, w.tx, batch)
			if err != nil {
				return nil, err
			}
			v := judge(signatures(list))
			return b.Approved(v.Approvers, v.Threshold, v.Enough, w.now), nil
		})
	})
	return out, err
}

func (w *work) insertApproval(ctx context.Context, b *cloud.Batch, actor string, a quorum.Approval) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	tag, err := w.tx.Exec(ctx, `INSERT INTO batch_approvals AS old (batch_id, approver_id, approval, actor, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (batch_id, approver_id) DO UPDATE SET approval = EXCLUDED.approval, actor = EXCLUDED.actor, at = EXCLUDED.at
		WHERE old.approval <> EXCLUDED.approval`, b.ID, a.ApproverID, string(raw), actor, w.now)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return w.s.appendAudit(ctx, w.tx, AuditEntry{Tenant: b.TenantID, Actor: actor, Action: "command-batches:approve", Subject: b.ID,
		Detail: map[string]any{"approver": a.ApproverID, "approval": json.RawMessage(raw), "statement": statementOf(b)}})
}
