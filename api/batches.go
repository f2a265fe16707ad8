package api

import (
	"context"
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Actions on command batches.
const (
	actionBatchRead    = "compute:command-batches:read"
	actionBatchCreate  = "compute:command-batches:create"
	actionBatchApprove = "compute:command-batches:approve"
	actionBatchCancel  = "compute:command-batches:cancel"
)

type newBatchInput struct {
	TenantID    string `json:"tenantId"`
	Description string `json:"description"`
	Commands    []struct {
		Subject string `json:"subject"`
		Kind    string `json:"kind"`
		Payload []byte `json:"payload"`
	} `json:"commands"`
	ExpiresAt      int64  `json:"expiresAt"`
	IdempotencyKey string `json:"idempotencyKey"`
}

type batchInput struct {
	TenantID     string          `json:"tenantId"`
	BatchID      string          `json:"batchId"`
	Approval     json.RawMessage `json:"approval"`
	IncludeEnded bool            `json:"includeEnded"`
	After        string          `json:"after"`
}

type batchView struct {
	ID          string             `json:"id"`
	TenantID    string             `json:"tenantId"`
	Description string             `json:"description,omitempty"`
	Owner       string             `json:"owner"`
	TrustDomain string             `json:"trustDomain,omitempty"`
	Root        string             `json:"root"`
	LeafCount   int                `json:"leafCount"`
	Threshold   int                `json:"threshold"`
	ResourceID  string             `json:"resourceId,omitempty"`
	State       cloud.BatchState   `json:"state"`
	Message     string             `json:"message,omitempty"`
	Approvers   []string           `json:"approvers"`
	ExpiresAt   int64              `json:"expiresAt"`
	CreatedAt   int64              `json:"createdAt"`
	UpdatedAt   int64              `json:"updatedAt"`
	EndedAt     int64              `json:"endedAt,omitempty"`
	File        *quorum.Batch      `json:"file,omitempty"`
	Approvals   []quorum.Approval  `json:"approvals,omitempty"`
	Commands    []batchCommandView `json:"commands,omitempty"`
	Audit       []auditView        `json:"audit,omitempty"`
	Truncated   bool               `json:"auditTruncated,omitempty"`
}

type auditView struct {
	At     int64          `json:"at"`
	Actor  string         `json:"actor"`
	Action string         `json:"action"`
	Detail map[string]any `json:"detail,omitempty"`
}

type batchCommandView struct {
	Index         int                `json:"index"`
	Subject       string             `json:"subject"`
	Kind          string             `json:"kind"`
	PayloadDigest string             `json:"payloadDigest,omitempty"`
	State         cloud.CommandState `json:"state"`
	Attempts      int                `json:"attempts"`
	Message       string             `json:"message,omitempty"`
	Answer        json.RawMessage    `json:"answer,omitempty"`
}

func viewOfBatch(b *cloud.Batch) batchView {
	v := batchView{
		ID: b.ID, TenantID: b.TenantID, Description: b.Description, Owner: b.Owner, TrustDomain: b.TrustDomain, Root: b.Root,
		LeafCount: b.LeafCount, Threshold: b.Threshold, ResourceID: b.ResourceID, State: b.State, Message: b.Message, Approvers: b.Approvers,
		ExpiresAt: millis(b.ExpiresAt), CreatedAt: millis(b.CreatedAt), UpdatedAt: millis(b.UpdatedAt), EndedAt: millis(b.EndedAt),
	}
	if v.Approvers == nil {
		v.Approvers = []string{}
	}
	return v
}

func (s *server) createBatch(ctx context.Context, p intent.Principal, in newBatchInput) (any, error) {
	id := cloud.DeriveID(cloud.PrefixBatch, in.TenantID, p.ID, in.IdempotencyKey)
	if err := s.onBatch(ctx, p, actionBatchCreate, in.TenantID, id); err != nil {
		return nil, err
	}
	n := intent.NewBatch{TenantID: in.TenantID, Description: in.Description, ExpiresAt: in.ExpiresAt, IdempotencyKey: in.IdempotencyKey}
	for _, c := range in.Commands {
		n.Commands = append(n.Commands, intent.BatchCommand{Subject: c.Subject, Kind: c.Kind, Payload: c.Payload})
	}
	b, err := s.Batches.Create(ctx, p, n)
	return s.wantedBatch(ctx, b, err)
}

func (s *server) getBatch(ctx context.Context, p intent.Principal, in batchInput) (any, error) {
	if err := s.onBatch(ctx, p, actionBatchRead, in.TenantID, in.BatchID); err != nil {
		return nil, err
	}
	d, err := s.Batches.BatchDetail(ctx, in.TenantID, in.BatchID)
	if err != nil {
		return nil, err
	}
	v := viewOfBatch(d.Batch)
	v.File, v.Approvals, v.Truncated = &d.File, d.Approvals, d.AuditTruncated
	for _, l := range d.Audit {
		v.Audit = append(v.Audit, auditView{At: millis(l.At), Actor: l.Actor, Action: l.Action, Detail: l.Detail})
	}
	for _, c := range d.Commands {
		v.Commands = append(v.Commands, batchCommandView{
			Index: c.Index, Subject: c.Subject, Kind: c.Kind, PayloadDigest: c.PayloadDigest,
			State: c.State, Attempts: c.Attempts, Message: c.Message, Answer: c.Answer,
		})
	}
	return v, nil
}

func (s *server) listBatches(ctx context.Context, p intent.Principal, in batchInput) (any, error) {
	if s.Batches == nil {
		return nil, unserved("command batches")
	}
	if err := s.enter(ctx, p, actionBatchRead, in.TenantID, intent.TypeBatch); err != nil {
		return nil, err
	}
	id := func(b *cloud.Batch) string { return b.ID }
	rows, err := allowedRows(ctx, in.After,
		func(after string, limit int) ([]*cloud.Batch, error) {
			return s.Batches.ListBatches(ctx, in.TenantID, in.IncludeEnded, after, limit)
		},
		id,
		func(b *cloud.Batch) error {
			return s.Authorizer.Decide(ctx, p, actionBatchRead, intent.Target{Type: intent.TypeBatch, ID: b.ID, Tenant: in.TenantID})
		})
	if err != nil {
		return nil, err
	}
	return page(rows, id, viewOfBatch), nil
}

func (s *server) approveBatch(ctx context.Context, p intent.Principal, in batchInput) (any, error) {
	if err := s.onBatch(ctx, p, actionBatchApprove, in.TenantID, in.BatchID); err != nil {
		return nil, err
	}
	approval, err := intent.DecodeApproval(in.Approval)
	if err != nil {
		return nil, err
	}
	b, err := s.Batches.Approve(ctx, in.TenantID, in.BatchID, p.ID, approval)
	return s.wantedBatch(ctx, b, err)
}

func (s *server) cancelBatch(ctx context.Context, p intent.Principal, in batchInput) (any, error) {
	if err := s.onBatch(ctx, p, actionBatchCancel, in.TenantID, in.BatchID); err != nil {
		return nil, err
	}
	b, err := s.Batches.Cancel(ctx, in.TenantID, in.BatchID, p.ID)
	return s.wantedBatch(ctx, b, err)
}

func (s *server) onBatch(ctx context.Context, p intent.Principal, action, tenant, id string) error {
	if s.Batches == nil {
		return unserved("command batches")
	}
	return s.on(ctx, p, action, tenant, intent.TypeBatch, id)
}

func (s *server) wantedBatch(ctx context.Context, b *cloud.Batch, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	s.nudge(ctx, b.ID)
	return viewOfBatch(b), nil
}
