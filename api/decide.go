package api

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// enter decides a call that is made on the tenant; items is the type of what it
// lists, when each is decided too.
func (s *server) enter(ctx context.Context, p intent.Principal, action, tenant, items string) error {
	if err := s.Authorizer.Reach(ctx, p, tenant); err != nil {
		return err
	}
	return s.Authorizer.Decide(ctx, p, action, intent.Target{Type: intent.TypeTenant, ID: tenant, Tenant: tenant, Items: items})
}

// on decides a call on one thing that has no attributes.
func (s *server) on(ctx context.Context, p intent.Principal, action, tenant, kind, id string) error {
	if err := s.Authorizer.Reach(ctx, p, tenant); err != nil {
		return err
	}
	return s.Authorizer.Decide(ctx, p, action, intent.Target{Type: kind, ID: id, Tenant: tenant})
}

// allowedRows reads pages until there is one more than fits of those rows that
// decide lets through.
func allowedRows[T any](ctx context.Context, after string, read func(after string, limit int) ([]T, error), id func(T) string, decide func(T) error) ([]T, error) {
	const limit = intent.MaxList + 1
	var out []T
	for ctx.Err() == nil {
		rows, err := read(after, limit)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			err := decide(row)
			switch {
			case err == nil:
				out = append(out, row)
			case cloud.AsError(err).Code != cloud.CodeAccessDenied:
				return nil, err
			}
			if len(out) == limit {
				return out, nil
			}
		}
		if len(rows) < limit {
			return out, nil
		}
		after = id(rows[len(rows)-1])
	}
	return nil, ctx.Err()
}
