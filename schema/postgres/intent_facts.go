package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// createFacts is what the tenant has already, read once for several checks.
type createFacts struct {
	identityHeldBy, nameHeldBy *string
	recordedBy, recordedTenant *string
	count, limit               int64
	lastCreated                *time.Time
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
	coalesce((SELECT q.max_count FROM quotas q WHERE q.tenant_id = $1 AND q.kind IN ($2, '') ORDER BY q.kind DESC LIMIT 1),
		(SELECT (d.settings->>'maxPerKind')::bigint FROM deployment d), $9),
	(SELECT max(c.created_at) FROM resources c WHERE c.tenant_id = $1),
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
	err := tx.QueryRow(ctx, readCreateFacts, r.TenantID, r.Kind, r.Name, r.PoolID, parent, r.Identity, r.AccountID, r.ProviderID, defaultMaxPerKind).
		Scan(&f.identityHeldBy, &f.nameHeldBy, &f.recordedBy, &f.recordedTenant, &f.count, &f.limit, &f.lastCreated,
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
func (f *createFacts) checkCount(r *cloud.Resource) error {
	if f.count < f.limit {
		return nil
	}
	return cloud.Errorf(cloud.CodeQuotaExceeded, "the tenant has its quota of %d %s", f.limit, r.Kind).With("limit", f.limit)
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
	if n.Manifest.Regional && region == "" && len(f.excluded) > 0 {
		// Where the provider would put it is not known, so it might be there.
		return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool leaves regions out: name one in spec.region").
			Because(cloud.ReasonRegionExcluded)
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

// keepOrder makes created_at grow with each create of a tenant, whatever the
// clocks of several processes say, so that a page of a list never misses one.
func (f *createFacts) keepOrder(now time.Time) time.Time {
	if f.lastCreated != nil && !now.After(*f.lastCreated) {
		return f.lastCreated.UTC().Add(time.Microsecond)
	}
	return now
}
