package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// MaxDiscover is how many objects one discover answers with.
const MaxDiscover = 500

// The values of Discovered.ManagedBy.
const (
	ManagedByThis  = "this"
	ManagedByOther = "other"
)

// Discovered is an object on the tenant's own account.
type Discovered struct {
	ProviderID string     `json:"providerId"`
	Name       string     `json:"name,omitempty"`
	Region     string     `json:"region,omitempty"`
	Spec       cloud.Spec `json:"spec"`
	// ManagedBy is this deployment, another one, or "" for none.
	ManagedBy string `json:"managedBy,omitempty"`
	// ResourceID is the resource that records it, or "".
	ResourceID string `json:"resourceId,omitempty"`
}

// found is an object with the object that it lives in, if any.
type found struct {
	*cloud.Observed
	parent string
}

// Discover lists a kind's objects on the tenant's own account, those that the
// caller may read. Refusals: ACCESS_DENIED, also with notAccountOwner; NOT_FOUND
// pool; UNSUPPORTED pool, kind, preview or a kind that the provider cannot list;
// PROVIDER_ERROR, THROTTLED.
func (s *Service) Discover(ctx context.Context, p Principal, in PoolRequest) ([]Discovered, error) {
	at, err := s.enter(ctx, p, in.TenantID, in.PoolID, in.Kind, TypeResource)
	if err != nil {
		return nil, err
	}
	if err := at.owned(in.TenantID); err != nil {
		return nil, err
	}
	if err := at.available(); err != nil {
		return nil, err
	}
	if at.manifest.NoDiscover {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the provider cannot list objects of %s", in.Kind)
	}
	deployment, err := s.Accounts.Deployment(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := ask(ctx, "listing the account", func(ctx context.Context) ([]found, error) {
		resources, err := s.Accounts.Open(ctx, at.pool.Account.ID)
		if err != nil {
			return nil, err
		}
		return objectsOf(ctx, resources, at, at.manifest)
	})
	if err != nil {
		return nil, err
	}
	return s.discovered(ctx, p, at, in.TenantID, deployment, objects)
}

// objectsOf lists a kind on an account; for one that lives in another kind,
// parent by parent.
func objectsOf(ctx context.Context, resources cloud.ProviderResources, at *place, m *cloud.Manifest) ([]found, error) {
	k, ok := resources.Kind(m.Kind)
	if !ok {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool's provider does not serve the kind %s", m.Kind)
	}
	var out []found
	list := func(parent *cloud.ParentRef) error {
		scope := cloud.Scope{Parent: parent, Limit: MaxDiscover - len(out)}
		objects, err := k.List(ctx, scope)
		for _, o := range objects {
			if o == nil || o.ProviderID == "" || o.Phase == cloud.PhaseGone || len(out) == MaxDiscover {
				continue
			}
			f := found{Observed: o}
			if parent != nil {
				f.parent = parent.ProviderID
			}
			out = append(out, f)
		}
		return err
	}
	if m.Parent == "" {
		err := list(nil)
		return out, err
	}
	parentManifest := find(at.manifests, m.Parent)
	if parentManifest == nil {
		return nil, nil
	}
	parents, err := objectsOf(ctx, resources, at, parentManifest)
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		if len(out) == MaxDiscover {
			break
		}
		err := list(&cloud.ParentRef{Kind: m.Parent, ProviderID: parent.ProviderID, Spec: parent.Spec, Outputs: parent.Outputs})
		if err != nil && !cloud.IsNotFound(err) { // a parent may end meanwhile
			return nil, err
		}
	}
	return out, nil
}

// discovered pairs objects with what records them and leaves out what the
// caller may not read.
func (s *Service) discovered(ctx context.Context, p Principal, at *place, tenant, deployment string, objects []found) ([]Discovered, error) {
	records, err := s.recordsOf(ctx, at, objects)
	if err != nil {
		return nil, err
	}
	items := []Discovered{}
	for _, o := range objects {
		record := records[[2]string{o.ProviderID, o.parent}]
		d := Discovered{ProviderID: o.ProviderID, Name: o.Name, Region: o.Region, Spec: o.Spec, ResourceID: record.ResourceID}
		if d.Spec == nil {
			d.Spec = cloud.Spec{}
		}
		switch {
		case record.ResourceID != "", o.Owner.ResourceKey != "" && o.Owner.Deployment == deployment:
			d.ManagedBy = ManagedByThis
		case o.Owner.ResourceKey != "":
			d.ManagedBy = ManagedByOther
		}
		target := at.target(tenant, at.manifest)
		target.ID = record.ResourceID
		target.Attributes[AttributeRegion] = o.Region
		target.Attributes[AttributeProject] = record.ProjectID
		if record.PoolID != "" {
			target.Attributes[AttributePool] = record.PoolID
		}
		allowed, err := s.allowed(ctx, p, target)
		if err != nil {
			return nil, err
		}
		if allowed {
			items = append(items, d)
		}
	}
	return items, nil
}

// recordsOf maps provider id and parent's provider id to the record.
func (s *Service) recordsOf(ctx context.Context, at *place, objects []found) (map[[2]string]Record, error) {
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = o.ProviderID
	}
	list, err := s.Store.Records(ctx, at.pool.Account.ID, at.manifest.Kind, ids)
	if err != nil {
		return nil, err
	}
	records := map[[2]string]Record{}
	for _, r := range list {
		records[[2]string{r.ProviderID, r.ParentProviderID}] = r
	}
	return records, nil
}
