package intent

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Principal is an authenticated caller.
type Principal struct {
	// Tenant and User say who it is; ID is "<tenant>/<user>" and owns what it creates.
	Tenant string
	User   string
	ID     string
}

// Account is a provider account as the rules see it: no token.
type Account struct {
	ID       string
	Provider string
	Owner    string // tenant
	Regions  []string
	Previews bool
}

// Offer is a tenant's right to somebody else's pool.
type Offer struct {
	Suspended       bool
	ExcludedRegions []string
}

// Pool is a pool as one tenant sees it.
type Pool struct {
	ID      string
	Type    string // "provider" or another
	Owner   string // tenant
	Billing cloud.Billing
	// DestructiveQuorum: deletes go out only through a command batch.
	DestructiveQuorum bool
	// Withdrawn: it takes nothing new of this tenant (create and adopt answer
	// NOT_FOUND); what the tenant has there is managed on.
	Withdrawn bool
	// Account is nil unless Type is "provider".
	Account *Account
	// Offer is nil on the tenant's own pool.
	Offer *Offer
}

// Hosted reports whether the pool's account is another tenant's: the shared
// hosting model.
func (p *Pool) Hosted(tenant string) bool { return p.Account == nil || p.Account.Owner != tenant }

// NewResource is a create or adopt that passed every check which needs no lock.
type NewResource struct {
	// Resource is filled but not yet Created.
	Resource *cloud.Resource
	// RequestDigest identifies the first request under this id (D1).
	RequestDigest []byte
	Actor         string
	Manifest      *cloud.Manifest
	Refs          cloud.Refs
	// Booking is the capacity that the spec takes, e.g. {"gpu": 4}.
	Booking map[string]int64
	Pool    *Pool
}

// Store records intents. schema/postgres implements it. Errors are *cloud.Error.
type Store interface {
	// Pool returns a pool that the tenant may see (its own, or offered to it,
	// suspended or not); NOT_FOUND otherwise.
	Pool(ctx context.Context, tenant, pool string) (*Pool, error)
	// ProjectExists says whether the project is the tenant's.
	ProjectExists(ctx context.Context, tenant, project string) (bool, error)
	// Resource returns a tenant's resource; NOT_FOUND for any other (D28).
	Resource(ctx context.Context, tenant, id string) (*cloud.Resource, error)
	// Replay returns the resource recorded under an id with its request digest,
	// or nil.
	Replay(ctx context.Context, id string) (*cloud.Resource, []byte, error)
	// Recorded returns the id of the live resource that records a provider
	// object of a kind on an account, or "".
	Recorded(ctx context.Context, account, kind, providerID string) (string, error)
	// Records returns which live resources, of whatever tenant, record objects of
	// a kind on an account. What of it a caller may know is the service's to judge.
	Records(ctx context.Context, account, kind string, providerIDs []string) ([]Record, error)
	// Insert makes the record in one transaction that serialises the tenant's
	// creates: replay again, then the checks of D21 from instances on
	// (instances, networks, secret references, parent, identity, name, count
	// quota, capacity, offer, budget), then row, bookings, authorization row,
	// event and outbox row. A refusal leaves nothing.
	Insert(ctx context.Context, n NewResource) (*cloud.Resource, error)
	// Change locks the row and runs fn in a transaction; what fn did to the
	// record and asked in its Change is saved with it, with an outbox row for
	// signal ("" for none) when the generation, intent or refresh wish changed.
	// NOT_FOUND as in Resource.
	Change(ctx context.Context, tenant, id, actor, signal string, fn func(ctx context.Context, tx Tx, r *cloud.Resource) (*cloud.Change, error)) (*cloud.Resource, error)
	// List returns up to limit resources, oldest first, after the given cursor
	// (an id, or "").
	List(ctx context.Context, f Filter, after string, limit int) ([]*cloud.Resource, error)
	// Quotas returns the tenant's cap per kind; kinds without an entry have
	// fallback (maxPerKind of the platform, 20 by default).
	Quotas(ctx context.Context, tenant string) (perKind map[string]int64, fallback int64, err error)
}

// Record says which live resource records an object of a provider account.
type Record struct {
	ResourceID string
	TenantID   string
	ProjectID  string
	PoolID     string
	ProviderID string
	// ParentProviderID is the parent's object, "" for a kind without a parent.
	ParentProviderID string
}

// Filter narrows List. Empty fields do not.
type Filter struct {
	Tenant         string
	Pool           string
	Project        string
	Kind           string
	Family         cloud.Family
	IncludeDeleted bool
}

// Tx is what a Change may ask and do beyond its own row.
type Tx interface {
	// CheckInstances, CheckNetworks and CheckSecrets refuse (INVALID_INPUT with
	// the reason) references that are not live ones of the tenant on the account.
	// A network must have a VPC in region unless region is "".
	CheckInstances(ctx context.Context, tenant, account string, ids []string) error
	CheckNetworks(ctx context.Context, tenant, account, region string, ids []string) error
	CheckSecrets(ctx context.Context, tenant string, refs []cloud.PathValue) error
	// Rebook books growth at once (QUOTA_EXCEEDED refuses) and remembers a
	// shrink until Change.SettleBooking.
	Rebook(ctx context.Context, r *cloud.Resource, booking map[string]int64) error
	// LiveChildren lists the resources that live in one and have not ended.
	LiveChildren(ctx context.Context, id string) ([]*cloud.Resource, error)
	// DestructiveQuorum says whether any of the pools demands a quorum for deletes.
	DestructiveQuorum(ctx context.Context, pools []string) (bool, error)
	// DeleteTree marks everything that lives in the resource for deletion, each
	// with its event and outbox row.
	DeleteTree(ctx context.Context, id, actor string) error
}

// Validator checks what callers send against JSON Schemas; schema/contract
// implements it.
type Validator interface {
	// ValidateSpec is INVALID_INPUT naming the fields under "spec.".
	ValidateSpec(m *cloud.Manifest, spec cloud.Spec) error
	// Decode checks the raw JSON input of a method and fills a struct with it.
	// INVALID_INPUT naming the fields.
	Decode(method string, raw []byte, into any) error
}

// Accounts opens provider accounts; the composition root implements it over
// the store's tokens and the list of clouds.
type Accounts interface {
	// Manifests of a provider, nil when there is none of that name.
	Manifests(provider string) []*cloud.Manifest
	// Open returns the account's resources. UNAVAILABLE when it cannot be had.
	Open(ctx context.Context, account string) (cloud.ProviderResources, error)
	// Deployment is this deployment's name.
	Deployment(ctx context.Context) (string, error)
}

// Clock gives the time; tests replace it.
type Clock func() time.Time
