package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// Delete marks the resource and all that lives in it for deletion and returns
// it; a release is overridden. One that is being deleted or has ended is
// returned unchanged. On a pool that demands a quorum the deletion awaits a
// command batch. Refusals: ACCESS_DENIED; NOT_FOUND; CONFLICT version;
// UNSUPPORTED when the pool demands a quorum and there are no batches.
func (s *Service) Delete(ctx context.Context, p Principal, in DeleteRequest) (*cloud.Resource, error) {
	r, err := s.load(ctx, p, ActionDelete, in.TenantID, in.ResourceID)
	if err != nil {
		return nil, err
	}
	return s.delete(ctx, p.ID, r, in.ExpectedVersion)
}

func (s *Service) delete(ctx context.Context, actor string, r *cloud.Resource, version *int64) (*cloud.Resource, error) {
	if r.State.Final() {
		return r, nil
	}
	pool, err := s.Store.Pool(ctx, r.TenantID, r.PoolID)
	if err != nil && cloud.AsError(err).Code != cloud.CodeNotFound {
		return nil, err
	}
	quorum := err == nil && pool.DestructiveQuorum
	return s.Store.Change(ctx, r.TenantID, r.ID, actor, "delete", func(ctx context.Context, tx Tx, r *cloud.Resource) (*cloud.Change, error) {
		if r.State.Final() || r.Intent == cloud.IntentDelete {
			return nil, nil
		}
		if err := expected(r, version); err != nil {
			return nil, err
		}
		if quorum {
			return s.hold(ctx, tx, r, actor)
		}
		c := r.WantDelete(s.Now())
		return c, tx.DeleteTree(ctx, r.ID, actor)
	})
}

// hold turns the deletion into a batch that approvers must sign.
func (s *Service) hold(ctx context.Context, tx Tx, r *cloud.Resource, actor string) (*cloud.Change, error) {
	if s.Batches == nil {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool demands a quorum for deletions, and this deployment has no command batches")
	}
	tree, err := treeOf(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	batch, err := s.Batches.DeleteBatch(ctx, tx, r, tree, actor)
	if err != nil {
		return nil, err
	}
	return r.HoldDelete(batch, s.Now()), nil
}

// treeOf is the resource and all that lives in it, parents first.
func treeOf(ctx context.Context, tx Tx, r *cloud.Resource) ([]*cloud.Resource, error) {
	tree := []*cloud.Resource{r}
	for i := 0; i < len(tree); i++ {
		children, err := tx.LiveChildren(ctx, tree[i].ID)
		if err != nil {
			return nil, err
		}
		tree = append(tree, children...)
	}
	return tree, nil
}
