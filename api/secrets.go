package api

import (
	"context"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
)

// Actions on secrets.
const (
	actionSecretRead   = "compute:secrets:read"
	actionSecretWrite  = "compute:secrets:write"
	actionSecretReveal = "compute:secrets:reveal"
)

// secretValue is decoded straight into a Secret, so that it prints nowhere.
type secretValue struct{ cloud.Secret }

func (v *secretValue) UnmarshalText(text []byte) error {
	v.Secret = cloud.NewSecret(string(text))
	return nil
}

type putSecretInput struct {
	TenantID string      `json:"tenantId"`
	Name     string      `json:"name"`
	Value    secretValue `json:"value"`
}

type secretInput struct {
	TenantID string          `json:"tenantId"`
	Name     string          `json:"name"`
	Ref      cloud.SecretRef `json:"ref"`
	After    string          `json:"after"`
}

type secretView struct {
	Name       string          `json:"name"`
	Ref        cloud.SecretRef `json:"ref"`
	ResourceID string          `json:"resourceId,omitempty"`
	CreatedAt  int64           `json:"createdAt"`
	UpdatedAt  int64           `json:"updatedAt"`
}

func (s *server) putSecret(ctx context.Context, p intent.Principal, in putSecretInput) (any, error) {
	if err := s.onSecret(ctx, p, actionSecretWrite, in.TenantID, in.Name); err != nil {
		return nil, err
	}
	ref, err := s.Secrets.PutSecret(ctx, in.TenantID, in.Name, in.Value.Secret, p.ID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"ref": ref}, nil
}

func (s *server) listSecrets(ctx context.Context, p intent.Principal, in secretInput) (any, error) {
	if s.Secrets == nil {
		return nil, unserved("secrets")
	}
	if err := s.enter(ctx, p, actionSecretRead, in.TenantID, intent.TypeSecret); err != nil {
		return nil, err
	}
	attributes := s.attributeCache(in.TenantID)
	rows, err := allowedRows(ctx, in.After,
		func(after string, limit int) ([]Secret, error) {
			return s.Secrets.ListSecrets(ctx, in.TenantID, after, limit)
		},
		func(row Secret) string { return row.Name },
		func(row Secret) error {
			target, err := attributes(ctx, row.Name)
			if err != nil {
				return err
			}
			return s.Authorizer.Decide(ctx, p, actionSecretRead, target)
		})
	if err != nil {
		return nil, err
	}
	return page(rows, func(row Secret) string { return row.Name }, func(row Secret) secretView {
		return secretView{Name: row.Name, Ref: row.Ref, ResourceID: row.ResourceID, CreatedAt: millis(row.CreatedAt), UpdatedAt: millis(row.UpdatedAt)}
	}), nil
}

func (s *server) revealSecret(ctx context.Context, p intent.Principal, in secretInput) (any, error) {
	tenant, name, _ := in.Ref.Parse()
	if err := s.onSecret(ctx, p, actionSecretReveal, in.TenantID, name); err != nil {
		return nil, err
	}
	if tenant != in.TenantID { // told like one that is not there
		return nil, cloud.Errorf(cloud.CodeNotFound, "no such secret")
	}
	value, err := s.Secrets.RevealSecret(ctx, in.TenantID, in.Ref, p.ID)
	if err != nil {
		return nil, err
	}
	return map[string]string{"value": value.Reveal()}, nil
}

func (s *server) deleteSecret(ctx context.Context, p intent.Principal, in secretInput) (any, error) {
	if err := s.onSecret(ctx, p, actionSecretWrite, in.TenantID, in.Name); err != nil {
		return nil, err
	}
	if err := s.Secrets.DeleteSecret(ctx, in.TenantID, in.Name, p.ID); err != nil {
		return nil, err
	}
	return map[string]any{"name": in.Name, "deleted": true}, nil
}

// onSecret decides a call on one secret.
func (s *server) onSecret(ctx context.Context, p intent.Principal, action, tenant, name string) error {
	if s.Secrets == nil {
		return unserved("secrets")
	}
	if err := s.Authorizer.Reach(ctx, p, tenant); err != nil {
		return err
	}
	target, err := s.attributeCache(tenant)(ctx, name)
	if err != nil {
		return err
	}
	return s.Authorizer.Decide(ctx, p, action, target)
}

// attributeCache makes targets of secrets. A sealed output has the attributes
// of its resource, so that who is allowed a family of resources is allowed what
// they output; each resource is read once.
func (s *server) attributeCache(tenant string) func(ctx context.Context, name string) (intent.Target, error) {
	known := map[string]map[string]string{}
	return func(ctx context.Context, name string) (intent.Target, error) {
		t := intent.Target{Type: intent.TypeSecret, ID: name, Tenant: tenant}
		rest, sealed := strings.CutPrefix(name, "resources/")
		id, _, _ := strings.Cut(rest, "/")
		if !sealed || !cloud.PatternResource.MatchString(id) {
			return t, nil
		}
		attributes, ok := known[id]
		if !ok {
			r, err := s.Intents.Store.Resource(ctx, tenant, id)
			switch {
			case err == nil:
				attributes = intent.TargetOf(r).Attributes
			case cloud.AsError(err).Code != cloud.CodeNotFound:
				return t, err
			}
			known[id] = attributes
		}
		t.Attributes = attributes
		return t, nil
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
