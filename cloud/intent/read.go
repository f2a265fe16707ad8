package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// MaxList is how many resources one list answers with.
const MaxList = 500

// Page is one answer of List.
type Page struct {
	Items []*cloud.Resource
	// Truncated: more follow; Next continues after the last item.
	Truncated bool
	Next      string
}

// Get returns one resource. ACCESS_DENIED, NOT_FOUND.
func (s *Service) Get(ctx context.Context, p Principal, in ResourceRequest) (*cloud.Resource, error) {
	return s.load(ctx, p, ActionRead, in.TenantID, in.ResourceID)
}

// List returns the tenant's resources that the caller may read, oldest first,
// up to MaxList of them. ACCESS_DENIED; INVALID_INPUT when After is no resource
// of the tenant.
func (s *Service) List(ctx context.Context, p Principal, in ListRequest) (*Page, error) {
	if err := s.Authorizer.Reach(ctx, p, in.TenantID); err != nil {
		return nil, err
	}
	tenant := Target{Type: TypeTenant, ID: in.TenantID, Tenant: in.TenantID, Items: TypeResource}
	if err := s.Authorizer.Decide(ctx, p, ActionRead, tenant); err != nil {
		return nil, err
	}
	f := Filter{Tenant: in.TenantID, Pool: in.PoolID, Project: in.ProjectID, Kind: in.Kind, Family: in.Family, IncludeDeleted: in.IncludeDeleted}
	page := &Page{Items: []*cloud.Resource{}}
	// One more than fits is read, to tell whether any follow.
	for after, limit := in.After, MaxList+1; ; {
		rows, err := s.Store.List(ctx, f, after, limit)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			allowed, err := s.allowed(ctx, p, TargetOf(r))
			if err != nil {
				return nil, err
			}
			if !allowed {
				continue
			}
			if len(page.Items) == MaxList {
				page.Truncated, page.Next = true, page.Items[MaxList-1].ID
				return page, nil
			}
			page.Items = append(page.Items, r)
		}
		if len(rows) < limit {
			return page, nil
		}
		after = rows[len(rows)-1].ID
	}
}
