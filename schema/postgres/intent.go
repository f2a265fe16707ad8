package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

var _ intent.Store = (*Store)(nil)

func errNotFound(what string) *cloud.Error {
	return cloud.Errorf(cloud.CodeNotFound, "no such %s", what)
}

// Pool returns a pool of the tenant's own, one offered to it, suspended or not,
// or one that was taken back while resources of the tenant live there (then
// Withdrawn). NOT_FOUND for any other (D22).
func (s *Store) Pool(ctx context.Context, tenant, pool string) (*intent.Pool, error) {
	var p intent.Pool
	var a intent.Account
	var account, provider, owner, status *string
	var previews *bool
	var excluded []string
	err := s.pool.QueryRow(ctx, `SELECT p.id, p.type, p.owner_tenant_id, p.billing, p.destructive_quorum,
			p.withdrawn OR p.owner_tenant_id <> $1 AND o.tenant_id IS NULL,
			a.id, a.provider, a.owner_tenant_id, a.regions, a.previews, o.status, o.excluded_regions
		FROM pools p LEFT JOIN provider_accounts a ON a.id = p.account_id AND p.type = 'provider'
		LEFT JOIN offers o ON o.pool_id = p.id AND o.tenant_id = $1 AND p.owner_tenant_id <> $1
		WHERE p.id = $2 AND p.declared AND (p.owner_tenant_id = $1 OR o.tenant_id IS NOT NULL
			OR EXISTS (SELECT FROM resources r WHERE r.pool_id = p.id AND r.tenant_id = $1 AND r.`+live+`))`, tenant, pool).
		Scan(&p.ID, &p.Type, &p.Owner, &p.Billing, &p.DestructiveQuorum, &p.Withdrawn,
			&account, &provider, &owner, &a.Regions, &previews, &status, &excluded)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("pool")
	}
	if err != nil {
		return nil, mapError(err)
	}
	if account != nil {
		a.ID, a.Provider, a.Owner, a.Previews = *account, *provider, *owner, *previews
		p.Account = &a
	}
	if status != nil {
		p.Offer = &intent.Offer{Suspended: *status == "suspended", ExcludedRegions: excluded}
	}
	return &p, nil
}

// ProjectExists says whether the project is the tenant's.
func (s *Store) ProjectExists(ctx context.Context, tenant, project string) (exists bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM projects WHERE id = $1 AND tenant_id = $2 AND declared)", project, tenant).Scan(&exists)
	return exists, mapError(err)
}

// Resource returns a tenant's resource, ended ones too; NOT_FOUND for any
// other (D28).
func (s *Store) Resource(ctx context.Context, tenant, id string) (*cloud.Resource, error) {
	r, err := scanResource(s.pool.QueryRow(ctx, selectResource+" WHERE r.id = $1 AND r.tenant_id = $2", id, tenant))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("resource")
	}
	return r, mapError(err)
}

// Replay returns what is recorded under an id and the digest of the request
// that made it, or nil.
func (s *Store) Replay(ctx context.Context, id string) (*cloud.Resource, []byte, error) {
	r, digest, err := replay(ctx, s.pool, id)
	return r, digest, mapError(err)
}

func replay(ctx context.Context, q querier, id string) (*cloud.Resource, []byte, error) {
	var digest []byte
	r, err := scanResource(q.QueryRow(ctx, "SELECT "+columnsOf("r")+", r.request_digest FROM resources r WHERE r.id = $1", id), &digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	return r, digest, err
}

// Recorded returns the id of the live resource that records an object of the
// account, or "". For a kind that lives in a parent the provider id need not
// be unique; then it is the oldest.
func (s *Store) Recorded(ctx context.Context, account, kind, providerID string) (id string, err error) {
	if providerID == "" {
		return "", nil
	}
	err = s.pool.QueryRow(ctx, `SELECT id FROM resources WHERE account_id = $1 AND kind = $2 AND provider_id = $3 AND `+live+`
		ORDER BY created_at, id LIMIT 1`, account, kind, providerID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, mapError(err)
}

// defaultMaxPerKind is the contract's.
const defaultMaxPerKind = 20

// Quotas returns a tenant's cap per kind, and the cap of kinds without one.
func (s *Store) Quotas(ctx context.Context, tenant string) (perKind map[string]int64, fallback int64, err error) {
	st, _, err := s.Settings(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.pool.Query(ctx, "SELECT kind, max_count FROM quotas WHERE tenant_id = $1", tenant)
	if err != nil {
		return nil, 0, mapError(err)
	}
	perKind, fallback = map[string]int64{}, st.MaxPerKind
	var kind string
	var limit int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &limit}, func() error {
		if kind == "" { // every kind without an entry
			fallback = limit
			return nil
		}
		perKind[kind] = limit
		return nil
	})
	return perKind, fallback, mapError(err)
}
