package intent

import (
	"context"
	"crypto/sha256"
	"encoding/json"

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

// CertificateUpdate is an update as it was asked for; nil leaves a field as it is.
type CertificateUpdate struct {
	Description     *string
	Leaf            *string          `json:"leaf"`
	Chain           *string          `json:"chain"`
	PrivateKey      *cloud.SecretRef `json:"privateKey"`
	Domains         []string         `json:"domains"`
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
	if err := s.check(ctx, c, n.Material); err != nil {
		return nil, err
	}
	return s.Store.InsertCertificate(ctx, c, digest, p.ID)
}

func (s *CertificateService) checkPlace(ctx context.Context, n NewCertificate, pool *Pool) error {
	if pool.Account == nil {
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
			return cloud.Errorf(cloud.CodeNotFound, "no such project").With("field", "projectId")
		}
	}
	if pool.Offer != nil && pool.Offer.Suspended {
		return cloud.Errorf(cloud.CodeAccessDenied, "the offer of this pool is suspended").Because(cloud.ReasonOfferSuspended)
	}
	return nil
}

// check verifies material and fills in what it tells: names and validity.
func (s *CertificateService) check(ctx context.Context, c *cloud.Certificate, m cloud.CertificateMaterial) error {
	var key cloud.Secret
	if c.Type == cloud.CertificateCustom {
		tenant, _, ok := m.PrivateKey.Parse()
		if !ok || tenant != c.TenantID {
			return cloud.InvalidField("privateKey is the reference of a secret of the tenant: secret://<tenant>/<name>", "privateKey").Because(cloud.ReasonSecretRef)
		}
		var err error
		if key, err = s.Store.UnsealRef(ctx, c.TenantID, m.PrivateKey); err != nil {
			return err
		}
	}
	leaf, err := cloud.CheckCertificate(c.Type, m, key, s.Now())
	if err != nil {
		return err
	}
	if leaf != nil {
		c.NotBefore, c.Names = leaf.NotBefore.UTC(), leaf.DNSNames
	} else {
		c.Names = m.Domains
	}
	return nil
}

// Update asks for new material (a replacement at the provider) or changes the
// description.
func (s *CertificateService) Update(ctx context.Context, tenant, id, actor string, u CertificateUpdate) (*cloud.Certificate, error) {
	c, err := s.Store.Certificate(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if u.Description == nil && !u.material() {
		return nil, cloud.InvalidField("nothing to change: name the description or the material", "description", "leaf", "chain", "privateKey", "domains")
	}
	if err := stillOpen(c); err != nil {
		return nil, err
	}
	next := u.merge(c.Material)
	if u.material() {
		if err := s.check(ctx, c, next); err != nil { // fills names on this copy only
			return nil, err
		}
	}
	names, notBefore := c.Names, c.NotBefore
	return s.Store.ChangeCertificate(ctx, tenant, id, actor, "update", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
		if err := stillOpen(c); err != nil {
			return nil, err
		}
		if u.ExpectedVersion != nil && *u.ExpectedVersion != c.Version {
			return nil, cloud.Errorf(cloud.CodeConflict, "the certificate was changed meanwhile: its version is %d", c.Version).Because(cloud.ReasonVersion)
		}
		change := &cloud.CertificateChange{}
		if u.Description != nil {
			c.Description = *u.Description
		}
		switch {
		case u.material() && !sameMaterial(c.Material, u.merge(c.Material)):
			change = c.WantMaterial(u.merge(c.Material), s.Now())
			c.Names, c.NotBefore = names, notBefore
		default:
			c.Version++
			c.UpdatedAt = s.Now()
		}
		return change, nil
	})
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

func stillOpen(c *cloud.Certificate) error {
	if c.State.Final() || c.Intent == cloud.IntentDelete {
		return cloud.Errorf(cloud.CodeInvalidState, "the certificate is %s", c.State)
	}
	return nil
}

// Delete marks a certificate for deletion; one that is being deleted, or is,
// comes back as it is.
func (s *CertificateService) Delete(ctx context.Context, tenant, id, actor string, expectedVersion *int64) (*cloud.Certificate, error) {
	return s.Store.ChangeCertificate(ctx, tenant, id, actor, "delete", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
		if expectedVersion != nil && *expectedVersion != c.Version && !c.State.Final() {
			return nil, cloud.Errorf(cloud.CodeConflict, "the certificate was changed meanwhile: its version is %d", c.Version).Because(cloud.ReasonVersion)
		}
		return c.WantDelete(s.Now()), nil
	})
}

// OperatorUpdateCertificate is an update by a hand-sent signal: a JSON object
// with leaf, chain, privateKey, domains or description.
func (s *CertificateService) OperatorUpdateCertificate(ctx context.Context, id string, payload []byte) error {
	var u CertificateUpdate
	if err := json.Unmarshal(payload, &u); err != nil {
		return cloud.InvalidField("the payload is no JSON object with leaf, chain, privateKey, domains or description", "payload")
	}
	c, err := s.Store.LoadCertificate(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Update(ctx, c.TenantID, id, cloud.ActorOperator, u)
	return err
}

// OperatorDeleteCertificate is a delete by a hand-sent signal.
func (s *CertificateService) OperatorDeleteCertificate(ctx context.Context, id string) error {
	c, err := s.Store.LoadCertificate(ctx, id)
	if err != nil {
		return err
	}
	_, err = s.Delete(ctx, c.TenantID, id, cloud.ActorOperator, nil)
	return err
}

// OperatorRefreshCertificate asks for a look now.
func (s *CertificateService) OperatorRefreshCertificate(ctx context.Context, id string) error {
	_, err := s.Store.ChangeCertificate(ctx, "", id, cloud.ActorOperator, "", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
		if c.State.Final() {
			return nil, cloud.Errorf(cloud.CodeInvalidState, "the certificate is %s", c.State)
		}
		return c.WantRefresh(s.Now()), nil
	})
	return err
}
