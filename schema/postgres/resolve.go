package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

// Resolve turns the references of a record's wanted spec into provider ids,
// its secrets into values, and its parent's id into what a kind may use of it.
//
// For a call that changes something it is as strict as a create: whatever is
// no longer a live one of the tenant on the account refuses (INVALID_INPUT). A
// look takes what there is and opens no secret.
func (s *Store) Resolve(ctx context.Context, r *cloud.Resource, m *cloud.Manifest, mutating bool) (*ports.Resolved, error) {
	res, err := s.resolve(ctx, r, m.Refs(r.Spec), mutating)
	if err == nil && mutating {
		err = res.strict(r, m)
	}
	if err != nil {
		return nil, mapError(err)
	}
	return &res.Resolved, nil
}

type resolved struct {
	ports.Resolved
	refs cloud.Refs
}

func (s *Store) resolve(ctx context.Context, r *cloud.Resource, refs cloud.Refs, open bool) (res resolved, err error) {
	res.refs = refs
	if res.Parent, err = parentRef(ctx, s.pool, r.ParentID); err != nil {
		return res, err
	}
	if res.Instances, err = findInstances(ctx, s.pool, r.TenantID, r.AccountID, refs.InstanceIDs()); err != nil {
		return res, err
	}
	if res.Networks, err = findNetworks(ctx, s.pool, r.TenantID, r.AccountID, refs.NetworkIDs()); err != nil {
		return res, err
	}
	names := make([]string, len(refs.Secrets))
	for i, ref := range refs.Secrets {
		names[i] = ref.Value
	}
	if res.SecretVersions, err = s.refDigests(ctx, s.pool, r.TenantID, names); err != nil || !open {
		return res, err
	}
	res.Secrets, err = s.unsealRefs(ctx, s.pool, r.TenantID, names)
	return res, err
}

// strict refuses what was left out.
func (res *resolved) strict(r *cloud.Resource, m *cloud.Manifest) error {
	if err := refuseMissing(res.Instances, res.refs.InstanceIDs(), cloud.ReasonInstance, "instances"); err != nil {
		return err
	}
	if err := refuseMissing(inRegion(res.Networks, datacenters(m, r.Region)), res.refs.NetworkIDs(), cloud.ReasonNetwork, "networks"); err != nil {
		return err
	}
	return refuseSecrets(res.Secrets, res.refs.Secrets)
}

// parentRef is what a kind may use of the resource that its own lives in; nil
// without one.
func parentRef(ctx context.Context, q querier, id string) (*cloud.ParentRef, error) {
	if id == "" {
		return nil, nil
	}
	p, err := scanResource(q.QueryRow(ctx, selectResource+" WHERE r.id = $1", id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("parent")
	}
	if err != nil {
		return nil, err
	}
	return refTo(p), nil
}

func refTo(p *cloud.Resource) *cloud.ParentRef {
	return &cloud.ParentRef{
		ResourceID: p.ID, Kind: p.Kind, ProviderID: p.ProviderID,
		Spec: p.Spec, Outputs: p.Outputs, Deleting: p.Intent == cloud.IntentDelete,
	}
}
