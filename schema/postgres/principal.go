package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// PrincipalByToken returns who holds the static token with this SHA-256.
// UNAUTHENTICATED when nobody does, or does not any more. Principals of OIDC
// issuers have no row.
func (s *Store) PrincipalByToken(ctx context.Context, sha256 []byte) (*intent.Principal, error) {
	var p intent.Principal
	err := s.pool.QueryRow(ctx, `SELECT id, tenant_id, user_name FROM principals WHERE token_sha256 @> ARRAY[$1::bytea]`, sha256).
		Scan(&p.ID, &p.Tenant, &p.User)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, cloud.Errorf(cloud.CodeUnauthenticated, "the token is not valid")
	}
	if err != nil {
		return nil, mapError(err)
	}
	return &p, nil
}

// TenantDeclared says whether the platform file names the tenant.
func (s *Store) TenantDeclared(ctx context.Context, id string) (declared bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM tenants WHERE id = $1 AND declared)", id).Scan(&declared)
	return declared, mapError(err)
}
