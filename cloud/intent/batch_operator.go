package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// What an operator asks of a batch by a signal sent by hand (D23).

// OperatorApprove takes an approval file as payload; its signature decides.
func (s *BatchService) OperatorApprove(ctx context.Context, id string, payload []byte) error {
	a, err := DecodeApproval(payload)
	if err != nil {
		return err
	}
	b, err := s.batchOf(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Approve(ctx, b.TenantID, id, cloud.ActorOperator, a)
	return err
}

// OperatorCancel is Cancel by hand.
func (s *BatchService) OperatorCancel(ctx context.Context, id string) error {
	b, err := s.batchOf(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Cancel(ctx, b.TenantID, id, cloud.ActorOperator)
	return err
}

// OperatorRefreshBatch judges the approvals anew, as after a change of the
// approver keys.
func (s *BatchService) OperatorRefreshBatch(ctx context.Context, id string) error {
	return s.Rejudge(ctx, id, cloud.ActorOperator)
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
