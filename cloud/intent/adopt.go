package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// Adopt takes over an unmanaged object of the tenant's own account and returns
// its record pending, with an empty spec. The provider is asked for that one
// object before anything is recorded. Refusals, in this order: as Create up to
// the repeat; ACCESS_DENIED notAccountOwner; UNSUPPORTED preview, quotaBooked,
// adopt, secretStore; NOT_FOUND at the provider; CONFLICT recorded;
// INVALID_STATE managedByAnother; NOT_FOUND project; then those of Store.Insert.
func (s *Service) Adopt(ctx context.Context, p Principal, in AdoptRequest) (*cloud.Resource, error) {
	if err := s.Authorizer.Reach(ctx, p, in.TenantID); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, in.TenantID, in.PoolID, in.Kind)
	if err != nil {
		return nil, err
	}
	r := at.draft(p, in.TenantID, in.ProjectID, in.Name, in.Description, in.IdempotencyKey)
	r.Adopted, r.ProviderID, r.Spec = true, in.ProviderID, cloud.Spec{}
	// Only the provider knows the region; it is decided on again below.
	target := TargetOf(r)
	target.Unknown = []string{AttributeRegion}
	if err := s.Authorizer.Decide(ctx, p, ActionCreate, target); err != nil {
		return nil, err
	}
	n := NewResource{Resource: r, RequestDigest: in.digest(), Actor: p.ID, Manifest: at.manifest, Pool: at.pool}
	if done, err := s.replay(ctx, n); done != nil || err != nil {
		return done, err
	}
	if err := s.adoptable(at, in.TenantID); err != nil {
		return nil, err
	}
	o, err := s.seek(ctx, r)
	if err != nil {
		return nil, err
	}
	r.ProviderID, r.Region = o.ProviderID, o.Region // the provider's spelling of the id
	if err := s.Authorizer.Decide(ctx, p, ActionCreate, TargetOf(r)); err != nil {
		return nil, err
	}
	if err := s.unmanaged(ctx, r, o); err != nil {
		return nil, err
	}
	if err := s.checkProject(ctx, r.TenantID, r.ProjectID); err != nil {
		return nil, err
	}
	return s.Store.Insert(ctx, n)
}

// adoptable refuses accounts and kinds of which nothing can be adopted.
func (s *Service) adoptable(at *place, tenant string) error {
	m := at.manifest
	if err := at.takesNew(); err != nil {
		return err
	}
	if err := at.owned(tenant); err != nil {
		return err
	}
	if err := at.available(); err != nil {
		return err
	}
	switch {
	case m.Books != "":
		return cloud.Errorf(cloud.CodeUnsupported, "%s books quota, and nothing was charged for what it runs on; create it here instead", m.Kind).
			Because(cloud.ReasonQuotaBooked)
	case m.Parent != "":
		return cloud.Errorf(cloud.CodeUnsupported, "a %s lives in a %s: adopt that, and create what lives in it", m.Kind, m.Parent).
			Because(cloud.ReasonAdopt)
	case !m.Adoptable():
		return cloud.Errorf(cloud.CodeUnsupported, "a %s has no labels at the provider that could show whose it is; it cannot be adopted", m.Kind).
			Because(cloud.ReasonAdopt)
	}
	return s.seals(m)
}

// seek asks the provider for the object. An id that the provider cannot even
// read is one that no object has, and one that could lead a request elsewhere is
// not asked for.
func (s *Service) seek(ctx context.Context, r *cloud.Resource) (*cloud.Observed, error) {
	absent := cloud.Errorf(cloud.CodeNotFound, "the provider account has no such %s", r.Kind).With("fields", []string{"providerId"})
	if !cloud.PatternProviderID.MatchString(r.ProviderID) {
		return nil, absent
	}
	k, err := s.open(ctx, r.AccountID, r.Kind)
	if err != nil {
		return nil, err
	}
	o, err := ask(ctx, "asking for the object", func(ctx context.Context) (*cloud.Observed, error) {
		o, err := k.Observe(ctx, cloud.Request{TenantID: r.TenantID, Name: r.Name, ProviderID: r.ProviderID, Now: s.now()})
		switch class := cloud.ClassOf(err); {
		case class == cloud.ClassNotFound || class == cloud.ClassRefused, err == nil && (o == nil || o.Phase == cloud.PhaseGone):
			return nil, absent
		}
		return o, err
	})
	if err == nil && o.ProviderID == "" {
		o.ProviderID = r.ProviderID
	}
	return o, err
}

// unmanaged refuses an object that is recorded here or bears a deployment's
// ownership.
func (s *Service) unmanaged(ctx context.Context, r *cloud.Resource, o *cloud.Observed) error {
	records, err := s.Store.Records(ctx, r.AccountID, r.Kind, []string{o.ProviderID})
	if err != nil {
		return err
	}
	if len(records) > 0 {
		e := cloud.Errorf(cloud.CodeConflict, "the object at the provider is recorded already").Because(cloud.ReasonRecorded)
		if records[0].TenantID == r.TenantID {
			e = e.With("resourceId", records[0].ResourceID)
		}
		return e
	}
	if o.Owner.ResourceKey == "" {
		return nil
	}
	return cloud.Errorf(cloud.CodeInvalidState, "the object at the provider is managed by another deployment or record").
		Because(cloud.ReasonManagedByAnother)
}
