package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
)

// The checks of a create that need the transaction, in the order of D21.

// checkInstances: each must be a live instance of the tenant on the account.
// One that does not exist is told like one that is another's (D22).
func checkInstances(ctx context.Context, q querier, tenant, account string, ids []string) error {
	found, err := findInstances(ctx, q, tenant, account, ids)
	if err != nil {
		return err
	}
	return refuseMissing(found, ids, cloud.ReasonInstance, "instances")
}

func findInstances(ctx context.Context, q querier, tenant, account string, ids []string) (map[string]string, error) {
	found := map[string]string{}
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := q.Query(ctx, `SELECT id, provider_id FROM instances
		WHERE id = ANY ($1) AND tenant_id = $2 AND account_id = $3 AND live`, ids, tenant, account)
	if err != nil {
		return nil, err
	}
	var id, provider string
	_, err = pgx.ForEachRow(rows, []any{&id, &provider}, func() error { found[id] = provider; return nil })
	return found, err
}

// checkNetworks: each must be a live network of the tenant on the account,
// with a VPC in one of the regions unless there are none.
func checkNetworks(ctx context.Context, q querier, tenant, account string, regions, ids []string) error {
	found, err := findNetworks(ctx, q, tenant, account, ids)
	if err != nil {
		return err
	}
	return refuseMissing(inRegion(found, regions), ids, cloud.ReasonNetwork, "networks")
}

// inRegion are the networks with a VPC in one of the regions; all of them when
// there are none.
func inRegion(networks map[string]cloud.NetworkRef, regions []string) map[string]cloud.NetworkRef {
	in := map[string]cloud.NetworkRef{}
	for id, vpcs := range networks {
		if len(regions) == 0 || slices.ContainsFunc(regions, func(region string) bool { return vpcs[region] != "" }) {
			in[id] = vpcs
		}
	}
	return in
}

func findNetworks(ctx context.Context, q querier, tenant, account string, ids []string) (map[string]cloud.NetworkRef, error) {
	found := map[string]cloud.NetworkRef{}
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := q.Query(ctx, `SELECT id, vpcs FROM networks
		WHERE id = ANY ($1) AND tenant_id = $2 AND account_id = $3 AND live`, ids, tenant, account)
	if err != nil {
		return nil, err
	}
	var id string
	var vpcs []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &vpcs}, func() error {
		var ref cloud.NetworkRef
		err := json.Unmarshal(vpcs, &ref)
		found[id] = ref
		return err
	})
	return found, err
}

func refuseMissing[V any](found map[string]V, ids []string, reason, key string) error {
	var missing []string
	for _, id := range ids {
		if _, ok := found[id]; !ok && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return cloud.Errorf(cloud.CodeInvalidInput, "not live %s of the tenant on the pool's account, or not in the region", key).
		Because(reason).With(key, missing)
}

// checkSecrets: each reference must name a secret of the tenant's own, which
// cannot be deleted before this transaction ends.
func (s *Store) checkSecrets(ctx context.Context, tx pgx.Tx, tenant string, refs []cloud.PathValue) error {
	if len(refs) == 0 {
		return nil
	}
	values := make([]string, len(refs))
	for i, ref := range refs {
		values[i] = ref.Value
	}
	have, err := s.lockRefs(ctx, tx, tenant, values)
	if err != nil {
		return err
	}
	return refuseSecrets(have, refs)
}

func refuseSecrets[V any](have map[string]V, refs []cloud.PathValue) error {
	var fields []string
	for _, ref := range refs {
		if _, ok := have[ref.Value]; !ok {
			fields = append(fields, ref.Path)
		}
	}
	if len(fields) > 0 {
		return cloud.InvalidField("a secret reference names no secret of the tenant", fields...).Because(cloud.ReasonSecretRef)
	}
	return nil
}

// checkParent locks the parent's row until the transaction ends, so that it
// cannot be marked for deletion between the check and the insert (D29).
func checkParent(ctx context.Context, tx pgx.Tx, r *cloud.Resource, m *cloud.Manifest) (*cloud.Resource, error) {
	refuse := func(format string, args ...any) error {
		return cloud.InvalidField(fmt.Sprintf(format, args...), "parentId").Because(cloud.ReasonParent)
	}
	switch {
	case m.Parent == "" && r.ParentID == "":
		return nil, nil
	case m.Parent == "":
		return nil, refuse("%s lives in no other resource", r.Kind)
	case r.ParentID == "":
		return nil, refuse("%s lives in a %s; name it in parentId", r.Kind, m.Parent)
	}
	parent, err := scanResource(tx.QueryRow(ctx, selectResource+" WHERE r.id = $1 AND r.tenant_id = $2 FOR SHARE", r.ParentID, r.TenantID))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errNotFound("parent").With("fields", []string{"parentId"})
	case err != nil:
		return nil, err
	case parent.Kind != m.Parent:
		return nil, refuse("the parent must be a %s", m.Parent)
	case parent.AccountID != r.AccountID:
		return nil, refuse("the parent is on another provider account")
	case parent.Intent != cloud.IntentPresent || parent.State.Final():
		return nil, refuse("the parent is being deleted or released, or has ended")
	}
	return parent, nil
}
