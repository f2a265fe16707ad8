package api

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

func (s *server) kinds(ctx context.Context, p intent.Principal, in intent.PoolRequest) (any, error) {
	return listed(s.Intents.Kinds(ctx, p, in))
}

func (s *server) catalog(ctx context.Context, p intent.Principal, in intent.PoolRequest) (any, error) {
	return listed(s.Intents.Catalog(ctx, p, in))
}

func (s *server) signals(ctx context.Context, p intent.Principal, in intent.PoolRequest) (any, error) {
	return listed(s.Intents.Signals(ctx, p, in))
}

func (s *server) discover(ctx context.Context, p intent.Principal, in intent.PoolRequest) (any, error) {
	return listed(s.Intents.Discover(ctx, p, in))
}

func (s *server) create(ctx context.Context, p intent.Principal, in intent.CreateRequest) (any, error) {
	r, err := s.Intents.Create(ctx, p, in)
	return s.wanted(ctx, r, err)
}

func (s *server) adopt(ctx context.Context, p intent.Principal, in intent.AdoptRequest) (any, error) {
	r, err := s.Intents.Adopt(ctx, p, in)
	return s.wanted(ctx, r, err)
}

func (s *server) update(ctx context.Context, p intent.Principal, in intent.UpdateRequest) (any, error) {
	r, err := s.Intents.Update(ctx, p, in)
	return s.wanted(ctx, r, err)
}

func (s *server) delete(ctx context.Context, p intent.Principal, in intent.DeleteRequest) (any, error) {
	r, err := s.Intents.Delete(ctx, p, in)
	return s.wanted(ctx, r, err)
}

func (s *server) release(ctx context.Context, p intent.Principal, in intent.ResourceRequest) (any, error) {
	r, err := s.Intents.Release(ctx, p, in)
	return s.wanted(ctx, r, err)
}

func (s *server) get(ctx context.Context, p intent.Principal, in intent.ResourceRequest) (any, error) {
	r, err := s.Intents.Get(ctx, p, in)
	if err != nil {
		return nil, err
	}
	return r.View(), nil
}

func (s *server) list(ctx context.Context, p intent.Principal, in intent.ListRequest) (any, error) {
	found, err := s.Intents.List(ctx, p, in)
	if err != nil {
		return nil, err
	}
	out := items[cloud.View]{Items: make([]cloud.View, len(found.Items)), Truncated: found.Truncated, Next: found.Next}
	for i, r := range found.Items {
		out.Items[i] = r.View()
	}
	return out, nil
}

// wanted answers a mutation and tells the workflow, unless there is nothing
// left to do for it.
func (s *server) wanted(ctx context.Context, r *cloud.Resource, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if !r.State.Final() {
		s.nudge(ctx, r.ID)
	}
	return r.View(), nil
}

func listed[T any](list []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return items[T]{Items: list}, nil
}
