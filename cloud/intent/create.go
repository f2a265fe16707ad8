package intent

import (
	"bytes"
	"context"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// Create records a resource and returns it pending, or returns what the same
// request made before. Refusals, in this order: ACCESS_DENIED; NOT_FOUND pool;
// UNSUPPORTED pool or kind; ACCESS_DENIED by policy; CONFLICT idempotencyKey;
// UNSUPPORTED preview, secretStore; INVALID_INPUT spec, region, accountWide;
// NOT_FOUND project; then those of Store.Insert.
func (s *Service) Create(ctx context.Context, p Principal, in CreateRequest) (*cloud.Resource, error) {
	if err := s.Authorizer.Reach(ctx, p, in.TenantID); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, in.TenantID, in.PoolID, in.Kind)
	if err != nil {
		return nil, err
	}
	r := at.draft(p, in.TenantID, in.ProjectID, in.Name, in.Description, in.IdempotencyKey)
	r.ParentID, r.Spec = in.ParentID, in.Spec
	if err := s.placeRegion(ctx, r, at.manifest); err != nil {
		return nil, err
	}
	if err := s.Authorizer.Decide(ctx, p, ActionCreate, TargetOf(r)); err != nil {
		return nil, err
	}
	n := NewResource{Resource: r, RequestDigest: in.digest(), Actor: p.ID, Manifest: at.manifest, Pool: at.pool}
	if done, err := s.replay(ctx, n); done != nil || err != nil {
		return done, err
	}
	if err := at.takesNew(); err != nil {
		return nil, err
	}
	if err := at.available(); err != nil {
		return nil, err
	}
	if err := s.seals(at.manifest); err != nil {
		return nil, err
	}
	if err := s.fill(ctx, &n, at); err != nil {
		return nil, err
	}
	return s.Store.Insert(ctx, n)
}

// draft is a record that has not been Created. Its owner is the caller.
func (at *place) draft(p Principal, tenant, project, name, description, key string) *cloud.Resource {
	a, m := at.pool.Account, at.manifest
	return &cloud.Resource{
		ID: cloud.ResourceID(tenant, p.ID, key), TenantID: tenant, ProjectID: project,
		PoolID: at.pool.ID, AccountID: a.ID, Provider: a.Provider, Kind: m.Kind, Family: m.Family,
		Name: name, Description: description, Owner: p.ID,
		Billed: at.pool.Billing != cloud.BillingNone && m.Parent == "",
	}
}

// placeRegion sets the region that decisions see: the spec's, or for a kind
// without one that of the resource in which it will live. A parent that is not
// there is refused later, in its turn.
func (s *Service) placeRegion(ctx context.Context, r *cloud.Resource, m *cloud.Manifest) error {
	if m.Regional {
		r.Region = strings.ToLower(r.Spec.String("region"))
		return nil
	}
	if m.Parent == "" || r.ParentID == "" {
		return nil
	}
	parent, err := s.Store.Resource(ctx, r.TenantID, r.ParentID)
	if err != nil {
		if cloud.AsError(err).Code == cloud.CodeNotFound {
			return nil
		}
		return err
	}
	r.Region = parent.Region
	return nil
}

// replay returns what the same request made before, nil when there is nothing
// under its id yet.
func (s *Service) replay(ctx context.Context, n NewResource) (*cloud.Resource, error) {
	old, digest, err := s.Store.Replay(ctx, n.Resource.ID)
	switch {
	case err != nil || old == nil:
		return nil, err
	case !bytes.Equal(digest, n.RequestDigest):
		return nil, cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
	}
	return old, nil
}

// fill checks the spec and completes what Insert needs.
func (s *Service) fill(ctx context.Context, n *NewResource, at *place) error {
	r, m := n.Resource, at.manifest
	k, err := s.open(ctx, r.AccountID, r.Kind)
	if err != nil {
		return err
	}
	if r.Spec, err = s.checkSpec(k, m, r.Spec); err != nil {
		return err
	}
	if err := checkRegion(m, r.Spec, r.Region, at.pool.Account); err != nil {
		return err
	}
	n.Refs = m.Refs(r.Spec)
	if err := checkAccountWide(n.Refs, at.pool.Hosted(r.TenantID)); err != nil {
		return err
	}
	if err := s.checkProject(ctx, r.TenantID, r.ProjectID); err != nil {
		return err
	}
	n.Refs.Secrets = secretRefs(n.Refs)
	if m.Parent != "" {
		r.Identity = m.IdentityOf(r.Spec)
	}
	n.Booking, err = booking(ctx, k, m, r.Spec)
	return err
}
