package cloud

import (
	"slices"
	"time"
)

// Replacing reports whether the material's object is not in service yet.
func (c *Certificate) Replacing() bool {
	return c.Current.ProviderID == "" || c.Current.Serial < c.Serial
}

// DecideCertificate says which step a certificate needs. Pure.
func DecideCertificate(c *Certificate, now time.Time) Next {
	n := Next{State: c.State, Generation: c.Generation, Message: c.Message}
	switch {
	case c.State.Final():
		n.Step = StepEnd
	case c.waitsForRetry(now):
		n.Step, n.RetryAt = StepRetry, c.RetryAt
	case c.Intent == IntentDelete:
		n.Step = StepDelete
	case c.Current.ProviderID == "":
		n.Step = StepProvision
	case c.Replacing() || len(c.Former) > 0:
		n.Step = StepUpdate
	case c.State == StateError || c.RefreshWanted:
		n.Step = StepRefresh
	default:
		n.Step = StepRest
	}
	return n
}

// waitsForRetry: after a failure, or while something uses an object that shall
// go. A replacement does not wait for the removal of what came before it.
func (c *Certificate) waitsForRetry(now time.Time) bool {
	if c.RefreshWanted || !now.Before(c.RetryAt) {
		return false
	}
	return c.State == StateError || c.Intent == IntentDelete || len(c.Former) > 0 && !c.Replacing()
}

// CertificateFinding is what a sweep found out about one certificate in service.
type CertificateFinding string

// The findings.
const (
	CertificateSame CertificateFinding = "same"
	// CertificateMoved: it shows something new, a renewal above all.
	CertificateMoved CertificateFinding = "moved"
	// CertificateSuspect: absent, failed or not ours; its own look decides.
	CertificateSuspect CertificateFinding = "suspect"
)

// SweepCertificate compares a certificate at rest with its line of a complete
// list; o is nil when the list does not have it. Pure.
func SweepCertificate(c *Certificate, o *ObservedCertificate) CertificateFinding {
	switch {
	case o == nil || o.Phase == PhaseFailed || !c.Owns(o, c.Current.Serial):
		return CertificateSuspect
	case c.differs(o):
		return CertificateMoved
	}
	return CertificateSame
}

// Owns reports whether an object bears the name that only this certificate's
// object of the serial has: certificates are owned by name (D12).
func (c *Certificate) Owns(o *ObservedCertificate, serial int64) bool {
	return o.Name == CertificateName(c.ID, serial)
}

func (c *Certificate) differs(o *ObservedCertificate) bool {
	return o.Fingerprint != "" && o.Fingerprint != c.Fingerprint || !o.NotAfter.IsZero() && !o.NotAfter.Equal(c.NotAfter) ||
		len(o.Domains) > 0 && !slices.Equal(o.Domains, c.Names) || o.State != c.ProviderState
}

// Objects are all objects that a certificate has or may have at the provider:
// what its end must remove.
func (c *Certificate) Objects() []CertificateObject {
	all := slices.Clone(c.Former)
	if c.Current.ProviderID != "" {
		all = append(all, c.Current)
	}
	if c.Replacing() && (c.NextID != "" || !c.AttemptedAt.IsZero()) {
		all = append(all, CertificateObject{Serial: c.Serial, ProviderID: c.NextID, AttemptedAt: c.AttemptedAt})
	}
	return all
}
