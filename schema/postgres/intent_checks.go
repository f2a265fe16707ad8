package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
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

// createFacts is what the tenant has already, read once for several checks.
type createFacts struct {
	identityHeldBy, nameHeldBy *string
	recordedBy, recordedTenant *string
	count                      int64
	billing                    cloud.Billing
	offerStatus                *string
	excluded                   []string
	owner                      string
	budgetLimit                *string
}

const readCreateFacts = `SELECT
	(SELECT c.id FROM resources c WHERE c.parent_id = $5 AND c.kind = $2 AND c.identity = $6 AND $6 <> '' AND c.` + live + `),
	(SELECT c.id FROM resources c WHERE c.tenant_id = $1 AND c.kind = $2 AND c.name = $3 AND c.` + live + `),
	recorded.id, recorded.tenant_id,
	(SELECT count(*) FROM resources c WHERE c.tenant_id = $1 AND c.kind = $2 AND c.` + live + `),
	p.billing, p.owner_tenant_id, o.status, o.excluded_regions,
	(SELECT b.max_amount::text FROM budgets b WHERE b.tenant_id = $1 AND b.used_amount >= b.max_amount ORDER BY b.id LIMIT 1)
	FROM pools p
	LEFT JOIN offers o ON o.pool_id = p.id AND o.tenant_id = $1
	LEFT JOIN LATERAL (SELECT c.id, c.tenant_id FROM resources c WHERE c.account_id = $7 AND c.kind = $2 AND c.provider_id = $8
		AND $8 <> '' AND coalesce(c.parent_id, '') = coalesce($5, '') AND c.` + live + ` LIMIT 1) recorded ON true
	WHERE p.id = $4 AND p.declared AND NOT p.withdrawn
	FOR KEY SHARE OF p` // an apply that takes the pool back waits, or is seen

func readFacts(ctx context.Context, tx pgx.Tx, r *cloud.Resource) (*createFacts, error) {
	var f createFacts
	var parent *string
	if r.ParentID != "" {
		parent = &r.ParentID
	}
	err := tx.QueryRow(ctx, readCreateFacts, r.TenantID, r.Kind, r.Name, r.PoolID, parent, r.Identity, r.AccountID, r.ProviderID).
		Scan(&f.identityHeldBy, &f.nameHeldBy, &f.recordedBy, &f.recordedTenant, &f.count,
			&f.billing, &f.owner, &f.offerStatus, &f.excluded, &f.budgetLimit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("pool")
	}
	return &f, err
}

// checkTaken refuses what is there already: the identity within the parent,
// the object at the provider, the name.
func (f *createFacts) checkTaken(r *cloud.Resource) error {
	switch {
	case f.identityHeldBy != nil:
		return cloud.Errorf(cloud.CodeConflict, "its parent has such a %s already", r.Kind).
			Because(cloud.ReasonIdentity).With("resourceId", *f.identityHeldBy)
	case f.recordedBy != nil:
		e := cloud.Errorf(cloud.CodeConflict, "the object at the provider is recorded already").Because(cloud.ReasonRecorded)
		if *f.recordedTenant == r.TenantID {
			e = e.With("resourceId", *f.recordedBy)
		}
		return e
	case f.nameHeldBy != nil:
		return cloud.Errorf(cloud.CodeConflict, "the tenant has a %s named %s already", r.Kind, r.Name).Because(cloud.ReasonName)
	}
	return nil
}

// checkCount refuses what exceeds the tenant's quota of the kind. One that is
// being deleted still counts.
func (f *createFacts) checkCount(ctx context.Context, tx pgx.Tx, r *cloud.Resource) error {
	perKind, limit, err := quotas(ctx, tx, r.TenantID)
	if err != nil {
		return err
	}
	if own, ok := perKind[r.Kind]; ok {
		limit = own
	}
	if f.count >= limit {
		return cloud.Errorf(cloud.CodeQuotaExceeded, "the tenant has its quota of %d %s", limit, r.Kind).With("limit", limit)
	}
	return nil
}

// checkOffer refuses a pool whose offer to the tenant is suspended or leaves
// the region out. A product's own region word is left out with any of the
// datacenters that it stands for, since the provider chooses among them. What
// lives in another is where that is.
func (f *createFacts) checkOffer(n *intent.NewResource, parent *cloud.Resource) error {
	r := n.Resource
	if f.owner == r.TenantID {
		return nil
	}
	if f.offerStatus == nil {
		return errNotFound("pool") // taken back since it was looked up
	}
	if *f.offerStatus == "suspended" {
		return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool is suspended").Because(cloud.ReasonOfferSuspended)
	}
	region := r.Region
	if region == "" && parent != nil {
		region = parent.Region
	}
	if slices.ContainsFunc(datacenters(n.Manifest, region), func(dc string) bool { return slices.Contains(f.excluded, dc) }) {
		return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool leaves region %s out", region).
			Because(cloud.ReasonRegionExcluded).With("region", region)
	}
	return nil
}

// datacenters are the words that a region stands for: itself, and those that
// the kind maps it to.
func datacenters(m *cloud.Manifest, region string) []string {
	if region == "" {
		return nil
	}
	return append([]string{region}, m.RegionMap[region]...)
}

func (f *createFacts) checkBudget() error {
	if f.billing == cloud.BillingNone || f.budgetLimit == nil {
		return nil
	}
	return cloud.Errorf(cloud.CodeBudgetExceeded, "the tenant's budget is used up").With("limit", json.Number(*f.budgetLimit))
}
