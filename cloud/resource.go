package cloud

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Resource is the record of one resource: what is wanted, what was seen, and
// how far the work has come. It is a Postgres row; every change to it is a
// method here, so that the rules are in one place and testable without a
// database.
type Resource struct {
	ID          string
	TenantID    string
	ProjectID   string
	PoolID      string
	AccountID   string
	Provider    string
	Kind        string
	Family      Family
	Name        string
	Description string
	ParentID    string
	Region      string
	Identity    string
	Owner       string
	// Billed: the pool's billing mode charges hours and it lives in no other.
	Billed bool

	Spec       Spec
	Version    int64 // counts every update
	Generation int64 // counts changes that the provider must see
	Intent     Intent

	State         State
	Message       string
	ProviderID    string
	Outputs       map[string]any
	SecretOutputs map[string]SecretRef
	Adopted       bool
	// ObservedOnly: adopted and never changed by the tenant since, so the spec
	// follows the provider.
	ObservedOnly bool
	Drift        []string

	// Applied is the generation last seen applied, AppliedSpec its spec.
	Applied     int64
	AppliedSpec Spec
	// AttemptedAt: a create may have reached the provider since then.
	AttemptedAt time.Time
	// AcceptedAt: the provider first accepted it. Billing starts at BilledFrom.
	AcceptedAt  time.Time
	BilledFrom  time.Time
	TakenOverAt time.Time
	// MissingSince: the recorded object has been absent since.
	MissingSince time.Time
	// RetryAt: in StateError, when it is looked at again.
	RetryAt    time.Time
	ErrorClass Class
	// Failures counts unknown outcomes in a row.
	Failures int
	// FailedGeneration is the generation whose failure is recorded.
	FailedGeneration int64
	// Sent is when each field's change was last sent, for Generation SentFor.
	Sent    map[string]time.Time
	Repairs map[string]int
	Memo    map[string]string
	// RefreshWanted: an operator or tenant asked for a look that may also start
	// again what failed (D7).
	RefreshWanted bool
	// HeldBy is the command batch whose approval a delete awaits, or "". Before
	// keeps what the record was, to give it back when the batch ends unapproved.
	HeldBy    string
	Before    *Before
	CreatedAt time.Time
	UpdatedAt time.Time
	ReadyAt   time.Time
	EndedAt   time.Time
}

// Before is what a held record was before its delete was asked for.
type Before struct {
	State   State  `json:"state"`
	Intent  Intent `json:"intent"`
	Message string `json:"message,omitempty"`
}

// Settings are the periods of the work.
type Settings struct {
	Converge time.Duration // between looks at a converging resource (30 s)
	Refresh  time.Duration // between looks at a ready or failed one (5 min)
	Settle   time.Duration // how long absence after an attempt means "not yet" (2 min, D3)
}

// DefaultSettings are the contract's periods.
var DefaultSettings = Settings{Converge: 30 * time.Second, Refresh: 5 * time.Minute, Settle: 2 * time.Minute}

// Event is a news item to be written with the change that it tells of.
type Event struct {
	Type EventType
	// Data never holds a value of a secret output, only names.
	Data map[string]any
}

// Change is what else the transaction that saves a record must do.
type Change struct {
	Events []Event
	// Seal are secret outputs received in this run.
	Seal map[string]Secret
	// SettleBooking: the new spec runs, so a shrink is returned now.
	SettleBooking bool
	// Ended: the record became final: remove its authorization row, destroy
	// its secrets, return its bookings, wake its parent.
	Ended bool
}

func (c *Change) event(r *Resource, t EventType, data map[string]any) {
	d := map[string]any{"state": string(r.State), "version": r.Version}
	maps.Copy(d, data)
	c.Events = append(c.Events, Event{Type: t, Data: d})
}

// Releasing reports whether the resource is on its way to StateReleased (D9).
func (r *Resource) Releasing() bool { return r.Intent == IntentRelease && !r.State.Final() }

// Adopting reports whether an adopted resource is not taken over yet.
func (r *Resource) Adopting() bool { return r.Adopted && r.TakenOverAt.IsZero() }

// NeverAccepted reports whether no create can have reached the provider.
func (r *Resource) NeverAccepted() bool {
	return r.ProviderID == "" && r.AttemptedAt.IsZero() && !r.Adopted
}

// Pending reports whether the wanted spec has not been seen applied.
func (r *Resource) Pending() bool { return r.Applied < r.Generation }

// View is the resource as callers see it. Times are epoch milliseconds.
type View struct {
	ID                string               `json:"id"`
	TenantID          string               `json:"tenantId"`
	ProjectID         string               `json:"projectId,omitempty"`
	PoolID            string               `json:"poolId"`
	ProviderAccountID string               `json:"providerAccountId"`
	Provider          string               `json:"provider"`
	Kind              string               `json:"kind"`
	Family            Family               `json:"family"`
	Name              string               `json:"name"`
	Description       string               `json:"description,omitempty"`
	ParentID          string               `json:"parentId,omitempty"`
	Region            string               `json:"region,omitempty"`
	Spec              json.RawMessage      `json:"spec"`
	State             State                `json:"state"`
	Message           string               `json:"message,omitempty"`
	ProviderID        string               `json:"providerId,omitempty"`
	ProviderName      string               `json:"providerName"`
	Outputs           map[string]any       `json:"outputs"`
	SecretOutputs     map[string]SecretRef `json:"secretOutputs"`
	Adopted           bool                 `json:"adopted"`
	Releasing         bool                 `json:"releasing,omitempty"`
	Drift             []string             `json:"drift,omitempty"`
	Owner             string               `json:"owner"`
	Version           int64                `json:"version"`
	CreatedAt         int64                `json:"createdAt"`
	UpdatedAt         int64                `json:"updatedAt"`
	ReadyAt           int64                `json:"readyAt,omitempty"`
	EndedAt           int64                `json:"endedAt,omitempty"`
}

// View returns what callers see of the record.
func (r *Resource) View() View {
	v := View{
		ID: r.ID, TenantID: r.TenantID, ProjectID: r.ProjectID, PoolID: r.PoolID,
		ProviderAccountID: r.AccountID, Provider: r.Provider, Kind: r.Kind, Family: r.Family,
		Name: r.Name, Description: r.Description, ParentID: r.ParentID, Region: r.Region,
		Spec: r.Spec.JSON(), State: r.State, Message: r.Message, ProviderID: r.ProviderID,
		ProviderName: ProviderName(r.ID), Outputs: r.Outputs, SecretOutputs: r.SecretOutputs,
		Adopted: r.Adopted, Releasing: r.Releasing(), Drift: slices.Clone(r.Drift), Owner: r.Owner,
		Version: r.Version, CreatedAt: millis(r.CreatedAt), UpdatedAt: millis(r.UpdatedAt),
		ReadyAt: millis(r.ReadyAt), EndedAt: millis(r.EndedAt),
	}
	if v.Outputs == nil {
		v.Outputs = map[string]any{}
	}
	if v.SecretOutputs == nil {
		v.SecretOutputs = map[string]SecretRef{}
	}
	return v
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
