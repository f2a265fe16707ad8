package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// Release lets a resource go: its labels are removed and it runs on. One that
// is being released or was is returned unchanged. Refusals: ACCESS_DENIED;
// NOT_FOUND; INVALID_STATE when it lives in a parent (parent), is being deleted
// or has ended, was not accepted yet (notAccepted) or has live children
// (children); UNSUPPORTED release when its kind cannot be let go.
func (s *Service) Release(ctx context.Context, p Principal, in ResourceRequest) (*cloud.Resource, error) {
	r, err := s.load(ctx, p, ActionDelete, in.TenantID, in.ResourceID)
	if err != nil {
		return nil, err
	}
	return s.release(ctx, p.ID, r)
}

func (s *Service) release(ctx context.Context, actor string, r *cloud.Resource) (*cloud.Resource, error) {
	m := find(s.Accounts.Manifests(r.Provider), r.Kind)
	return s.Store.Change(ctx, r.TenantID, r.ID, actor, "release", func(ctx context.Context, tx Tx, r *cloud.Resource) (*cloud.Change, error) {
		if r.State == cloud.StateReleased || r.Releasing() {
			return nil, nil
		}
		if err := releasable(r, m); err != nil {
			return nil, err
		}
		children, err := tx.LiveChildren(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if len(children) > 0 {
			return nil, invalidState(cloud.ReasonChildren, "it still holds %s: delete what lives in it first", countOf(len(children), "live resource")).
				With("count", len(children))
		}
		return r.WantRelease(s.now()), nil
	})
}

func releasable(r *cloud.Resource, m *cloud.Manifest) error {
	if err := changeable(r); err != nil {
		return err
	}
	switch {
	case r.ParentID != "":
		return invalidState(cloud.ReasonParent, "it lives in another resource: release that one")
	case m == nil || !m.Releasable():
		return cloud.Errorf(cloud.CodeUnsupported, "a %s has no labels at the provider that could be removed: keep it or delete it", r.Kind).
			Because(cloud.ReasonRelease)
	case r.ProviderID == "":
		return invalidState(cloud.ReasonNotAccepted, "the provider has not accepted it yet: delete it instead")
	}
	return nil
}

func invalidState(reason, format string, args ...any) *cloud.Error {
	return cloud.Errorf(cloud.CodeInvalidState, format, args...).Because(reason)
}
