package intent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/better-compute/cloud-resources/cloud"
)

// Reasons of INVALID_STATE beside those of package cloud.
const (
	reasonReleasing = "releasing"
	reasonEnded     = "ended"
)

// change is an update on its way: what is asked for, and what can be known of
// it without a transaction.
type change struct {
	in       UpdateRequest
	pool     *Pool
	manifest *cloud.Manifest
	kind     cloud.Kind
	// version and booking: what the spec books was asked of the provider for the
	// record at this version.
	version int64
	booking map[string]int64
}

// errMoved: the record is not the one for which the booking was asked.
var errMoved = errors.New("the record changed meanwhile")

// maxMoves is how often an update begins again because others were faster.
const maxMoves = 10

// Update merges the spec onto the recorded one and records what must change.
// Refusals: INVALID_INPUT with neither field; ACCESS_DENIED; NOT_FOUND;
// INVALID_STATE deleting, releasing, ended, adopting; CONFLICT version;
// INVALID_INPUT spec, region, accountWide; INVALID_STATE replaceRequired with
// the fields; INVALID_INPUT instance, network, secretRef; QUOTA_EXCEEDED.
// Nothing is applied then.
func (s *Service) Update(ctx context.Context, p Principal, in UpdateRequest) (*cloud.Resource, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r, err := s.load(ctx, p, ActionUpdate, in.TenantID, in.ResourceID)
	if err != nil {
		return nil, err
	}
	// A resource must not move to where the caller could not have made it.
	if region, ok := in.region(); ok && region != r.Region {
		t := TargetOf(r)
		t.Attributes[AttributeRegion] = region
		if err := s.Authorizer.Decide(ctx, p, ActionUpdate, t); err != nil {
			return nil, err
		}
	}
	return s.update(ctx, p.ID, r, in)
}

func (in UpdateRequest) check() error {
	if in.Spec == nil && !in.Description.Given {
		return cloud.InvalidField("an update names a spec or a description", "spec", "description")
	}
	return nil
}

func (in UpdateRequest) region() (string, bool) {
	if in.Spec == nil {
		return "", false
	}
	word, ok := (*in.Spec)["region"].(string)
	return strings.ToLower(word), ok
}

// update is the same for tenants and operators.
func (s *Service) update(ctx context.Context, actor string, r *cloud.Resource, in UpdateRequest) (*cloud.Resource, error) {
	in.TenantID, in.ResourceID = r.TenantID, r.ID
	for range maxMoves {
		ch, err := s.prepare(ctx, r, in)
		if err != nil {
			return nil, err
		}
		changed, err := s.Store.Change(ctx, r.TenantID, r.ID, actor, "update", func(ctx context.Context, tx Tx, r *cloud.Resource) (*cloud.Change, error) {
			return s.apply(ctx, tx, r, ch)
		})
		if !errors.Is(err, errMoved) {
			return changed, err
		}
		if r, err = s.Store.Resource(ctx, r.TenantID, r.ID); err != nil {
			return nil, err
		}
	}
	return nil, cloud.Errorf(cloud.CodeConflict, "others keep changing the resource; try again").Because(cloud.ReasonVersion)
}

// prepare gathers what an update of the spec needs and must not be asked for
// within a transaction.
func (s *Service) prepare(ctx context.Context, r *cloud.Resource, in UpdateRequest) (*change, error) {
	ch := &change{in: in}
	if in.Spec == nil {
		return ch, nil
	}
	if err := changeable(r); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, r.TenantID, r.PoolID, r.Kind)
	if err != nil {
		return nil, err
	}
	ch.pool, ch.manifest = at.pool, at.manifest
	if ch.kind, err = s.open(ctx, r.AccountID, r.Kind); err != nil {
		return nil, err
	}
	if ch.manifest.Books == "" || r.Adopting() {
		return ch, nil
	}
	spec, err := s.merged(ch, r)
	if err != nil {
		return nil, err
	}
	ch.version = r.Version
	if len(ch.manifest.NotUpdatable(ch.fields(r, spec))) == 0 { // else it is refused without asking
		ch.booking, err = booking(ctx, ch.kind, ch.manifest, spec)
	}
	return ch, err
}

// changeable refuses a resource that is on its way out.
func changeable(r *cloud.Resource) error {
	refuse := func(reason, message string) error {
		return cloud.Errorf(cloud.CodeInvalidState, "%s", message).Because(reason).With("state", string(r.State))
	}
	switch {
	case r.State.Final():
		return refuse(reasonEnded, "the resource has ended")
	case r.Intent == cloud.IntentDelete:
		return refuse(cloud.ReasonDeleting, "the resource is being deleted")
	case r.Intent == cloud.IntentRelease:
		return refuse(reasonReleasing, "the resource is being released")
	}
	return nil
}

func expected(r *cloud.Resource, version *int64) error {
	if version == nil || *version == r.Version {
		return nil
	}
	return cloud.Errorf(cloud.CodeConflict, "the resource is at version %d, not %d", r.Version, *version).
		Because(cloud.ReasonVersion).With("version", r.Version)
}

// apply runs on the locked record.
func (s *Service) apply(ctx context.Context, tx Tx, r *cloud.Resource, ch *change) (*cloud.Change, error) {
	if err := changeable(r); err != nil {
		return nil, err
	}
	if err := expected(r, ch.in.ExpectedVersion); err != nil {
		return nil, err
	}
	now := s.now()
	if ch.in.Spec == nil {
		return r.WantDescription(ch.in.Description.Value, true, now), nil
	}
	spec, err := s.newSpec(ctx, tx, r, ch)
	if err != nil {
		return nil, err
	}
	c := r.WantSpec(spec, now)
	if ch.in.Description.Given {
		r.WantDescription(ch.in.Description.Value, false, now)
	}
	return c, nil
}

// newSpec is the spec to record, checked. An equal one is the recorded one,
// whatever its spelling (D33).
func (s *Service) newSpec(ctx context.Context, tx Tx, r *cloud.Resource, ch *change) (cloud.Spec, error) {
	raw := r.Spec.Merge(*ch.in.Spec)
	if len(ch.fields(r, raw)) == 0 {
		return r.Spec, nil
	}
	if r.Adopting() {
		return nil, cloud.Errorf(cloud.CodeInvalidState, "the resource is being taken over; its spec can change when that is done").
			Because(cloud.ReasonAdopting)
	}
	spec, err := s.merged(ch, r)
	if err != nil {
		return nil, err
	}
	fields := ch.fields(r, spec)
	if fixed := ch.manifest.NotUpdatable(fields); len(fixed) > 0 {
		for i := range fixed {
			fixed[i] = "spec." + fixed[i]
		}
		return nil, cloud.Errorf(cloud.CodeInvalidState, "%s cannot be changed in place; create a new resource instead", strings.Join(fixed, ", ")).
			Because(cloud.ReasonReplaceRequired).With("fields", fixed)
	}
	if err := ch.checkRefs(ctx, tx, r, spec, slices.Contains(fields, "region")); err != nil {
		return nil, err
	}
	if ch.manifest.Books != "" {
		if r.Version != ch.version {
			return nil, errMoved
		}
		if err := tx.Rebook(ctx, r, ch.booking); err != nil {
			return nil, err
		}
	}
	if ch.manifest.Parent != "" {
		r.Identity = ch.manifest.IdentityOf(spec)
	}
	if ch.manifest.Regional {
		r.Region = spec.String("region")
	}
	if r.ObservedOnly {
		// What the provider chose by itself stays its own: from here on only what
		// the tenant asks for, and what makes the object what it is, is wanted (D5).
		r.Spec, spec = ch.manifest.Chosen(r.Spec, *ch.in.Spec), ch.manifest.Chosen(spec, *ch.in.Spec)
	}
	return spec, nil
}

// fields are the top-level fields in which a spec differs from the record's by
// meaning.
func (ch *change) fields(r *cloud.Resource, spec cloud.Spec) []string {
	return normalise(ch.kind, r.Spec).Changed(normalise(ch.kind, spec))
}

// merged is the whole spec after the change, checked as on create.
func (s *Service) merged(ch *change, r *cloud.Resource) (cloud.Spec, error) {
	spec, err := s.checkSpec(ch.kind, ch.manifest, r.Spec.Merge(*ch.in.Spec))
	if err != nil {
		return nil, err
	}
	if spec.String("region") != r.Spec.String("region") {
		decided, _ := ch.in.region()
		if err := checkRegion(ch.manifest, spec, decided, ch.pool.Account); err != nil {
			return nil, err
		}
		if err := ch.checkExcluded(spec.String("region")); err != nil {
			return nil, err
		}
	}
	return spec, checkAccountWide(ch.manifest.Refs(spec), ch.pool.Hosted(r.TenantID))
}
