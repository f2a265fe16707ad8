package intent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// How long a batch may wait and go out. Its statement says until when its
// approvals hold, so a batch always has an end.
const (
	DefaultBatchTime = 24 * time.Hour
	MaxBatchTime     = 30 * 24 * time.Hour
	minBatchTime     = time.Minute
)

// BatchStore is what command batches need of the store; schema/postgres
// implements it. Errors are *cloud.Error.
type BatchStore interface {
	Batch(ctx context.Context, tenant, id string) (*cloud.Batch, error)
	ReplayBatch(ctx context.Context, id string) (*cloud.Batch, []byte, error)
	InsertBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, digest []byte, actor string) (*cloud.Batch, error)
	// BatchFile is what approvers sign, with the approvals so far.
	BatchFile(ctx context.Context, id string) (quorum.Batch, []quorum.Approval, error)
	// AddApproval records an approval; judge says from all of them who signed
	// and whether they are enough.
	AddApproval(ctx context.Context, batch, actor string, a quorum.Approval, judge func(b *cloud.Batch, all []quorum.Approval) (approvers []string, enough bool, err error)) (*cloud.Batch, error)
	ChangeBatch(ctx context.Context, id, actor string, fn func(b *cloud.Batch) *cloud.BatchChange) error
	QuorumPolicy(ctx context.Context) (quorum.Policy, error)
	Deployment(ctx context.Context) (string, error)
}

// BatchService is the rules of command batches, for calls and hand-sent signals.
type BatchService struct {
	Store BatchStore
	Now   Clock
}

// BatchCommand is one command as it was asked for.
type BatchCommand struct {
	Subject string
	Kind    string
	// Payload is bound to the leaf when it is not nil: approvers sign exactly it.
	Payload []byte
}

// NewBatch is a create as it was asked for.
type NewBatch struct {
	TenantID       string
	Description    string
	Commands       []BatchCommand
	ExpiresAt      int64 // epoch ms; 0: in 24 hours
	IdempotencyKey string
}

func (n NewBatch) digest() []byte {
	n.IdempotencyKey = ""
	b, err := json.Marshal(n)
	if err != nil { // plain values only: cannot happen
		return nil
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// Create fixes a batch: its commands, their order and their root never change.
// A repeat of the same request returns what it made.
func (s *BatchService) Create(ctx context.Context, p Principal, n NewBatch) (*cloud.Batch, error) {
	id, digest := cloud.DeriveID(cloud.PrefixBatch, n.TenantID, p.ID, n.IdempotencyKey), n.digest()
	old, oldDigest, err := s.Store.ReplayBatch(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case old != nil && string(oldDigest) != string(digest):
		return nil, cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
	case old != nil:
		return old, nil
	}
	for i, c := range n.Commands {
		if c.Kind == cloud.KindDeleteResource {
			return nil, cloud.InvalidField("this kind is made by cloudResources/delete only", fmt.Sprintf("commands[%d].kind", i))
		}
	}
	b, commands, err := s.prepare(ctx, id, n)
	if err != nil {
		return nil, err
	}
	b.Owner = p.ID
	return s.Store.InsertBatch(ctx, b, commands, digest, p.ID)
}

// prepare checks the commands and computes the root under the present policy.
func (s *BatchService) prepare(ctx context.Context, id string, n NewBatch) (*cloud.Batch, []cloud.BatchCommand, error) {
	now := s.Now()
	expires := now.Add(DefaultBatchTime)
	if n.ExpiresAt != 0 {
		expires = time.UnixMilli(n.ExpiresAt).UTC()
		if expires.Before(now.Add(minBatchTime)) || expires.After(now.Add(MaxBatchTime)) {
			return nil, nil, cloud.InvalidField("expiresAt lies between one minute and 30 days from now, in milliseconds since 1970", "expiresAt")
		}
	}
	policy, err := s.Store.QuorumPolicy(ctx)
	if err != nil {
		return nil, nil, err
	}
	domain := policy.TrustDomain
	if domain == "" {
		if domain, err = s.Store.Deployment(ctx); err != nil {
			return nil, nil, err
		}
	}
	leaves := make([]quorum.BatchLeaf, len(n.Commands))
	commands := make([]cloud.BatchCommand, len(n.Commands))
	for i, c := range n.Commands {
		leaf := quorum.Leaf{Subject: c.Subject, Kind: c.Kind}
		commands[i] = cloud.BatchCommand{Index: i, Subject: c.Subject, Kind: c.Kind, Payload: c.Payload}
		if c.Payload != nil {
			leaf = leaf.Bind(c.Payload)
			commands[i].PayloadDigest = leaf.PayloadDigest.String()
		}
		if err := leaf.Validate(); err != nil {
			return nil, nil, cloud.InvalidField(err.Error(), fmt.Sprintf("commands[%d]", i))
		}
		leaves[i] = quorum.BatchLeaf{Leaf: leaf, Payload: c.Payload}
	}
	expires = expires.Truncate(time.Millisecond)
	file, err := quorum.NewBatch(domain, id, expires, leaves)
	if err != nil {
		return nil, nil, cloud.InvalidField(err.Error(), "commands")
	}
	statement, _, err := file.Open()
	if err != nil {
		return nil, nil, cloud.InvalidField(err.Error(), "commands")
	}
	return &cloud.Batch{
		ID: id, TenantID: n.TenantID, Description: n.Description, TrustDomain: domain, Root: statement.Root.String(),
		LeafCount: len(leaves), Threshold: policy.Threshold, ExpiresAt: expires,
	}, commands, nil
}

// Approve takes an approval. The signature says who approves; the caller only
// hands it in. INVALID_INPUT when it is not a signature of a published approver
// over exactly this batch; repeating one changes nothing.
func (s *BatchService) Approve(ctx context.Context, tenant, id, actor string, a quorum.ApprovalFile) (*cloud.Batch, error) {
	b, err := s.Store.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if b.State != cloud.BatchAwaiting {
		return nil, cloud.Errorf(cloud.CodeInvalidState, "the batch is %s and takes no approvals", b.State)
	}
	file, _, err := s.Store.BatchFile(ctx, id)
	if err != nil {
		return nil, err
	}
	statement, _, err := file.Open()
	if err != nil {
		return nil, err
	}
	if a.Statement != statement {
		return nil, cloud.InvalidField("the approval is for another statement than this batch's", "approval.statement")
	}
	policy, err := s.Store.QuorumPolicy(ctx)
	if err != nil {
		return nil, err
	}
	if err := quorum.VerifyApproval(policy, statement, a.Approval, s.Now()); err != nil {
		return nil, refused(err)
	}
	return s.Store.AddApproval(ctx, id, actor, a.Approval, func(_ *cloud.Batch, all []quorum.Approval) ([]string, bool, error) {
		return Judge(policy, statement, all, s.Now())
	})
}

// Judge says who of the approvals counts under a policy, and whether they are
// enough. Approvals that no longer verify (a key revoked since) do not count.
func Judge(policy quorum.Policy, statement quorum.Statement, all []quorum.Approval, now time.Time) (approvers []string, enough bool, err error) {
	var valid []quorum.Approval
	for _, a := range all {
		if quorum.VerifyApproval(policy, statement, a, now) == nil {
			valid = append(valid, a)
		}
	}
	approvers, err = quorum.VerifyApprovals(policy, statement, valid, now)
	return approvers, err == nil, nil
}

func refused(err error) error {
	var r *quorum.Refusal
	if errors.As(err, &r) {
		return cloud.InvalidField("the approval is refused: "+r.Error(), "approval").Because(string(r.Reason))
	}
	return err
}

// Cancel ends a batch: commands that were not sent are dropped, and a deletion
// that it held is given back. INVALID_STATE for one that has ended.
func (s *BatchService) Cancel(ctx context.Context, tenant, id, actor string) (*cloud.Batch, error) {
	b, err := s.Store.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if b.State == cloud.BatchCancelled {
		return b, nil
	}
	var state cloud.BatchState
	err = s.Store.ChangeBatch(ctx, id, actor, func(b *cloud.Batch) *cloud.BatchChange {
		if b.State.Final() {
			state = b.State
			return nil
		}
		return b.Cancel(s.Now())
	})
	switch {
	case err != nil:
		return nil, err
	case state != "" && state != cloud.BatchCancelled:
		return nil, cloud.Errorf(cloud.CodeInvalidState, "the batch is %s", state)
	}
	return s.Store.Batch(ctx, tenant, id)
}

// OperatorApprove takes an approval file as the payload of a hand-sent signal.
func (s *BatchService) OperatorApprove(ctx context.Context, id string, payload []byte) error {
	a, err := quorum.DecodeApproval(payload)
	if err != nil {
		return cloud.InvalidField("the payload is no approval file: "+err.Error(), "payload")
	}
	b, err := s.batchOf(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Approve(ctx, b.TenantID, id, cloud.ActorOperator, a)
	return err
}

// OperatorCancel cancels by a hand-sent signal.
func (s *BatchService) OperatorCancel(ctx context.Context, id string) error {
	b, err := s.batchOf(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Cancel(ctx, b.TenantID, id, cloud.ActorOperator)
	return err
}

func (s *BatchService) batchOf(ctx context.Context, id string) (*cloud.Batch, error) {
	b, _, err := s.Store.ReplayBatch(ctx, id)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, cloud.Errorf(cloud.CodeNotFound, "no such batch")
	}
	return b, nil
}

// BatchTx is what a delete's transaction offers for its batch.
type BatchTx interface {
	RecordBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, actor string) error
	// HoldTree holds the deletion of everything that lives in a resource.
	HoldTree(ctx context.Context, parent, batch, actor string) error
}

var _ Batches = (*BatchService)(nil)

// DeleteBatch records, in the transaction of a delete, the batch whose approval
// it awaits: one command for the resource and one for each that lives in it,
// whose deletions it holds. A repeat makes no second batch.
func (s *BatchService) DeleteBatch(ctx context.Context, tx Tx, r *cloud.Resource, tree []*cloud.Resource, actor string) (string, error) {
	recorder, ok := tx.(BatchTx)
	if !ok {
		return "", cloud.Errorf(cloud.CodeUnsupported, "this store keeps no command batches")
	}
	id := cloud.DeriveID(cloud.PrefixBatch, r.TenantID, "delete", r.ID, fmt.Sprint(r.Generation))
	n := NewBatch{TenantID: r.TenantID, Description: "delete " + r.Kind + " " + r.Name}
	for _, t := range append([]*cloud.Resource{r}, tree...) {
		n.Commands = append(n.Commands, BatchCommand{Subject: t.ID, Kind: cloud.KindDeleteResource,
			Payload: fmt.Appendf(nil, `{"kind":%q,"name":%q,"tenantId":%q}`, t.Kind, t.Name, t.TenantID)})
	}
	b, commands, err := s.prepare(ctx, id, n)
	if err != nil {
		return "", err
	}
	b.Owner, b.ResourceID = actor, r.ID
	if err := recorder.RecordBatch(ctx, b, commands, actor); err != nil {
		return "", err
	}
	return id, recorder.HoldTree(ctx, r.ID, id, actor)
}
