package cloud

import "time"

// CertificateType is how a certificate comes to be.
type CertificateType string

// The two types.
const (
	CertificateCustom      CertificateType = "custom"
	CertificateLetsEncrypt CertificateType = "lets_encrypt"
)

// MaxCertificates is how many live certificates a tenant may have.
const MaxCertificates = 100

// The event types of certificates.
const (
	EventCertificateCreated  EventType = "provider.certificate.created"
	EventCertificateReady    EventType = "provider.certificate.ready"
	EventCertificateFailed   EventType = "provider.certificate.failed"
	EventCertificateUpdating EventType = "provider.certificate.updating"
	EventCertificateUpdated  EventType = "provider.certificate.updated"
	EventCertificateDeleting EventType = "provider.certificate.deleting"
	EventCertificateDeleted  EventType = "provider.certificate.deleted"
	EventCertificateExpiring EventType = "provider.certificate.expiring"
	EventCertificateExpired  EventType = "provider.certificate.expired"
)

// ExpiryNotices are the days before the end at which an expiring event is
// written; the end itself is an expired event.
var ExpiryNotices = []int{30, 7, 1}

// CertificateMaterial is what a certificate is made of. PEM texts are public;
// the private key is only ever a reference.
type CertificateMaterial struct {
	Leaf       string    `json:"leaf,omitempty"`
	Chain      string    `json:"chain,omitempty"`
	PrivateKey SecretRef `json:"privateKey,omitempty"`
	Domains    []string  `json:"domains,omitempty"`
}

// CertificateObject is one object at the provider. They are immutable there,
// so a change makes another and removes the former when nothing uses it.
type CertificateObject struct {
	Serial int64 `json:"serial"`
	// ProviderID is "" for one that a create may have made whose answer was
	// lost: only its name, made from the serial, is known.
	ProviderID string `json:"providerId"`
	// AttemptedAt is when its create was sent: until it has settled, absence
	// means that it is not visible yet.
	AttemptedAt time.Time `json:"attemptedAt,omitzero"`
}

// Certificate is the record of one certificate.
type Certificate struct {
	ID          string
	TenantID    string
	ProjectID   string
	PoolID      string
	AccountID   string
	Provider    string
	Name        string
	Description string
	Owner       string
	Type        CertificateType
	Material    CertificateMaterial

	Version    int64
	Generation int64
	// Serial numbers the provider object that the present material wants.
	Serial int64
	Intent Intent
	State  State
	// Message says why it is where it is.
	Message string

	// Current is the object in service; its Serial is below Certificate.Serial
	// while a replacement is on its way.
	Current CertificateObject
	// NextID is the replacement's (or first object's) id before it is ready.
	NextID string
	// Former are objects that wait for their removal.
	Former      []CertificateObject
	AttemptedAt time.Time
	RetryAt     time.Time
	// Failures counts unknown outcomes in a row.
	Failures int
	// RefreshWanted asks for one look, whatever the state.
	RefreshWanted bool

	// What the object in service shows.
	Fingerprint   string
	NotBefore     time.Time
	NotAfter      time.Time
	Names         []string
	ProviderState string
	// Noticed is the smallest number of days for which an expiry notice was
	// written for NotAfter; -1 after the expired event, 0 before any.
	Noticed int

	CreatedAt time.Time
	UpdatedAt time.Time
	ReadyAt   time.Time
	EndedAt   time.Time
}

// CertificateView is what callers see; times are epoch milliseconds.
type CertificateView struct {
	ID                string          `json:"id"`
	TenantID          string          `json:"tenantId"`
	ProjectID         string          `json:"projectId,omitempty"`
	PoolID            string          `json:"poolId"`
	ProviderAccountID string          `json:"providerAccountId"`
	Provider          string          `json:"provider"`
	Name              string          `json:"name"`
	Description       string          `json:"description,omitempty"`
	Type              CertificateType `json:"type"`
	Leaf              string          `json:"leaf,omitempty"`
	Chain             string          `json:"chain,omitempty"`
	PrivateKey        SecretRef       `json:"privateKey,omitempty"`
	Domains           []string        `json:"domains,omitempty"`
	State             State           `json:"state"`
	Message           string          `json:"message,omitempty"`
	ProviderID        string          `json:"providerId,omitempty"`
	ProviderName      string          `json:"providerName"`
	Outputs           map[string]any  `json:"outputs"`
	Owner             string          `json:"owner"`
	Version           int64           `json:"version"`
	CreatedAt         int64           `json:"createdAt"`
	UpdatedAt         int64           `json:"updatedAt"`
	ReadyAt           int64           `json:"readyAt,omitempty"`
	EndedAt           int64           `json:"endedAt,omitempty"`
}

// View returns what callers see of the record.
func (c *Certificate) View() CertificateView {
	v := CertificateView{
		ID: c.ID, TenantID: c.TenantID, ProjectID: c.ProjectID, PoolID: c.PoolID,
		ProviderAccountID: c.AccountID, Provider: c.Provider, Name: c.Name, Description: c.Description,
		Type: c.Type, Leaf: c.Material.Leaf, Chain: c.Material.Chain, PrivateKey: c.Material.PrivateKey,
		Domains: c.Material.Domains, State: c.State, Message: c.Message, ProviderID: c.Current.ProviderID,
		ProviderName: CertificateName(c.ID, c.Current.Serial), Outputs: map[string]any{},
		Owner: c.Owner, Version: c.Version, CreatedAt: millis(c.CreatedAt), UpdatedAt: millis(c.UpdatedAt),
		ReadyAt: millis(c.ReadyAt), EndedAt: millis(c.EndedAt),
	}
	if c.Fingerprint != "" {
		v.Outputs["fingerprint"] = c.Fingerprint
	}
	if !c.NotBefore.IsZero() {
		v.Outputs["notBefore"] = millis(c.NotBefore)
	}
	if !c.NotAfter.IsZero() {
		v.Outputs["notAfter"] = millis(c.NotAfter)
	}
	if len(c.Names) > 0 {
		v.Outputs["names"] = c.Names
	}
	if c.ProviderState != "" {
		v.Outputs["providerState"] = c.ProviderState
	}
	return v
}
