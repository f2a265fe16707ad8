package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// List returns up to limit of a tenant's resources, oldest first, those after
// the given one when after is an id (D25). INVALID_INPUT when after is no
// resource of the tenant. Ended rows are never removed, so a cursor stays good.
func (s *Store) List(ctx context.Context, f intent.Filter, after string, limit int) ([]*cloud.Resource, error) {
	where, args := []string{"r.tenant_id = $1"}, []any{f.Tenant}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	for _, c := range []struct{ condition, value string }{
		{"r.pool_id = $%d", f.Pool}, {"r.project_id = $%d", f.Project},
		{"r.kind = $%d", f.Kind}, {"r.family = $%d", string(f.Family)},
	} {
		if c.value != "" {
			add(c.condition, c.value)
		}
	}
	if !f.IncludeDeleted {
		where = append(where, "r."+live)
	}
	if after != "" {
		last, err := s.Resource(ctx, f.Tenant, after)
		if err != nil {
			if cloud.AsError(err).Code == cloud.CodeNotFound {
				return nil, cloud.InvalidField("after is not where a page ended", "after")
			}
			return nil, err
		}
		add("(r.created_at, r.id) > ($%d", last.CreatedAt)
		args = append(args, last.ID)
		where[len(where)-1] += fmt.Sprintf(", $%d)", len(args))
	}
	args = append(args, limit)
	rows, err := collectResources(s.pool.Query(ctx, selectResource+" WHERE "+strings.Join(where, " AND ")+
		fmt.Sprintf(" ORDER BY r.created_at, r.id LIMIT $%d", len(args)), args...))
	return rows, mapError(err)
}
