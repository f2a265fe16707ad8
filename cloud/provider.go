package cloud

import (
	"context"
	"log/slog"
	"time"
)

// Provider is a cloud: the kinds it serves and how an account of it is opened.
type Provider interface {
	// Name is the provider's name and the prefix rule of its kinds ("digitalocean").
	Name() string
	// Manifests lists every kind, in the order callers see.
	Manifests() []*Manifest
	// Open returns the account's resources. It makes no call.
	Open(account AccountAccess) (ProviderResources, error)
}

// AccountAccess is what a provider needs to act on one account.
type AccountAccess struct {
	ID       string
	Provider string
	Token    Secret
	// APIURL overrides the provider's public address; "" means the real one.
	APIURL string
	// Regions are the datacenter words that the account configures.
	Regions  []string
	Previews bool
	// Deployment is this deployment's name, written into ownership labels.
	Deployment string
	// Budget is asked before each request and told the provider's headers. Nil: none.
	Budget Budget
	Logger *slog.Logger
}

// Budget spends an account's allowance of provider requests.
type Budget interface {
	// Take spends one request. When none is left it returns a *ProviderError of
	// ClassThrottled with RetryAfter; it never sleeps. Whether the call may use
	// the interactive share comes from the context (see Interactive).
	Take(ctx context.Context, account string) error
	// Report tells what the provider's answer said: how many are left of the
	// limit, when the window resets, and how long to pause (429), zero if unknown.
	Report(ctx context.Context, account string, limit, remaining int, reset time.Time, pause time.Duration)
}

type interactiveKey struct{}

// Interactive marks a context as a caller's own request, which may spend the
// share of the budget that background work must leave.
func Interactive(ctx context.Context) context.Context {
	return context.WithValue(ctx, interactiveKey{}, true)
}

// IsInteractive reports the mark of Interactive.
func IsInteractive(ctx context.Context) bool { v, _ := ctx.Value(interactiveKey{}).(bool); return v }

// ProviderResources is one opened account.
type ProviderResources interface {
	// Kind returns the code of a kind on this account; ok is false for a kind
	// that the provider does not serve.
	Kind(name string) (kind Kind, ok bool)
	// Catalog lists installable applications: installsOn is "instance",
	// "kubernetes" or "" for both. ClassUnsupported when there is none.
	Catalog(ctx context.Context, installsOn string) ([]CatalogItem, error)
	// Signals lists what the provider raises about its resources, newest first.
	// It sends no mutation. ClassUnsupported when there are none.
	Signals(ctx context.Context) ([]Signal, error)
	// Certificates is the account's certificate ability, or nil.
	Certificates() Certificates
	// Healthy asks the cheapest authenticated question, to see whether an
	// unreachable account answers again (D8).
	Healthy(ctx context.Context) error
}

// Kind is the code of one kind on one account. Every method is one look or one
// change: it does not wait for the provider to finish, may be repeated, and
// returns *ProviderError by class. Calls that change something happen only
// under the caller's lock of the object's parent (D17).
type Kind interface {
	Manifest() *Manifest
	// Find looks for the object that an earlier create of this record may have
	// made: by label, name, or parent and identity. It reads every page before it
	// answers ClassNotFound. Ownership of what it finds is judged by the caller.
	Find(ctx context.Context, r Request) (*Observed, error)
	// Create makes the object, with its ownership, and returns what the
	// provider answered (secrets included). It is sent at most once: no retry inside.
	Create(ctx context.Context, r Request) (*Observed, error)
	// Observe reads the object by r.ProviderID. ClassNotFound when it is absent.
	Observe(ctx context.Context, r Request) (*Observed, error)
	// Diff names the wanted spec's updatable fields that the observed object
	// does not have, in the order in which Update makes them. Values compare by
	// meaning; what the tenant did not set or the provider did not tell is no
	// difference. Pure.
	Diff(r Request, o *Observed) []string
	// Update makes the next provider call towards the wanted values of fields
	// (some of what Diff named; empty means: start again what failed). It returns
	// the fields that this call settles and, if the answer tells, the object.
	Update(ctx context.Context, r Request, o *Observed, fields []string) (*Updated, error)
	// Delete asks for the object's end. ClassNotFound means it is gone already.
	// Ended is what a later Observe says, not what Delete returns.
	Delete(ctx context.Context, r Request) error
	// List returns every object of the kind: on the account, or in scope.Parent
	// for a kind that lives in one. An error means that the list is not complete.
	List(ctx context.Context, scope Scope) ([]*Observed, error)
}

// Labeler is implemented by kinds owned by labels: adopt and release.
type Labeler interface {
	// Label writes our ownership labels, adding to those of others. An object
	// that another deployment took is ClassNotManaged.
	Label(ctx context.Context, r Request) error
	// Unlabel removes ours, the deciding one last (D11), and leaves others.
	Unlabel(ctx context.Context, r Request) error
}

// Booker is implemented by kinds that book capacity.
type Booker interface {
	// Booking says how much of each capacity the spec takes, e.g. {"gpu": 4}.
	Booking(ctx context.Context, spec Spec) (map[string]int64, error)
}

// SecretRecoverer is implemented by kinds whose secrets are shown once (D19).
type SecretRecoverer interface {
	// RecoverSecrets gets lost secrets again: either it returns the object with
	// them, or it deletes the object and returns one with PhaseGone, and the
	// caller makes it again.
	RecoverSecrets(ctx context.Context, r Request, o *Observed) (*Observed, error)
}

// SpecChecker is implemented by kinds with rules that their schema cannot say
// (a day's order, a list's duplicates). Pure; INVALID_INPUT naming fields.
type SpecChecker interface {
	CheckSpec(spec Spec) error
}

// SpecNormaliser is implemented by kinds that accept several spellings of one
// value, so that an equal value in another spelling is no change (D33). Pure.
type SpecNormaliser interface {
	NormaliseSpec(spec Spec) Spec
}

// Scope bounds a List.
type Scope struct {
	// Parent is set for kinds that live in one.
	Parent *ParentRef
	// Limit stops reading once so many were found; 0 reads all.
	Limit int
}

// ParentRef is the parent of a request's resource.
type ParentRef struct {
	ResourceID string
	Kind       string
	ProviderID string
	// Spec is the parent's wanted spec, Outputs what it reports (a pool builds
	// its URI from its cluster's host).
	Spec    Spec
	Outputs map[string]any
	// Deleting: the parent is being deleted. What dies with it needs no call, and
	// its Delete answers that it is not found: the parent waits for its end.
	Deleting bool
}

// NetworkRef is a tenant's network at the provider: region to provider id.
type NetworkRef map[string]string

// Request is all that a kind may use of a record.
type Request struct {
	ResourceID string
	TenantID   string
	// Name is the tenant's name of it, ProviderName the deterministic one (D2).
	Name         string
	ProviderName string
	ProviderID   string
	Parent       *ParentRef
	// Spec is the wanted spec as recorded. SecretRefs stand in it; Resolve
	// gives the value of one.
	Spec Spec
	// Applied is the spec last seen applied, so that a removed field can be
	// told; nil before the first time.
	Applied Spec
	// Instances and Networks map the ids in the spec to provider ids.
	Instances map[string]string
	Networks  map[string]NetworkRef
	// Secrets holds the values of the spec's SecretRefs, only on calls that may
	// send them; nil on looks.
	Secrets map[string]Secret
	// Digest is a keyed hash for remembering what was sent without keeping it.
	Digest func(value string) string
	// SecretVersions tells, by reference, the digest of the present value, so
	// that a changed secret is a difference without being resolved.
	SecretVersions map[string]string
	// Memo is the kind's own notes from the record. A kind may change it in
	// Create, Update and Observe; it is stored with the result. No secrets.
	Memo map[string]string
	Now  time.Time
}

// Resolve returns the value for a spec's text: the secret when it is a
// SecretRef, else the text itself.
func (r Request) Resolve(text string) string {
	if s, ok := r.Secrets[text]; ok {
		return s.Reveal()
	}
	return text
}

// Phase is what an object does at the provider right now.
type Phase string

// The phases. Unknown words of a provider are PhaseBusy.
const (
	PhaseBusy     Phase = "busy"
	PhaseReady    Phase = "ready"
	PhaseFailed   Phase = "failed"
	PhaseDeleting Phase = "deleting"
	PhaseGone     Phase = "gone"
)

// Owner is what ownership an object shows.
type Owner struct {
	// ResourceKey is the 24 characters of the record, from its label or name.
	ResourceKey string
	// Deployment is who manages it, where labels tell.
	Deployment string
}

// Observed is one look at an object.
type Observed struct {
	ProviderID string
	// Name is the object's name at the provider; Region its product's region word.
	Name   string
	Region string
	Owner  Owner
	Phase  Phase
	// Message says in the provider's words why it is failed or busy.
	Message string
	// Spec has those fields of the manifest that the provider reports, in the
	// manifest's form. An absent field is unknown, not empty.
	Spec Spec
	// Outputs are the manifest's plain outputs.
	Outputs map[string]any
	// Secrets are the secret outputs that this answer carried; an absent or
	// empty one is unknown and never replaces a sealed one.
	Secrets map[string]Secret
	// Identity is what IdentityOf gives for it; kinds with a parent set it.
	Identity string
	// CreatedAt is the provider's own time of creation, zero if it tells none.
	CreatedAt time.Time
}

// Updated is the result of one Update call.
type Updated struct {
	// Settles are the fields that the call just made asked for.
	Settles []string
	// Observed is the object after it, where the answer tells; else nil.
	Observed *Observed
}

// CatalogItem is an installable application.
type CatalogItem struct {
	Slug       string `json:"slug"`
	Title      string `json:"title,omitempty"`
	InstallsOn string `json:"installsOn"`
}

// Severity of a signal.
type Severity string

// The severities.
const (
	SeverityCritical Severity = "critical"
	SeverityWarning  Severity = "warning"
	SeverityInfo     Severity = "info"
)

// Signal is something that a provider raises about a resource (D24).
type Signal struct {
	ID         string   `json:"id"`
	Severity   Severity `json:"severity"`
	Title      string   `json:"title"`
	Detail     string   `json:"detail,omitempty"`
	At         int64    `json:"at"` // epoch ms
	Kind       string   `json:"kind"`
	ProviderID string   `json:"providerId"`
	ResourceID string   `json:"resourceId,omitempty"`
}

// Certificates is the certificate ability of an account.
type Certificates interface {
	// Create uploads a custom certificate or asks for an issued one.
	Create(ctx context.Context, r CertificateRequest) (*ObservedCertificate, error)
	// Find looks one up by its provider-side name, reading every page.
	Find(ctx context.Context, name string) (*ObservedCertificate, error)
	Observe(ctx context.Context, providerID string) (*ObservedCertificate, error)
	// Delete is ClassBusy while a load balancer uses it.
	Delete(ctx context.Context, providerID string) error
	// List returns every certificate of the account.
	List(ctx context.Context) ([]*ObservedCertificate, error)
}

// CertificateRequest is what is asked for: PEM texts for a custom one, or
// domains for an issued one.
type CertificateRequest struct {
	Name       string
	Type       string // "custom" or "lets_encrypt"
	PrivateKey Secret
	Leaf       string
	Chain      string
	Domains    []string
}

// ObservedCertificate is one look at a certificate.
type ObservedCertificate struct {
	ProviderID  string
	Name        string
	Type        string
	State       string // the provider's word
	Phase       Phase
	Message     string
	Fingerprint string
	NotAfter    time.Time
	Domains     []string
	CreatedAt   time.Time
}
