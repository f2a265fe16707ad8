package api

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Actions on certificates.
const (
	actionCertificateRead   = "compute:certificates:read"
	actionCertificateManage = "compute:certificates:manage"
)

type newCertificateInput struct {
	TenantID       string                `json:"tenantId"`
	ProjectID      string                `json:"projectId"`
	PoolID         string                `json:"poolId"`
	Name           string                `json:"name"`
	Description    string                `json:"description"`
	Type           cloud.CertificateType `json:"type"`
	Leaf           string                `json:"leaf"`
	Chain          string                `json:"chain"`
	PrivateKey     cloud.SecretRef       `json:"privateKey"`
	Domains        []string              `json:"domains"`
	IdempotencyKey string                `json:"idempotencyKey"`
}

type certificateInput struct {
	TenantID        string           `json:"tenantId"`
	CertificateID   string           `json:"certificateId"`
	Description     intent.Text      `json:"description"`
	Leaf            *string          `json:"leaf"`
	Chain           intent.Text      `json:"chain"`
	PrivateKey      *cloud.SecretRef `json:"privateKey"`
	Domains         []string         `json:"domains"`
	ExpectedVersion *int64           `json:"expectedVersion"`

	PoolID         string `json:"poolId"`
	ProjectID      string `json:"projectId"`
	IncludeDeleted bool   `json:"includeDeleted"`
	After          string `json:"after"`
}

func (s *server) createCertificate(ctx context.Context, p intent.Principal, in newCertificateInput) (any, error) {
	n := intent.NewCertificate{
		TenantID: in.TenantID, ProjectID: in.ProjectID, PoolID: in.PoolID, Name: in.Name, Description: in.Description, Type: in.Type,
		Material:       cloud.CertificateMaterial{Leaf: in.Leaf, Chain: in.Chain, PrivateKey: in.PrivateKey, Domains: in.Domains},
		IdempotencyKey: in.IdempotencyKey,
	}
	if err := s.onCertificate(ctx, p, actionCertificateManage, in.TenantID, n.ID(p.ID)); err != nil {
		return nil, err
	}
	c, err := s.Certificates.Create(ctx, p, n)
	return s.wantedCertificate(ctx, c, err)
}

func (s *server) listCertificates(ctx context.Context, p intent.Principal, in certificateInput) (any, error) {
	if s.Certificates == nil {
		return nil, unserved("certificates")
	}
	if err := s.enter(ctx, p, actionCertificateRead, in.TenantID, intent.TypeCertificate); err != nil {
		return nil, err
	}
	f := CertificateFilter{Tenant: in.TenantID, Pool: in.PoolID, Project: in.ProjectID, IncludeDeleted: in.IncludeDeleted}
	id := func(c *cloud.Certificate) string { return c.ID }
	rows, err := allowedRows(ctx, in.After,
		func(after string, limit int) ([]*cloud.Certificate, error) {
			return s.Certificates.ListCertificates(ctx, f, after, limit)
		},
		id,
		func(c *cloud.Certificate) error {
			return s.Authorizer.Decide(ctx, p, actionCertificateRead, intent.Target{Type: intent.TypeCertificate, ID: c.ID, Tenant: in.TenantID})
		})
	if err != nil {
		return nil, err
	}
	return page(rows, id, (*cloud.Certificate).View), nil
}

func (s *server) getCertificate(ctx context.Context, p intent.Principal, in certificateInput) (any, error) {
	if err := s.onCertificate(ctx, p, actionCertificateRead, in.TenantID, in.CertificateID); err != nil {
		return nil, err
	}
	c, err := s.Certificates.Certificate(ctx, in.TenantID, in.CertificateID)
	if err != nil {
		return nil, err
	}
	return c.View(), nil
}

func (s *server) updateCertificate(ctx context.Context, p intent.Principal, in certificateInput) (any, error) {
	if err := s.onCertificate(ctx, p, actionCertificateManage, in.TenantID, in.CertificateID); err != nil {
		return nil, err
	}
	u := intent.CertificateUpdate{Leaf: in.Leaf, PrivateKey: in.PrivateKey, Domains: in.Domains, ExpectedVersion: in.ExpectedVersion}
	if in.Description.Given {
		u.Description = &in.Description.Value
	}
	if in.Chain.Given {
		u.Chain = &in.Chain.Value
	}
	c, err := s.Certificates.Update(ctx, in.TenantID, in.CertificateID, p.ID, u)
	return s.wantedCertificate(ctx, c, err)
}

func (s *server) deleteCertificate(ctx context.Context, p intent.Principal, in certificateInput) (any, error) {
	if err := s.onCertificate(ctx, p, actionCertificateManage, in.TenantID, in.CertificateID); err != nil {
		return nil, err
	}
	c, err := s.Certificates.Delete(ctx, in.TenantID, in.CertificateID, p.ID, in.ExpectedVersion)
	return s.wantedCertificate(ctx, c, err)
}

func (s *server) onCertificate(ctx context.Context, p intent.Principal, action, tenant, id string) error {
	if s.Certificates == nil {
		return unserved("certificates")
	}
	return s.on(ctx, p, action, tenant, intent.TypeCertificate, id)
}

func (s *server) wantedCertificate(ctx context.Context, c *cloud.Certificate, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if !c.State.Final() {
		s.nudge(ctx, c.ID)
	}
	return c.View(), nil
}
