package cloud

import (
	"cmp"
	"time"
)

// Every way in which a certificate's record changes. Each runs inside a
// transaction on the freshly locked row, so each asks first whether the row is
// still where its caller saw it.

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

func (c *Certificate) touch(now time.Time) *CertificateChange {
	c.UpdatedAt = now
	return &CertificateChange{}
}

// Created is the change of a new record.
func (c *Certificate) Created(now time.Time) *CertificateChange {
	c.State, c.Intent, c.Version, c.Generation = StatePending, IntentPresent, 1, 1
	c.CreatedAt = now
	ch := c.touch(now)
	ch.event(c, EventCertificateCreated, map[string]any{"type": string(c.Type)})
	return ch
}

// WantMaterial asks for a replacement. What an earlier material has made, or
// may have made, becomes a former object.
func (c *Certificate) WantMaterial(m CertificateMaterial, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.Version++
	c.Generation++
	c.Material = m
	c.nextSerial()
	c.RetryAt, c.Failures = time.Time{}, 0
	if c.State == StateReady || c.State == StateError {
		c.State, c.Message = StateUpdating, ""
		ch.event(c, EventCertificateUpdating, nil)
	}
	return ch
}

// nextSerial gives up the object that is on its way and begins another.
func (c *Certificate) nextSerial() {
	if c.Replacing() && (c.NextID != "" || !c.AttemptedAt.IsZero()) {
		c.addFormer(CertificateObject{Serial: c.Serial, ProviderID: c.NextID, AttemptedAt: c.AttemptedAt})
	}
	c.Serial++
	c.NextID, c.AttemptedAt = "", time.Time{}
}

// addFormer keeps one entry for each serial; an id learned later fills it in.
func (c *Certificate) addFormer(o CertificateObject) {
	for i := range c.Former {
		if f := &c.Former[i]; f.Serial == o.Serial {
			f.ProviderID = cmp.Or(f.ProviderID, o.ProviderID)
			return
		}
	}
	c.Former = append(c.Former, o)
}

// WantDelete marks it for deletion; asking again changes nothing.
func (c *Certificate) WantDelete(now time.Time) *CertificateChange {
	if c.State.Final() || c.Intent == IntentDelete {
		return nil
	}
	ch := c.touch(now)
	c.Intent, c.State, c.Message, c.RetryAt, c.Failures = IntentDelete, StateDeleting, "", time.Time{}, 0
	c.Generation++
	ch.event(c, EventCertificateDeleting, nil)
	return ch
}

// WantRefresh asks for a look now; one that the provider could not issue is
// asked for again.
func (c *Certificate) WantRefresh(now time.Time) *CertificateChange {
	if c.State.Final() || c.RefreshWanted {
		return nil
	}
	ch := c.touch(now)
	c.RefreshWanted = true
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

// Unattempt takes back the mark of an attempt that was certainly not processed.
func (c *Certificate) Unattempt(serial int64, now time.Time) *CertificateChange {
	if serial == c.Serial {
		c.AttemptedAt = time.Time{}
		return c.touch(now)
	}
	for _, f := range c.Former {
		if f.Serial == serial && f.ProviderID == "" {
			return c.Removed(f, now)
		}
	}
	return nil
}

// Accept records the id of the object of a serial; when the material changed
// meanwhile the object is a former one at once.
func (c *Certificate) Accept(o *ObservedCertificate, serial int64, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.Failures = 0
	switch {
	case serial != c.Serial:
		c.addFormer(CertificateObject{Serial: serial, ProviderID: o.ProviderID, AttemptedAt: now})
		return ch
	case c.Current.ProviderID != o.ProviderID:
		c.NextID = o.ProviderID
	}
	if c.Current.ProviderID == "" {
		c.ProviderState = o.State
	}
	return ch
}

// Serve puts the object of a serial in service; the one before waits for its
// removal. For the one that is in service already it is a look that went well.
func (c *Certificate) Serve(o *ObservedCertificate, serial int64, now time.Time) *CertificateChange {
	ch := c.Accept(o, serial, now)
	if serial != c.Serial || c.Intent != IntentPresent {
		return ch
	}
	was, same := c.State, c.Current.ProviderID == o.ProviderID
	if c.Current.ProviderID != "" && !same {
		c.addFormer(c.Current)
	}
	c.Current, c.NextID = CertificateObject{Serial: serial, ProviderID: o.ProviderID, AttemptedAt: c.AttemptedAt}, ""
	c.State, c.Message, c.RetryAt, c.RefreshWanted = StateReady, "", time.Time{}, false
	renewed := c.see(o)
	switch {
	case c.ReadyAt.IsZero():
		c.ReadyAt = now
		ch.event(c, EventCertificateReady, map[string]any{"notAfter": millis(c.NotAfter)})
	case was == StateUpdating || !same:
		ch.event(c, EventCertificateUpdated, map[string]any{"notAfter": millis(c.NotAfter)})
	case was == StateError:
		ch.event(c, EventCertificateUpdated, map[string]any{"reason": "recovered", "notAfter": millis(c.NotAfter)})
	case renewed:
		ch.event(c, EventCertificateUpdated, map[string]any{"reason": "renewed", "notAfter": millis(c.NotAfter)})
	}
	return ch
}

// see copies what the object in service shows. It reports whether the provider
// renewed it.
func (c *Certificate) see(o *ObservedCertificate) (renewed bool) {
	before := c.NotAfter
	c.Fingerprint = cmp.Or(o.Fingerprint, c.Fingerprint)
	if !o.NotAfter.IsZero() && !o.NotAfter.Equal(c.NotAfter) {
		c.NotAfter, c.Noticed = o.NotAfter, 0
	}
	if len(o.Domains) > 0 {
		c.Names = o.Domains
	}
	// The provider does not tell since when a certificate holds; an uploaded
	// leaf does.
	c.NotBefore = time.Time{}
	if leaves, err := parseChain(c.Material.Leaf); err == nil && len(leaves) == 1 {
		c.NotBefore = leaves[0].NotBefore.UTC()
		if len(o.Domains) == 0 {
			c.Names = leaves[0].DNSNames
		}
	}
	c.ProviderState = o.State
	return !before.IsZero() && c.NotAfter.After(before)
}

// Refreshed records what a look saw of the object in service while it is not
// replaced. A renewal by the provider is an updated event.
func (c *Certificate) Refreshed(o *ObservedCertificate, now time.Time) *CertificateChange {
	if c.Replacing() || c.Current.ProviderID != o.ProviderID || c.State != StateReady {
		return nil
	}
	ch := c.touch(now)
	c.Failures, c.RefreshWanted = 0, false
	if c.see(o) {
		ch.event(c, EventCertificateUpdated, map[string]any{"reason": "renewed", "notAfter": millis(c.NotAfter)})
	}
	return ch
}

// Wait records why the work goes on at a later look; a failure keeps its reason.
func (c *Certificate) Wait(message string, now time.Time) *CertificateChange {
	if c.State == StateError || c.Message == message {
		return nil
	}
	ch := c.touch(now)
	c.Message = message
	return ch
}

// Removed drops an object that is gone.
func (c *Certificate) Removed(o CertificateObject, now time.Time) *CertificateChange {
	ch := c.touch(now)
	var left []CertificateObject
	for _, f := range c.Former {
		if f.Serial != o.Serial {
			left = append(left, f)
		}
	}
	c.Former = left
	switch {
	case c.Current.ProviderID != "" && c.Current.Serial == o.Serial:
		c.Current = CertificateObject{}
	case c.Serial == o.Serial && c.Replacing():
		c.NextID, c.AttemptedAt = "", time.Time{}
	}
	if len(left) == 0 && c.State == StateReady {
		c.Message, c.RetryAt = "", time.Time{}
	}
	return ch
}

// InUse notes that a removal was refused because something uses the object; it
// is tried again after the refresh interval.
func (c *Certificate) InUse(message string, s Settings, now time.Time) *CertificateChange {
	ch := c.touch(now)
	c.RetryAt, c.RefreshWanted = now.Add(s.Refresh), false
	if c.Intent == IntentDelete {
		c.State = StateDeleting
	}
	if c.State != StateError {
		c.Message = message
	}
	return ch
}

// Again gives up an object that the provider could not issue, so that another
// is asked for. The state stays error until that one is in service.
func (c *Certificate) Again(serial int64, now time.Time) *CertificateChange {
	if serial != c.Serial || !c.Replacing() || c.Intent != IntentPresent {
		return nil
	}
	ch := c.touch(now)
	c.nextSerial()
	c.RefreshWanted = false
	return ch
}

// Fail records a failure of a generation; the event once.
func (c *Certificate) Fail(message string, generation int64, s Settings, now time.Time) *CertificateChange {
	if c.State.Final() || generation != c.Generation {
		return nil
	}
	ch := c.touch(now)
	was := c.State
	c.State, c.Message = StateError, cmp.Or(message, "the provider gave no reason")
	c.RetryAt, c.RefreshWanted = now.Add(s.Refresh), false
	if was != StateError {
		ch.event(c, EventCertificateFailed, map[string]any{"message": c.Message})
	}
	return ch
}

// Unknown counts a call whose outcome is not known (5xx, time-out, no answer);
// limit in a row are a failure, except for one that is in service.
func (c *Certificate) Unknown(message string, limit int, generation int64, s Settings, now time.Time) *CertificateChange {
	c.Failures++
	if c.Failures >= limit && c.State != StateReady {
		if ch := c.Fail(message, generation, s, now); ch != nil {
			return ch
		}
	}
	c.Wait(message, now)
	return c.touch(now)
}

// Deleted ends the record.
func (c *Certificate) Deleted(now time.Time) *CertificateChange {
	if c.State.Final() {
		return nil
	}
	ch := c.touch(now)
	c.State, c.Message, c.EndedAt, c.RetryAt, c.RefreshWanted = StateDeleted, "", now, time.Time{}, false
	ch.Ended = true
	ch.event(c, EventCertificateDeleted, nil)
	return ch
}

// Notice writes the expiry notices that are due, each once for a NotAfter:
// at 30, 7 and 1 days before the end (only the nearest when several are due at
// once) and at the end. Nil when none is due.
func (c *Certificate) Notice(now time.Time) *CertificateChange {
	if c.NotAfter.IsZero() || c.State.Final() || c.Intent == IntentDelete || c.Noticed < 0 {
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
