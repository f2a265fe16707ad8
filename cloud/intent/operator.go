package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// What an operator asks by a signal sent by hand (D23): the rules of the calls
// without a tenant's policies, recorded with cloud.ActorOperator. A refusal is a
// *cloud.Error and changed nothing.

// methodOperatorUpdate is the contract's schema of the payload of a hand-sent
// update: that of the call without ids.
const methodOperatorUpdate = "operator.update"

// OperatorUpdate takes {"spec": ..., "description": ..., "expectedVersion": ...}.
func (s *Service) OperatorUpdate(ctx context.Context, id string, payload []byte) error {
	var in UpdateRequest
	if err := s.Validator.Decode(methodOperatorUpdate, payload, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	return s.operate(ctx, id, func(r *cloud.Resource) error {
		_, err := s.update(ctx, cloud.ActorOperator, r, in)
		return err
	})
}

// OperatorDelete is Delete by hand.
func (s *Service) OperatorDelete(ctx context.Context, id string) error {
	return s.operate(ctx, id, func(r *cloud.Resource) error {
		_, err := s.delete(ctx, cloud.ActorOperator, r, nil)
		return err
	})
}

// OperatorRelease is Release by hand.
func (s *Service) OperatorRelease(ctx context.Context, id string) error {
	return s.operate(ctx, id, func(r *cloud.Resource) error {
		_, err := s.release(ctx, cloud.ActorOperator, r)
		return err
	})
}

// OperatorRefresh asks for a look now, which also starts again what failed (D7).
// INVALID_STATE when the resource has ended.
func (s *Service) OperatorRefresh(ctx context.Context, id string) error {
	return s.operate(ctx, id, func(r *cloud.Resource) error {
		_, err := s.Store.Change(ctx, r.TenantID, r.ID, cloud.ActorOperator, "refresh", func(_ context.Context, _ Tx, r *cloud.Resource) (*cloud.Change, error) {
			if r.State.Final() {
				return nil, changeable(r)
			}
			return r.WantRefresh(s.now()), nil
		})
		return err
	})
}

// operate finds the record by its id alone. NOT_FOUND for an id that nobody has.
func (s *Service) operate(ctx context.Context, id string, fn func(r *cloud.Resource) error) error {
	r, _, err := s.Store.Replay(ctx, id)
	switch {
	case err != nil:
		return err
	case r == nil:
		return cloud.Errorf(cloud.CodeNotFound, "no such resource")
	}
	return fn(r)
}
