package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Records returns which live resources of any tenant record objects of an
// account; for a kind that lives in a parent an id may stand there once for
// each parent. The answer is in no order.
func (s *Store) Records(ctx context.Context, account, kind string, providerIDs []string) ([]intent.Record, error) {
	if len(providerIDs) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `SELECT r.id, r.tenant_id, coalesce(r.project_id, ''), r.pool_id, r.provider_id, coalesce(p.provider_id, '')
		FROM resources r LEFT JOIN resources p ON p.id = r.parent_id
		WHERE r.account_id = $1 AND r.kind = $2 AND r.provider_id = ANY ($3) AND r.provider_id <> '' AND r.`+live, account, kind, providerIDs)
	if err != nil {
		return nil, mapError(err)
	}
	records, err := pgx.CollectRows(rows, pgx.RowToStructByPos[intent.Record])
	return records, mapError(err)
}
