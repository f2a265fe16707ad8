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
	Serial     int64  `json:"serial"`
	ProviderID string `json:"providerId"`
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
	Failures    int

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

// CertificateChange is what the transaction that saves a certificate also does.
type CertificateChange struct {
	Events []Event
	Ended  bool
}

func (ch *CertificateChange) event(c *Certificate, t EventType, data map[string]any) {
	d := map[string]any{"state": string(c.State), "version": c.Version, "name": c.Name}
	for k, v := range data {
		d[k] = v
	}
	ch.Events = append(ch.Events, Event{Type: t, Data: d})
}

// Replacing reports whether the material's object is not in service yet.
func (c *Certificate) Replacing() bool {
	return c.Current.ProviderID == "" || c.Current.Serial < c.Serial
}

// DecideCertificate says which step a certificate needs. Pure.
func DecideCertificate(c *Certificate, now time.Time) Next {
	n := Next{State: c.State, Generation: c.Generation, Message: c.Message}
	waits := now.Before(c.RetryAt)
	switch {
	case c.State.Final():
		n.Step = StepEnd
	case c.Intent == IntentDelete && !waits:
		n.Step = StepDelete
	case (c.State == StateError || c.Intent == IntentDelete || len(c.Former) > 0 && !c.Replacing()) && waits:
		n.Step, n.RetryAt = StepRetry, c.RetryAt
	case c.Replacing() && c.Current.ProviderID == "":
		n.Step = StepProvision
	case c.Replacing() || len(c.Former) > 0:
		n.Step = StepUpdate
	case c.State == StateError:
		n.Step = StepRefresh
	default:
		n.Step = StepRest
	}
	return n
}

// Created is the change of a new record.
func (c *Certificate) Created(now time.Time) *CertificateChange {
	c.State, c.Intent, c.Version, c.Generation = StatePending, IntentPresent, 1, 1
	c.CreatedAt = now
	ch := c.touch(now)
	ch.event(c, EventCertificateCreated, map[string]any{"type": string(c.Type)})
	return ch
}

// WantMaterial asks for a replacement.
func (c *Certificate) WantMaterial(m CertificateMaterial, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.Version++
	c.Generation++
	c.Material = m
	if c.NextID != "" {
		c.Former = append(c.Former, CertificateObject{Serial: c.Serial, ProviderID: c.NextID})
	}
	c.Serial++
	c.NextID, c.AttemptedAt, c.RetryAt, c.Failures = "", time.Time{}, time.Time{}, 0
	if c.State == StateReady || c.State == StateError {
		c.State, c.Message = StateUpdating, ""
		ch.event(c, EventCertificateUpdating, nil)
	}
	return ch
}

// WantDelete marks it for deletion; asking again changes nothing.
func (c *Certificate) WantDelete(now time.Time) *CertificateChange {
	if c.State.Final() || c.Intent == IntentDelete {
		return &CertificateChange{}
	}
	ch := c.touch(now)
	c.Intent, c.State, c.Message, c.RetryAt = IntentDelete, StateDeleting, "", time.Time{}
	c.Generation++
	ch.event(c, EventCertificateDeleting, nil)
	return ch
}

// WantRefresh asks for a look now.
func (c *Certificate) WantRefresh(now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.RetryAt = time.Time{}
	return ch
}

// Attempt notes that a create of the present serial may reach the provider.
func (c *Certificate) Attempt(now time.Time) *CertificateChange {
	c.AttemptedAt = now
	if c.State == StatePending {
		c.State = StateProvisioning
	}
	return c.touch(now)
}

// Unattempt takes the mark of an attempt back that was certainly not processed.
func (c *Certificate) Unattempt(now time.Time) *CertificateChange {
	c.AttemptedAt = time.Time{}
	return c.touch(now)
}

// Accept records the id of the object for a serial; when the material changed
// meanwhile the object is a former one at once.
func (c *Certificate) Accept(o *ObservedCertificate, serial int64, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.Failures = 0
	switch {
	case serial != c.Serial:
		c.addFormer(CertificateObject{Serial: serial, ProviderID: o.ProviderID})
	case c.Current.ProviderID != o.ProviderID:
		c.NextID = o.ProviderID
	}
	return ch
}

func (c *Certificate) addFormer(o CertificateObject) {
	for _, f := range c.Former {
		if f.ProviderID == o.ProviderID {
			return
		}
	}
	c.Former = append(c.Former, o)
}

// Serve puts the object of a serial in service; the one before waits for its removal.
func (c *Certificate) Serve(o *ObservedCertificate, serial int64, now time.Time) *CertificateChange {
	ch := c.Accept(o, serial, now)
	if serial != c.Serial || c.Intent != IntentPresent {
		return ch
	}
	if c.Current.ProviderID != "" && c.Current.ProviderID != o.ProviderID {
		c.addFormer(c.Current)
	}
	was := c.State
	c.Current, c.NextID = CertificateObject{Serial: serial, ProviderID: o.ProviderID}, ""
	c.State, c.Message, c.RetryAt = StateReady, "", time.Time{}
	c.see(o)
	switch {
	case c.ReadyAt.IsZero():
		c.ReadyAt = now
		ch.event(c, EventCertificateReady, map[string]any{"notAfter": millis(c.NotAfter)})
	case was == StateUpdating:
		ch.event(c, EventCertificateUpdated, map[string]any{"notAfter": millis(c.NotAfter)})
	case was == StateError:
		ch.event(c, EventCertificateUpdated, map[string]any{"reason": "recovered", "notAfter": millis(c.NotAfter)})
	}
	return ch
}

func (c *Certificate) see(o *ObservedCertificate) {
	if o.Fingerprint != "" {
		c.Fingerprint = o.Fingerprint
	}
	if !o.NotAfter.IsZero() && !o.NotAfter.Equal(c.NotAfter) {
		c.NotAfter, c.Noticed = o.NotAfter, 0
	}
	if len(o.Domains) > 0 {
		c.Names = o.Domains
	}
	c.ProviderState = o.State
}

// Refreshed records what a sweep saw of the object in service. A renewal by
// the provider is an updated event.
func (c *Certificate) Refreshed(o *ObservedCertificate, now time.Time) *CertificateChange {
	ch := c.touch(now)
	before := c.NotAfter
	c.see(o)
	c.Failures = 0
	if !before.IsZero() && c.NotAfter.After(before) {
		ch.event(c, EventCertificateUpdated, map[string]any{"reason": "renewed", "notAfter": millis(c.NotAfter)})
	}
	return ch
}

// Wait records why the work goes on at a later look.
func (c *Certificate) Wait(message string, now time.Time) *CertificateChange {
	ch := c.touch(now)
	if c.State == StatePending && !c.AttemptedAt.IsZero() {
		c.State = StateProvisioning
	}
	if c.State != StateError {
		c.Message = message
	}
	return ch
}

// Removed drops a former object that is gone; Held keeps one that is in use.
func (c *Certificate) Removed(providerID string, now time.Time) *CertificateChange {
	ch := c.touch(now)
	var left []CertificateObject
	for _, f := range c.Former {
		if f.ProviderID != providerID {
			left = append(left, f)
		}
	}
	c.Former = left
	if c.Current.ProviderID == providerID {
		c.Current = CertificateObject{}
	}
	if c.NextID == providerID {
		c.NextID = ""
	}
	if len(left) == 0 && c.State == StateReady {
		c.Message = ""
	}
	return ch
}

// InUse notes that a removal was refused because something uses the object;
// it is tried again after the refresh interval.
func (c *Certificate) InUse(message string, s Settings, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.Message = message
	c.RetryAt = now.Add(s.Refresh)
	return ch
}

// Fail records a failure of a serial; the event once.
func (c *Certificate) Fail(message string, serial int64, s Settings, now time.Time) *CertificateChange {
	ch := c.touch(now)
	if c.State.Final() || serial != c.Serial {
		return ch
	}
	was := c.State
	c.State, c.Message, c.RetryAt = StateError, message, now.Add(s.Refresh)
	if was != StateError {
		ch.event(c, EventCertificateFailed, map[string]any{"message": message})
	}
	return ch
}

// Deleted ends the record.
func (c *Certificate) Deleted(now time.Time) *CertificateChange {
	ch := c.touch(now)
	if c.State.Final() {
		return ch
	}
	c.State, c.Message, c.EndedAt, c.RetryAt = StateDeleted, "", now, time.Time{}
	ch.Ended = true
	ch.event(c, EventCertificateDeleted, nil)
	return ch
}

// Notice writes the expiry notices that are due, each once for a NotAfter:
// at 30, 7 and 1 days before the end (only the nearest when several are due at
// once) and at the end.
func (c *Certificate) Notice(now time.Time) *CertificateChange {
	if c.NotAfter.IsZero() || c.State.Final() || c.Noticed < 0 {
		return nil
	}
	if !now.Before(c.NotAfter) {
		c.Noticed = -1
		ch := c.touch(now)
		ch.event(c, EventCertificateExpired, map[string]any{"notAfter": millis(c.NotAfter)})
		return ch
	}
	due := 0
	for _, days := range ExpiryNotices {
		if c.NotAfter.Sub(now) <= time.Duration(days)*24*time.Hour {
			due = days // the list falls, so the last match is the nearest
		}
	}
	if due == 0 || c.Noticed != 0 && due >= c.Noticed {
		return nil
	}
	c.Noticed = due
	ch := c.touch(now)
	ch.event(c, EventCertificateExpiring, map[string]any{"notAfter": millis(c.NotAfter), "days": due})
	return ch
}

func (c *Certificate) touch(now time.Time) *CertificateChange {
	c.UpdatedAt = now
	return &CertificateChange{}
}
