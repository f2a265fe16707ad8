package intent

import (
	"context"
	"slices"

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
	return s.Store.Change(ctx, r.TenantID, r.ID, actor, "delete", func(ctx context.Context, tx Tx, r *cloud.Resource) (*cloud.Change, error) {
		if r.State.Final() || r.Intent == cloud.IntentDelete {
			return nil, nil
		}
		if err := expected(r, version); err != nil {
			return nil, err
		}
		tree, err := descendants(ctx, tx, r.ID)
		if err != nil {
			return nil, err
		}
		quorum, err := guarded(ctx, tx, append([]*cloud.Resource{r}, tree...))
		switch {
		case err != nil:
			return nil, err
		case quorum:
			return s.hold(ctx, tx, r, tree, actor)
		}
		c := r.WantDelete(s.now())
		return c, tx.DeleteTree(ctx, r.ID, actor)
	})
}

// guarded asks every pool that the tree lives in: what is on one that demands a
// quorum must not go by the deletion of a parent that is on another.
func guarded(ctx context.Context, tx Tx, tree []*cloud.Resource) (bool, error) {
	var pools []string
	for _, r := range tree {
		pools = append(pools, r.PoolID)
	}
	slices.Sort(pools)
	return tx.DestructiveQuorum(ctx, slices.Compact(pools))
}

// hold turns the deletion into a batch that approvers must sign.
func (s *Service) hold(ctx context.Context, tx Tx, r *cloud.Resource, tree []*cloud.Resource, actor string) (*cloud.Change, error) {
	if s.Batches == nil {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool demands a quorum for deletions, and this deployment has no command batches")
	}
	batch, err := s.Batches.DeleteBatch(ctx, tx, r, tree, actor)
	if err != nil {
		return nil, err
	}
	return r.HoldDelete(batch, s.now()), nil
}

// descendants are the live resources that live in one, however deep, parents first.
func descendants(ctx context.Context, tx Tx, id string) ([]*cloud.Resource, error) {
	tree, err := tx.LiveChildren(ctx, id)
	for i := 0; err == nil && i < len(tree); i++ {
		var children []*cloud.Resource
		children, err = tx.LiveChildren(ctx, tree[i].ID)
		tree = append(tree, children...)
	}
	return tree, err
}
