package intent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Actions that policies name.
const (
	ActionRead   = "compute:cloud-resources:read"
	ActionCreate = "compute:cloud-resources:create"
	ActionUpdate = "compute:cloud-resources:update"
	ActionDelete = "compute:cloud-resources:delete"
)

// Types of what is decided on; with an id they make names such as
// compute-cloud-resource/crs_...
const (
	TypeTenant      = "compute-tenant"
	TypeResource    = "compute-cloud-resource"
	TypeSecret      = "compute-secret"
	TypeCertificate = "provider-certificate"
	TypeBatch       = "compute-command-batch"
)

// Attributes of a resource that a policy's conditions may name.
const (
	AttributeKind     = "kind"
	AttributeFamily   = "family"
	AttributeProvider = "provider"
	AttributeAccount  = "providerAccountId"
	AttributePool     = "poolId"
	AttributeRegion   = "region"
	AttributeProject  = "projectId"
)

// Target is what a call is decided on.
type Target struct {
	Type, ID string
	// Tenant is whose it is.
	Tenant     string
	Attributes map[string]string
	// Unknown are attributes that the target will have and that nobody knows
	// yet: a condition on them neither refuses nor allows by itself.
	Unknown []string
	// Items is set on a tenant when the call answers with things of this type
	// that are decided one by one, so that a policy which depends on their
	// attributes lets the call itself pass (D27).
	Items string
}

// Authorizer decides calls. api/authz implements it.
type Authorizer interface {
	// Reach is ACCESS_DENIED unless the principal may act in the tenant at all:
	// its own, or one that a policy opens to it.
	Reach(ctx context.Context, p Principal, tenant string) error
	// Decide is ACCESS_DENIED unless a policy allows the action and none denies it.
	Decide(ctx context.Context, p Principal, action string, t Target) error
}

// Batches turns a delete on a pool that demands a quorum into a command batch.
type Batches interface {
	// DeleteBatch records, in the delete's transaction, a batch over the resource
	// and the tree of all that lives in it, and returns its id. The caller holds r
	// with it; what lives in it is the implementer's to hold.
	DeleteBatch(ctx context.Context, tx Tx, r *cloud.Resource, tree []*cloud.Resource, actor string) (batchID string, err error)
}

// Answers shares one answer of a provider account among all callers of all
// processes for a while.
type Answers interface {
	Answer(ctx context.Context, account, question string, maxAge time.Duration, fetch func(context.Context) (any, error)) (json.RawMessage, error)
}

// Service is the rules over their ports. All but Batches and Answers are required.
type Service struct {
	Store      Store
	Validator  Validator
	Accounts   Accounts
	Authorizer Authorizer
	// SecretStore reports whether this deployment can seal secrets.
	SecretStore func() bool
	// Batches is nil where pools cannot demand a quorum; a delete on one that
	// does is then UNSUPPORTED.
	Batches Batches
	// Answers is nil where every call asks the provider anew.
	Answers Answers
	Now     Clock
}

// now is the time as Postgres keeps it, so that what is answered and what is
// read back are the same.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// place is where a kind's resources live, as one tenant sees it.
type place struct {
	pool      *Pool
	manifests []*cloud.Manifest
	// manifest is the kind's, nil when no kind was asked for.
	manifest *cloud.Manifest
}

// place finds the pool and the kinds of its provider; kind "" asks for none.
func (s *Service) place(ctx context.Context, tenant, pool, kind string) (*place, error) {
	p, err := s.Store.Pool(ctx, tenant, pool)
	if err != nil {
		return nil, err
	}
	if p.Account == nil {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool is not a provider pool; it serves no cloud resources")
	}
	at := &place{pool: p, manifests: s.Accounts.Manifests(p.Account.Provider)}
	if len(at.manifests) == 0 {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool's provider serves no cloud resources")
	}
	if kind == "" {
		return at, nil
	}
	if at.manifest = find(at.manifests, kind); at.manifest == nil {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool's provider does not serve the kind %s", kind)
	}
	return at, nil
}

func find(manifests []*cloud.Manifest, kind string) *cloud.Manifest {
	for _, m := range manifests {
		if m.Kind == kind {
			return m
		}
	}
	return nil
}

// enter is the way into a tenant-level read: the caller may act in the tenant,
// the pool is one it can see, and the action is allowed on the tenant.
func (s *Service) enter(ctx context.Context, p Principal, tenant, pool, kind, items string) (*place, error) {
	if err := s.Authorizer.Reach(ctx, p, tenant); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, tenant, pool, kind)
	if err != nil {
		return nil, err
	}
	return at, s.Authorizer.Decide(ctx, p, ActionRead, Target{Type: TypeTenant, ID: tenant, Tenant: tenant, Items: items})
}

// load returns a tenant's resource when the caller may do the action on it.
func (s *Service) load(ctx context.Context, p Principal, action, tenant, id string) (*cloud.Resource, error) {
	if err := s.Authorizer.Reach(ctx, p, tenant); err != nil {
		return nil, err
	}
	r, err := s.Store.Resource(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return r, s.Authorizer.Decide(ctx, p, action, TargetOf(r))
}

// TargetOf is the resource as decisions see it.
func TargetOf(r *cloud.Resource) Target {
	return Target{Type: TypeResource, ID: r.ID, Tenant: r.TenantID, Attributes: map[string]string{
		AttributeKind: r.Kind, AttributeFamily: string(r.Family), AttributeProvider: r.Provider,
		AttributeAccount: r.AccountID, AttributePool: r.PoolID, AttributeRegion: r.Region, AttributeProject: r.ProjectID,
	}}
}

// target is a thing of the place that no record stands for.
func (at *place) target(tenant string, m *cloud.Manifest) Target {
	return Target{Type: TypeResource, Tenant: tenant, Attributes: map[string]string{
		AttributeKind: m.Kind, AttributeFamily: string(m.Family), AttributeProvider: at.pool.Account.Provider,
		AttributeAccount: at.pool.Account.ID, AttributePool: at.pool.ID,
	}}
}

// open returns the kind's code on the place's account.
func (s *Service) open(ctx context.Context, account, kind string) (cloud.Kind, error) {
	resources, err := s.Accounts.Open(ctx, account)
	if err != nil {
		return nil, err
	}
	k, ok := resources.Kind(kind)
	if !ok {
		return nil, cloud.Errorf(cloud.CodeUnsupported, "the pool's provider does not serve the kind %s", kind)
	}
	return k, nil
}

// takesNew: a pool that was withdrawn is there only for what lives in it.
func (at *place) takesNew() error {
	if at.pool.Withdrawn {
		return cloud.Errorf(cloud.CodeNotFound, "no such pool").With("fields", []string{"poolId"})
	}
	return nil
}

// available refuses a preview kind on an account without previews.
func (at *place) available() error {
	if at.manifest.Preview && !at.pool.Account.Previews {
		return cloud.Errorf(cloud.CodeUnsupported, "%s is a preview of the provider, and previews are not enabled on the account", at.manifest.Kind).
			Because(cloud.ReasonPreview)
	}
	return nil
}

// seals refuses a kind with secret outputs where nothing can be sealed.
func (s *Service) seals(m *cloud.Manifest) error {
	if len(m.SecretOutputs) > 0 && !s.SecretStore() {
		return cloud.Errorf(cloud.CodeUnsupported, "%s has secret outputs, and this deployment has no secret store", m.Kind).
			Because(cloud.ReasonSecretStore)
	}
	return nil
}

// owned refuses an account of another tenant.
func (at *place) owned(tenant string) error {
	if at.pool.Hosted(tenant) {
		return cloud.Errorf(cloud.CodeAccessDenied, "the pool's account belongs to another tenant").Because(cloud.ReasonNotAccountOwner)
	}
	return nil
}

// readTimeout bounds what a caller waits for a provider.
const readTimeout = 25 * time.Second

// ask runs a read of the provider within the caller's share of its allowance.
func ask[T any](ctx context.Context, what string, fn func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(cloud.Interactive(ctx), readTimeout)
	defer cancel()
	v, err := fn(ctx)
	if err != nil {
		return v, providerError(what, err)
	}
	return v, nil
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
