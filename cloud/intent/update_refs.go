package intent

import (
	"context"
	"slices"

	"github.com/better-compute/cloud-resources/cloud"
)

// checkRefs checks what a change newly names. What the recorded spec names
// already was checked when it was named, and is again before every provider
// call; networks are also checked anew when the region moves.
func (ch *change) checkRefs(ctx context.Context, tx Tx, r *cloud.Resource, spec cloud.Spec, moved bool) error {
	before, after := ch.manifest.Refs(r.Spec), ch.manifest.Refs(spec)
	if err := tx.CheckInstances(ctx, r.TenantID, r.AccountID, added(before.InstanceIDs(), after.InstanceIDs())); err != nil {
		return err
	}
	networks := added(before.NetworkIDs(), after.NetworkIDs())
	region := r.Region
	if moved {
		networks, region = after.NetworkIDs(), spec.String("region")
	}
	if err := ch.checkNetworks(ctx, tx, r, region, networks); err != nil {
		return err
	}
	return tx.CheckSecrets(ctx, r.TenantID, newSecrets(before, after))
}

// checkNetworks: a product's own region word stands for several datacenters,
// and a network in one of them will do.
func (ch *change) checkNetworks(ctx context.Context, tx Tx, r *cloud.Resource, region string, ids []string) error {
	err := tx.CheckNetworks(ctx, r.TenantID, r.AccountID, region, ids)
	for _, datacenter := range ch.manifest.RegionMap[region] {
		if err == nil {
			break
		}
		err = tx.CheckNetworks(ctx, r.TenantID, r.AccountID, datacenter, ids)
	}
	return err
}

// checkExcluded: an offer that leaves a region out does so for moves too.
func (ch *change) checkExcluded(region string) error {
	if ch.pool.Offer == nil {
		return nil
	}
	for _, datacenter := range append([]string{region}, ch.manifest.RegionMap[region]...) {
		if slices.Contains(ch.pool.Offer.ExcludedRegions, datacenter) {
			return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool leaves region %s out", region).
				Because(cloud.ReasonRegionExcluded).With("region", region)
		}
	}
	return nil
}

func added(before, after []string) []string {
	var out []string
	for _, id := range after {
		if !slices.Contains(before, id) {
			out = append(out, id)
		}
	}
	return out
}

// newSecrets are the references that the recorded spec does not hold; one that
// only moved to another field is no new one.
func newSecrets(before, after cloud.Refs) []cloud.PathValue {
	known := map[string]bool{}
	for _, ref := range before.Secrets {
		known[ref.Value] = true
	}
	var out []cloud.PathValue
	for _, ref := range secretRefs(after) {
		if !known[ref.Value] {
			out = append(out, ref)
		}
	}
	return out
}
