package intent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/better-compute/cloud-resources/cloud"
)

// CertificateStore is what certificates need of the store; schema/postgres
// implements it. Errors are *cloud.Error.
type CertificateStore interface {
	Pool(ctx context.Context, tenant, pool string) (*Pool, error)
	ProjectExists(ctx context.Context, tenant, project string) (bool, error)
	Certificate(ctx context.Context, tenant, id string) (*cloud.Certificate, error)
	// LoadCertificate returns one of any tenant, for hand-sent signals.
	LoadCertificate(ctx context.Context, id string) (*cloud.Certificate, error)
	ReplayCertificate(ctx context.Context, id string) (*cloud.Certificate, []byte, error)
	InsertCertificate(ctx context.Context, c *cloud.Certificate, digest []byte, actor string) (*cloud.Certificate, error)
	// ChangeCertificate locks one (of any tenant with ""), runs fn and saves.
	ChangeCertificate(ctx context.Context, tenant, id, actor, signal string, fn func(c *cloud.Certificate) (*cloud.CertificateChange, error)) (*cloud.Certificate, error)
	// UnsealRef opens a secret of the tenant; INVALID_INPUT when it has none such.
	UnsealRef(ctx context.Context, tenant string, ref cloud.SecretRef) (cloud.Secret, error)
}

// CertificateService is the rules of certificates, for calls and hand-sent signals.
type CertificateService struct {
	Store    CertificateStore
	Accounts Accounts
	Now      Clock
}

// NewCertificate is a create as it was asked for.
type NewCertificate struct {
	TenantID       string
	ProjectID      string
	PoolID         string
	Name           string
	Description    string
	Type           cloud.CertificateType
	Material       cloud.CertificateMaterial
	IdempotencyKey string
}

// CertificateUpdate is an update as it was asked for; nil leaves a field as it
// is, "" empties the description or the chain.
type CertificateUpdate struct {
	Description     *string
	Leaf            *string
	Chain           *string
	PrivateKey      *cloud.SecretRef
	Domains         []string
	ExpectedVersion *int64
}

// ID is the id that the request's record has, for ever.
func (n NewCertificate) ID(caller string) string {
	return cloud.DeriveID(cloud.PrefixCertificate, n.TenantID, caller, n.IdempotencyKey)
}

func (n NewCertificate) digest() []byte {
	n.IdempotencyKey = ""
	b, err := json.Marshal(n)
	if err != nil { // strings only: cannot happen
		return nil
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// Create records a certificate and returns it pending; a repeat of the same
// request returns what it made. Everything is checked before anything is
// recorded; the private key is opened for the check only.
func (s *CertificateService) Create(ctx context.Context, p Principal, n NewCertificate) (*cloud.Certificate, error) {
	id, digest := n.ID(p.ID), n.digest()
	pool, err := s.Store.Pool(ctx, n.TenantID, n.PoolID)
	if err != nil {
		return nil, err
	}
	old, oldDigest, err := s.Store.ReplayCertificate(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case old != nil && string(oldDigest) != string(digest):
		return nil, cloud.Errorf(cloud.CodeConflict, "the idempotency key was used for another request").Because(cloud.ReasonIdempotencyKey)
	case old != nil:
		return old, nil
	}
	if err := s.checkPlace(ctx, n, pool); err != nil {
		return nil, err
	}
	c := &cloud.Certificate{
		ID: id, TenantID: n.TenantID, ProjectID: n.ProjectID, PoolID: n.PoolID, AccountID: pool.Account.ID,
		Provider: pool.Account.Provider, Name: n.Name, Description: n.Description, Owner: p.ID, Type: n.Type, Material: n.Material,
	}
	if err := s.check(ctx, n.TenantID, n.Type, n.Material); err != nil {
		return nil, err
	}
	return s.Store.InsertCertificate(ctx, c, digest, p.ID)
}

func (s *CertificateService) checkPlace(ctx context.Context, n NewCertificate, pool *Pool) error {
	switch {
	case pool.Withdrawn: // it is there only for what lives in it
		return cloud.Errorf(cloud.CodeNotFound, "no such pool").With("fields", []string{"poolId"})
	case pool.Account == nil:
		return cloud.Errorf(cloud.CodeUnsupported, "the pool is not a provider pool")
	}
	account, err := s.Accounts.Open(ctx, pool.Account.ID)
	if err != nil {
		return err
	}
	if account.Certificates() == nil {
		return cloud.Errorf(cloud.CodeUnsupported, "the pool's provider serves no certificates")
	}
	if n.ProjectID != "" {
		ok, err := s.Store.ProjectExists(ctx, n.TenantID, n.ProjectID)
		if err != nil {
			return err
		}
		if !ok {
			return cloud.Errorf(cloud.CodeNotFound, "no such project").With("fields", []string{"projectId"})
		}
	}
	if pool.Offer != nil && pool.Offer.Suspended {
		return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool is suspended").Because(cloud.ReasonOfferSuspended)
	}
	return nil
}

// check verifies material. The private key is opened for this alone.
func (s *CertificateService) check(ctx context.Context, tenant string, t cloud.CertificateType, m cloud.CertificateMaterial) error {
	var key cloud.Secret
	if t == cloud.CertificateCustom {
		owner, _, ok := m.PrivateKey.Parse()
		if !ok || owner != tenant {
			return cloud.InvalidField("privateKey is the reference of a secret of the tenant: secret://<tenant>/<name>", "privateKey").Because(cloud.ReasonSecretRef)
		}
		var err error
		if key, err = s.Store.UnsealRef(ctx, tenant, m.PrivateKey); err != nil {
			return err
		}
	}
	_, err := cloud.CheckCertificate(t, m, key, s.Now())
	return err
}

// errOtherMaterial: what was checked is no longer what would be recorded.
var errOtherMaterial = errors.New("the material changed meanwhile")

// Update asks for new material (a replacement at the provider) or changes the
// description. Two updates at once both merge; the later wins per field (D18).
func (s *CertificateService) Update(ctx context.Context, tenant, id, actor string, u CertificateUpdate) (*cloud.Certificate, error) {
	if u.Description == nil && !u.material() {
		return nil, cloud.InvalidField("nothing to change: name the description or the material", "description", "leaf", "chain", "privateKey", "domains")
	}
	for range maxMoves {
		c, err := s.Store.Certificate(ctx, tenant, id)
		if err != nil {
			return nil, err
		}
		if err := u.allowed(c); err != nil {
			return nil, err
		}
		checked := u.merge(c.Material)
		if !sameMaterial(c.Material, checked) {
			if err := s.check(ctx, tenant, c.Type, checked); err != nil {
				return nil, err
			}
		}
		c, err = s.Store.ChangeCertificate(ctx, tenant, id, actor, "update", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			return s.apply(c, u, checked)
		})
		if !errors.Is(err, errOtherMaterial) {
			return c, err
		}
	}
	return nil, cloud.Errorf(cloud.CodeConflict, "others keep changing the certificate; try again").Because(cloud.ReasonVersion)
}

// apply runs on the locked record. Equal material is no change (D33).
func (s *CertificateService) apply(c *cloud.Certificate, u CertificateUpdate, checked cloud.CertificateMaterial) (*cloud.CertificateChange, error) {
	if err := u.allowed(c); err != nil {
		return nil, err
	}
	wanted := u.merge(c.Material)
	if !sameMaterial(wanted, checked) {
		return nil, errOtherMaterial
	}
	change := &cloud.CertificateChange{}
	if sameMaterial(wanted, c.Material) {
		c.Version++
		c.UpdatedAt = s.Now()
	} else {
		change = c.WantMaterial(wanted, s.Now())
	}
	if u.Description != nil {
		c.Description = *u.Description
	}
	return change, nil
}

// allowed refuses an update of what is on its way out, or of another version.
func (u CertificateUpdate) allowed(c *cloud.Certificate) error {
	if c.State.Final() || c.Intent == cloud.IntentDelete {
		return cloud.Errorf(cloud.CodeInvalidState, "the certificate is %s", c.State).With("state", string(c.State))
	}
	return expectedCertificate(c, u.ExpectedVersion)
}

func expectedCertificate(c *cloud.Certificate, version *int64) error {
	if version == nil || *version == c.Version {
		return nil
	}
	return cloud.Errorf(cloud.CodeConflict, "the certificate is at version %d, not %d", c.Version, *version).
		Because(cloud.ReasonVersion).With("version", c.Version)
}

func (u CertificateUpdate) material() bool {
	return u.Leaf != nil || u.Chain != nil || u.PrivateKey != nil || u.Domains != nil
}

func (u CertificateUpdate) merge(m cloud.CertificateMaterial) cloud.CertificateMaterial {
	if u.Leaf != nil {
		m.Leaf = *u.Leaf
	}
	if u.Chain != nil {
		m.Chain = *u.Chain
	}
	if u.PrivateKey != nil {
		m.PrivateKey = *u.PrivateKey
	}
	if u.Domains != nil {
		m.Domains = u.Domains
	}
	return m
}

func sameMaterial(a, b cloud.CertificateMaterial) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Delete marks a certificate for deletion; one that is being deleted, or is,
// comes back as it is.
func (s *CertificateService) Delete(ctx context.Context, tenant, id, actor string, expectedVersion *int64) (*cloud.Certificate, error) {
	return s.Store.ChangeCertificate(ctx, tenant, id, actor, "delete", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
		if c.State.Final() || c.Intent == cloud.IntentDelete {
			return nil, nil
		}
		if err := expectedCertificate(c, expectedVersion); err != nil {
			return nil, err
		}
		return c.WantDelete(s.Now()), nil
	})
}
