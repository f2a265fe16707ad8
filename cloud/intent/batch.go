package intent

import (
	"cmp"
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

// maxPayloads bounds the payloads of one batch, in bytes: a dispatch reads them all.
const maxPayloads = 16 << 20

// BatchStore is what command batches need of the store; schema/postgres
// implements it. Errors are *cloud.Error.
type BatchStore interface {
	Batch(ctx context.Context, tenant, id string) (*cloud.Batch, error)
	ReplayBatch(ctx context.Context, id string) (*cloud.Batch, []byte, error)
	InsertBatch(ctx context.Context, b *cloud.Batch, commands []cloud.BatchCommand, digest []byte, actor string) (*cloud.Batch, error)
	// BatchApprovals returns the approvals so far, in the order of their coming.
	BatchApprovals(ctx context.Context, id string) ([]quorum.Approval, error)
	// AddApproval records an approval (nil: none) and judges all of them anew.
	// One that is recorded already changes nothing. INVALID_STATE unless the
	// batch awaits approvals.
	AddApproval(ctx context.Context, batch, actor string, a *quorum.Approval, judge func(all []quorum.Approval) Verdict) (*cloud.Batch, error)
	// ChangeBatch locks the batch, runs fn and saves; a nil change is none.
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
	t, err := s.terms(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	b, commands, err := s.prepare(t, id, n)
	if err != nil {
		return nil, err
	}
	b.Owner = p.ID
	return s.Store.InsertBatch(ctx, b, commands, digest, p.ID)
}

// terms are what a batch is made under.
type terms struct {
	policy     quorum.Policy
	deployment string
}

func (s *BatchService) terms(ctx context.Context, from termSource) (t terms, err error) {
	if t.policy, err = from.QuorumPolicy(ctx); err != nil {
		return t, err
	}
	t.deployment, err = from.Deployment(ctx)
	return t, err
}

// termSource is the store, or a transaction of it.
type termSource interface {
	QuorumPolicy(ctx context.Context) (quorum.Policy, error)
	Deployment(ctx context.Context) (string, error)
}

// prepare checks the commands and computes the root. Without approver keys the
// deployment's name stands for the trust domain.
func (s *BatchService) prepare(t terms, id string, n NewBatch) (*cloud.Batch, []cloud.BatchCommand, error) {
	expires, err := s.expiry(n.ExpiresAt)
	if err != nil {
		return nil, nil, err
	}
	leaves := make([]quorum.BatchLeaf, len(n.Commands))
	commands := make([]cloud.BatchCommand, len(n.Commands))
	size := 0
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
		if size += len(c.Payload); size > maxPayloads {
			return nil, nil, cloud.InvalidField(fmt.Sprintf("the payloads of a batch have at most %d MiB in all", maxPayloads>>20), "commands")
		}
		leaves[i] = quorum.BatchLeaf{Leaf: leaf, Payload: c.Payload}
	}
	domain := cmp.Or(t.policy.TrustDomain, t.deployment)
	file, err := quorum.NewBatch(domain, id, expires, leaves)
	if err != nil {
		return nil, nil, cloud.InvalidField(err.Error(), "commands")
	}
	return &cloud.Batch{
		ID: id, TenantID: n.TenantID, Description: n.Description, TrustDomain: domain, Root: file.Root.String(),
		LeafCount: len(leaves), Threshold: t.policy.Threshold, ExpiresAt: expires,
	}, commands, nil
}

func (s *BatchService) expiry(asked int64) (time.Time, error) {
	now := s.Now().UTC()
	if asked == 0 {
		return now.Add(DefaultBatchTime).Truncate(time.Millisecond), nil
	}
	expires := time.UnixMilli(asked).UTC()
	if expires.Before(now.Add(minBatchTime)) || expires.After(now.Add(MaxBatchTime)) {
		return expires, cloud.InvalidField("expiresAt lies between one minute and 30 days from now, in milliseconds since 1970", "expiresAt")
	}
	return expires, nil
}

// StatementOf is what the approvers of a batch sign.
func StatementOf(b *cloud.Batch) (quorum.Statement, error) {
	st := quorum.Statement{TrustDomain: b.TrustDomain, BatchID: b.ID, LeafCount: uint64(b.LeafCount), ExpiresAt: b.ExpiresAt.UnixMilli()}
	return st, st.Root.UnmarshalText([]byte(b.Root))
}

// DecodeApproval reads what an approver hands in: the file of an offline
// signing, or its approval alone, which then is for the batch it is handed to.
func DecodeApproval(raw []byte) (quorum.ApprovalFile, error) {
	file, err := quorum.DecodeApproval(raw)
	if err == nil {
		return file, nil
	}
	var alone quorum.Approval
	if quorum.DecodeStrict(raw, &alone) == nil && alone.ApproverID != "" {
		return quorum.ApprovalFile{Approval: alone}, nil
	}
	return file, cloud.InvalidField("no approval file: "+err.Error(), "approval")
}

// Approve takes an approval. The signature says who approves; the caller only
// hands it in. INVALID_INPUT when it is not a signature of a published approver
// over exactly this batch; repeating one changes nothing.
func (s *BatchService) Approve(ctx context.Context, tenant, id, actor string, file quorum.ApprovalFile) (*cloud.Batch, error) {
	b, err := s.Store.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	statement, err := StatementOf(b)
	if err != nil {
		return nil, err
	}
	if file.Format != "" && file.Statement != statement {
		return nil, cloud.InvalidField("the approval is for another statement than this batch's", "approval.statement")
	}
	if b.State != cloud.BatchAwaiting {
		return s.repeated(ctx, b, file.Approval)
	}
	policy, err := s.Store.QuorumPolicy(ctx)
	if err != nil {
		return nil, err
	}
	if err := quorum.VerifyApproval(policy, statement, file.Approval, s.Now()); err != nil {
		return nil, refused(err)
	}
	return s.Store.AddApproval(ctx, id, actor, &file.Approval, func(all []quorum.Approval) Verdict {
		return Judge(policy, statement, all, s.Now())
	})
}

// repeated lets an approval pass that was recorded before: the answer to it may
// have been lost. Any other comes too late.
func (s *BatchService) repeated(ctx context.Context, b *cloud.Batch, a quorum.Approval) (*cloud.Batch, error) {
	signed, err := s.Store.BatchApprovals(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	for _, old := range signed {
		if old.ApproverID == a.ApproverID && old.Signature == a.Signature {
			return b, nil
		}
	}
	return nil, cloud.Errorf(cloud.CodeInvalidState, "the batch is %s and takes no approvals", b.State).With("state", string(b.State))
}

// Rejudge looks again whether the approvals suffice, as after a change of the
// approver keys or of the threshold.
func (s *BatchService) Rejudge(ctx context.Context, id, actor string) error {
	b, err := s.batchOf(ctx, id)
	if err != nil || b.State != cloud.BatchAwaiting {
		return err
	}
	statement, err := StatementOf(b)
	if err != nil {
		return err
	}
	policy, err := s.Store.QuorumPolicy(ctx)
	if err != nil {
		return err
	}
	_, err = s.Store.AddApproval(ctx, id, actor, nil, func(all []quorum.Approval) Verdict {
		return Judge(policy, statement, all, s.Now())
	})
	return err
}

// Verdict is what approvals are worth under the policy in force.
type Verdict struct {
	Approvers []string
	Threshold int
	Enough    bool
}

// Judge says who of the approvals counts under a policy, and whether they are
// enough. Approvals that no longer verify (a key revoked since) do not count.
func Judge(policy quorum.Policy, statement quorum.Statement, all []quorum.Approval, now time.Time) Verdict {
	var valid []quorum.Approval
	for _, a := range all {
		if quorum.VerifyApproval(policy, statement, a, now) == nil {
			valid = append(valid, a)
		}
	}
	approvers, err := quorum.VerifyApprovals(policy, statement, valid, now)
	return Verdict{Approvers: approvers, Threshold: policy.Threshold, Enough: err == nil && policy.RequiresApproval()}
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
