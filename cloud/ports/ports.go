package ports

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Records is what the activities need of the store; schema/postgres implements it.
type Records interface {
	// Load returns a record and how many live resources live in it.
	// A *cloud.Error NOT_FOUND for an id that nobody has.
	Load(ctx context.Context, id string) (*cloud.Resource, int, error)
	// Hold takes the lock of the record's tree (its parent's id, or its own)
	// on a connection of its own, so that changes under one parent are
	// serialised (D17) and an attempt that lost its worker loses the lock with
	// its connection. Commits run on that same connection: a stale attempt can
	// change nothing. ErrHeld when another attempt has it.
	Hold(ctx context.Context, id string, fn func(ctx context.Context, h Hold) error) error
	// Resolve turns the references of a wanted spec into provider ids. For a
	// call that changes something (mutating) it is strict: every reference must
	// still be a live one of the tenant, and the spec's SecretRefs are unsealed.
	// For a look it is lenient: what is gone is left out, only the secrets'
	// digests come, and no secret is opened.
	Resolve(ctx context.Context, r *cloud.Resource, m *cloud.Manifest, mutating bool) (*Resolved, error)
	// SecretDigest is the keyed hash that the store keeps beside a sealed value.
	SecretDigest(value string) string
	// SealedDigests returns the digests of a resource's sealed outputs by name.
	SealedDigests(ctx context.Context, id string) (map[string]string, error)
	// MarkAccount records that an account does not answer for us, or with ""
	// that it answers again (D8).
	MarkAccount(ctx context.Context, account, message string) error
}

// Intents records what an operator asks by a hand-sent signal, under the same
// rules as the API (D23). A refusal is a *cloud.Error and changed nothing.
type Intents interface {
	OperatorUpdate(ctx context.Context, id string, payload []byte) error
	OperatorDelete(ctx context.Context, id string) error
	OperatorRelease(ctx context.Context, id string) error
	OperatorRefresh(ctx context.Context, id string) error
}

// Hold is a held record.
type Hold interface {
	// Record is the row as it was when the lock was taken or last committed.
	Record() *cloud.Resource
	LiveChildren() int
	// Commit locks the row, runs fn on the fresh record and saves it with what
	// the change asks, in one transaction. fn nil-returns change nothing.
	Commit(ctx context.Context, fn func(r *cloud.Resource) *cloud.Change) error
}

// Resolved are the references of a spec.
type Resolved struct {
	Instances      map[string]string
	Networks       map[string]cloud.NetworkRef
	Secrets        map[string]cloud.Secret
	SecretVersions map[string]string
	Parent         *cloud.ParentRef
}

// Accounts opens provider accounts for activities.
type Accounts interface {
	Open(ctx context.Context, account string) (cloud.ProviderResources, error)
	Deployment(ctx context.Context) (string, error)
}

// ErrHeld is returned by Hold while another attempt works under the same parent.
var ErrHeld = errHeld{}

type errHeld struct{}

func (errHeld) Error() string { return "another change under the same parent is running" }

// Sweep is what the account sweep needs of the store.
type Sweep interface {
	// SweepKinds lists the kinds in use on an account (live records), by name,
	// and for kinds that live in one the parents that have an id, by resource id.
	// NOT_FOUND when the account is no longer declared.
	SweepKinds(ctx context.Context, account string) ([]SweepKind, error)
	// SweepRecords returns the records of a kind (of one parent, if given) that
	// are at rest: ready under IntentPresent. Page by after, an id.
	SweepRecords(ctx context.Context, account, kind, parent, after string, limit int) ([]*cloud.Resource, error)
	// SaveSweep saves changed records in one transaction each batch, skipping
	// any whose generation, intent or state moved since it was read, and adds
	// an outbox row for those that nudge names. It returns how many it saved.
	SaveSweep(ctx context.Context, items []SweepItem) (int, error)
	// SweepDigests returns the digests of sealed outputs of many resources at
	// once: resource id, then output name.
	SweepDigests(ctx context.Context, ids []string) (map[string]map[string]string, error)
	// AccountMessage sets or clears the message of ready resources of an
	// account in bulk (D8); rows that have it already are not written.
	AccountMessage(ctx context.Context, account, message string) error
	// NudgeAccount adds an outbox row (signal refresh) for every live resource
	// of an account that waits for it to answer again, and returns how many.
	NudgeAccount(ctx context.Context, account string) (int, error)
	// SweepAccounts lists the accounts that have a sweep: all that are declared.
	SweepAccounts(ctx context.Context) ([]string, error)
}

// Billing is what the usage loop needs of the store.
type Billing interface {
	// BillHours writes the usage rows of every hour that began since it was
	// billed last, and returns how many are new. Repeating it adds none.
	BillHours(ctx context.Context) (int, error)
}

// SweepKind is a kind in use.
type SweepKind struct {
	Kind    string
	Parents []cloud.ParentRef
}

// SweepItem is one changed record.
type SweepItem struct {
	ID         string
	Generation int64
	// Apply runs on the freshly locked record; nil changes nothing.
	Apply func(r *cloud.Resource) *cloud.Change
	// Nudge asks for a signal to its workflow after the save.
	Nudge bool
}

// Outbox is what the relay needs.
type Outbox interface {
	// Claim takes up to limit due rows (SKIP LOCKED) and runs deliver for each
	// inside the claim; delivered rows are closed unless asked again meanwhile,
	// others wait with backoff.
	Claim(ctx context.Context, limit int, deliver func(ctx context.Context, m Message) error) (int, error)
	// Wait returns when a row may be due: after a notification or at the latest
	// after the period.
	Wait(ctx context.Context, period time.Duration)
	// NudgeStalled adds rows for live records whose work is due but has not
	// moved for the given time, and returns how many: it heals terminated
	// workflows and lost Temporal databases.
	NudgeStalled(ctx context.Context, quiet time.Duration, limit int) (int, error)
}

// Message is an outbox row with what starting its workflow needs.
type Message struct {
	WorkflowID   string
	WorkflowType string
	Signal       string
	Generation   int64
	// Attributes are the search attributes of the workflow: TenantId, PoolId,
	// ProviderAccountId, ResourceKind, ResourceState.
	Attributes map[string]string
}
