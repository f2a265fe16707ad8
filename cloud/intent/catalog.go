package intent

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// MaxCatalog is how many applications one catalog answers with.
const MaxCatalog = 1000

// Catalog lists the installable applications of the pool's provider.
// ACCESS_DENIED; NOT_FOUND pool; UNSUPPORTED, also where the provider has no
// catalog; PROVIDER_ERROR, THROTTLED.
func (s *Service) Catalog(ctx context.Context, p Principal, in PoolRequest) ([]cloud.CatalogItem, error) {
	at, err := s.enter(ctx, p, in.TenantID, in.PoolID, "", "")
	if err != nil {
		return nil, err
	}
	items, err := ask(ctx, "asking for the catalog", func(ctx context.Context) ([]cloud.CatalogItem, error) {
		resources, err := s.Accounts.Open(ctx, at.pool.Account.ID)
		if err != nil {
			return nil, err
		}
		return resources.Catalog(ctx, in.InstallsOn)
	})
	if err != nil {
		return nil, err
	}
	return orEmpty(items[:min(len(items), MaxCatalog)]), nil
}
