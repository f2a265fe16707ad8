package intent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// The checks of a spec that need no transaction, in the order of D21.

// checkSpec bounds, normalises and validates a whole spec and returns its
// normal form. INVALID_INPUT names the fields.
func (s *Service) checkSpec(k cloud.Kind, m *cloud.Manifest, spec cloud.Spec) (cloud.Spec, error) {
	if size := specSize(spec); size > cloud.MaxSpecBytes {
		return nil, cloud.InvalidField(fmt.Sprintf("spec has %d bytes of JSON; at most %d are allowed", size, cloud.MaxSpecBytes), "spec")
	}
	spec = normalise(k, spec)
	if err := s.Validator.ValidateSpec(m, spec); err != nil {
		return nil, err
	}
	if c, ok := k.(cloud.SpecChecker); ok {
		if err := c.CheckSpec(spec); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

func normalise(k cloud.Kind, spec cloud.Spec) cloud.Spec {
	if n, ok := k.(cloud.SpecNormaliser); ok {
		return n.NormaliseSpec(spec)
	}
	return spec
}

// checkRegion: a regional kind's region is one that the account configures, and
// the one that was decided on, however the spec spelt it. A kind whose schema
// does not demand one leaves the choice to the provider.
func checkRegion(m *cloud.Manifest, spec cloud.Spec, decided string, a *Account) error {
	word := spec.String("region")
	if !m.Regional || spec["region"] == nil || word == decided && m.RegionAllowed(word, a.Regions) {
		return nil
	}
	return cloud.InvalidField("spec.region must be a region that the account configures: "+strings.Join(regionWords(m, a.Regions), ", "), "spec.region")
}

// regionWords are the words that the kind allows on an account with these regions.
func regionWords(m *cloud.Manifest, regions []string) []string {
	if len(m.RegionMap) == 0 {
		return slices.Sorted(slices.Values(regions))
	}
	var words []string
	for word := range m.RegionMap {
		if m.RegionAllowed(word, regions) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

// checkAccountWide: on an account that tenants share, a spec stays within what
// is the tenant's own.
func checkAccountWide(refs cloud.Refs, hosted bool) error {
	if !hosted || len(refs.AccountWide) == 0 {
		return nil
	}
	return cloud.InvalidField("on a shared account a spec cannot reach account-wide objects: "+strings.Join(refs.AccountWide, ", "), refs.AccountWide...).
		Because(cloud.ReasonAccountWide)
}

// secretRefs are the spec's secret references; a field that must hold one and
// does not counts as a reference to nothing, so that it is refused in its turn.
func secretRefs(refs cloud.Refs) []cloud.PathValue {
	out := slices.Clone(refs.Secrets)
	for _, path := range refs.BadSecrets {
		out = append(out, cloud.PathValue{Path: path})
	}
	return out
}

// checkProject: NOT_FOUND for a project that is not the tenant's (D29).
func (s *Service) checkProject(ctx context.Context, tenant, project string) error {
	if project == "" {
		return nil
	}
	exists, err := s.Store.ProjectExists(ctx, tenant, project)
	if err != nil || exists {
		return err
	}
	return cloud.Errorf(cloud.CodeNotFound, "no such project").With("fields", []string{"projectId"})
}

// booking is the capacity that a spec takes, nil for a kind that books none.
func booking(ctx context.Context, k cloud.Kind, m *cloud.Manifest, spec cloud.Spec) (map[string]int64, error) {
	if m.Books == "" {
		return nil, nil
	}
	b, ok := k.(cloud.Booker)
	if !ok {
		return nil, cloud.Errorf(cloud.CodeInternal, "internal error").With("kind", m.Kind)
	}
	return ask(ctx, "asking what the spec books", func(ctx context.Context) (map[string]int64, error) { return b.Booking(ctx, spec) })
}
