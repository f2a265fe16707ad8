package ports

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
)

// CertificateRecords is what the certificate activities need of the store.
type CertificateRecords interface {
	LoadCertificate(ctx context.Context, id string) (*cloud.Certificate, error)
	// HoldCertificate is Hold for one certificate; ErrHeld when another attempt has it.
	HoldCertificate(ctx context.Context, id string, fn func(ctx context.Context, h CertificateHold) error) error
	// UnsealPrivateKey opens the private key's reference, just before a call.
	UnsealPrivateKey(ctx context.Context, c *cloud.Certificate) (cloud.Secret, error)
	MarkAccount(ctx context.Context, account, message string) error
}

// CertificateHold is a held certificate record.
type CertificateHold interface {
	Record() *cloud.Certificate
	Commit(ctx context.Context, fn func(c *cloud.Certificate) *cloud.CertificateChange) error
}

// CertificateIntents records what an operator asks by hand.
type CertificateIntents interface {
	OperatorUpdateCertificate(ctx context.Context, id string, payload []byte) error
	OperatorDeleteCertificate(ctx context.Context, id string) error
	OperatorRefreshCertificate(ctx context.Context, id string) error
}

// CertificateSweep is what the account sweep needs of the store for certificates.
type CertificateSweep interface {
	// SweepCertificates returns the certificates of an account that are at rest
	// in service.
	SweepCertificates(ctx context.Context, account string) ([]*cloud.Certificate, error)
	// SaveCertificates saves changed certificates in one transaction, skipping any
	// whose generation, intent or state moved since it was read, and adds an
	// outbox row for those to be nudged. It returns how many it saved.
	SaveCertificates(ctx context.Context, items []CertificateItem) (int, error)
}

// CertificateItem is one changed certificate.
type CertificateItem struct {
	ID         string
	Generation int64
	// Apply runs on the freshly locked record; nil changes nothing.
	Apply func(c *cloud.Certificate) *cloud.CertificateChange
	// Nudge asks for a signal to its workflow after the save.
	Nudge bool
}

// Expiry is what the expiry loop needs of the store.
type Expiry interface {
	// NoticeExpiry writes the expiry events of certificates that are due, each
	// once, and returns how many certificates it told of.
	NoticeExpiry(ctx context.Context) (int, error)
}
