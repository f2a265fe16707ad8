package intent

import (
	"context"
	"encoding/json"

	"github.com/better-compute/cloud-resources/cloud"
)

// KindEntry is a kind as callers see it; forms are built from it.
type KindEntry struct {
	Kind          string               `json:"kind"`
	Title         string               `json:"title"`
	Description   string               `json:"description"`
	Family        cloud.Family         `json:"family"`
	Spec          json.RawMessage      `json:"spec"`
	Examples      []json.RawMessage    `json:"examples"`
	Outputs       []cloud.Output       `json:"outputs"`
	SecretOutputs []cloud.SecretOutput `json:"secretOutputs"`
	Regional      bool                 `json:"regional"`
	Updatable     []string             `json:"updatable"`
	Meters        []string             `json:"meters"`
	Parent        string               `json:"parent,omitempty"`
	Preview       bool                 `json:"preview"`
	// Available: not a preview, or previews are on for the account.
	Available bool `json:"available"`
	// Adoptable and Releasable say which of adopt and release the kind knows.
	Adoptable  bool `json:"adoptable"`
	Releasable bool `json:"releasable"`
	// Quota is how many live ones the tenant may have.
	Quota int64 `json:"quota"`
}

// Kinds lists the kinds that the pool's provider serves, those that the
// caller's policies could let it read (D27). Refusals: ACCESS_DENIED; NOT_FOUND
// pool; UNSUPPORTED.
func (s *Service) Kinds(ctx context.Context, p Principal, in PoolRequest) ([]KindEntry, error) {
	at, err := s.enter(ctx, p, in.TenantID, in.PoolID, "", TypeResource)
	if err != nil {
		return nil, err
	}
	perKind, fallback, err := s.Store.Quotas(ctx, in.TenantID)
	if err != nil {
		return nil, err
	}
	entries := []KindEntry{}
	for _, m := range at.manifests {
		target := at.target(in.TenantID, m)
		target.Unknown = []string{AttributeRegion, AttributeProject}
		allowed, err := s.allowed(ctx, p, target)
		if err != nil {
			return nil, err
		}
		if !allowed {
			continue
		}
		quota, own := perKind[m.Kind]
		if !own {
			quota = fallback
		}
		entries = append(entries, entryOf(m, !m.Preview || at.pool.Account.Previews, quota))
	}
	return entries, nil
}

func entryOf(m *cloud.Manifest, available bool, quota int64) KindEntry {
	return KindEntry{
		Kind: m.Kind, Title: m.Title, Description: m.Description, Family: m.Family, Spec: m.Spec, Examples: m.Examples,
		Outputs: orEmpty(m.Outputs), SecretOutputs: orEmpty(m.SecretOutputs), Regional: m.Regional, Updatable: m.Updatable(),
		Meters: orEmpty(m.Meters), Parent: m.Parent, Preview: m.Preview, Available: available,
		Adoptable: m.Adoptable(), Releasable: m.Releasable(), Quota: quota,
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// allowed reports whether the caller may read the target; only trouble is an error.
func (s *Service) allowed(ctx context.Context, p Principal, t Target) (bool, error) {
	err := s.Authorizer.Decide(ctx, p, ActionRead, t)
	if err != nil && cloud.AsError(err).Code == cloud.CodeAccessDenied {
		return false, nil
	}
	return err == nil, err
}
