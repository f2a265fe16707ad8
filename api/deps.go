package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/better-compute/cloud-resources/api/authz"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/cloud/ports"
	"github.com/better-compute/cloud-resources/cloud/quorum"
	"github.com/better-compute/cloud-resources/schema/platform"
)

// Deps is what the API needs. Intents, Platform and Authorizer are required;
// routes whose port is nil answer UNSUPPORTED.
type Deps struct {
	Intents    *intent.Service
	Platform   Platform
	Authorizer intent.Authorizer

	Secrets      Secrets
	Events       Events
	Usage        Usage
	Certificates Certificates
	Batches      Batches

	// Nudge tells the workflow of an id, after a commit, that there is something
	// to do; nil where the relay alone does. It is not waited for, and what it
	// does not deliver the relay does.
	Nudge func(ctx context.Context, workflowID string)
	// Health are asked by /healthz.
	Health []Check
	// Source is the source of CloudEvents, such as /cloud-resources/<deployment>.
	Source string
	// Registry gets the API's metrics and is what /metrics shows; nil makes one.
	Registry *prometheus.Registry
	Log      *slog.Logger
	Now      intent.Clock
	// HTTP fetches the keys of OIDC issuers; nil is a client with a time-out.
	HTTP *http.Client
}

// Check is one thing that must be there for calls to be served.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
}

// Platform is who may call at all; schema/postgres implements it.
type Platform interface {
	authz.Source
	// PrincipalByToken returns who holds the static token with this SHA-256;
	// UNAUTHENTICATED when nobody does.
	PrincipalByToken(ctx context.Context, sha256 []byte) (*intent.Principal, error)
	// TenantDeclared says whether the platform file names the tenant.
	TenantDeclared(ctx context.Context, tenant string) (bool, error)
	// Issuers are the OIDC issuers whose tokens are accepted.
	Issuers(ctx context.Context) ([]platform.Issuer, error)
}

type (
	// Secret is a secret without its value.
	Secret = ports.Secret
	// Event is a stored event.
	Event = ports.Event
	// UsageHour is one hour of one meter of one resource.
	UsageHour = ports.UsageHour
	// CertificateFilter narrows a list; empty fields do not.
	CertificateFilter = ports.CertificateFilter
	// BatchDetail is a batch with all that belongs to it.
	BatchDetail = ports.BatchDetail
	// AuditLine is one line of the audit trail.
	AuditLine = ports.AuditLine
)

// Secrets is the secret store of tenants.
type Secrets interface {
	PutSecret(ctx context.Context, tenant, name string, value cloud.Secret, actor string) (cloud.SecretRef, error)
	// ListSecrets returns up to limit secrets by name, after a name.
	ListSecrets(ctx context.Context, tenant, after string, limit int) ([]Secret, error)
	RevealSecret(ctx context.Context, tenant string, ref cloud.SecretRef, actor string) (cloud.Secret, error)
	DeleteSecret(ctx context.Context, tenant, name, actor string) error
}

// Events lists events.
type Events interface {
	ListEvents(ctx context.Context, tenant string, after int64, limit int) ([]Event, error)
}

// Usage lists hours that begin in [from, to); a zero time leaves a side open.
type Usage interface {
	ListUsage(ctx context.Context, tenant string, from, to time.Time) ([]UsageHour, error)
}

// Certificates is the rules and records of certificates. What is called here
// was authorized.
type Certificates interface {
	Create(ctx context.Context, p intent.Principal, n intent.NewCertificate) (*cloud.Certificate, error)
	Update(ctx context.Context, tenant, id, actor string, u intent.CertificateUpdate) (*cloud.Certificate, error)
	Delete(ctx context.Context, tenant, id, actor string, expectedVersion *int64) (*cloud.Certificate, error)
	Certificate(ctx context.Context, tenant, id string) (*cloud.Certificate, error)
	ListCertificates(ctx context.Context, f CertificateFilter, after string, limit int) ([]*cloud.Certificate, error)
}

// Batches is the rules and records of command batches. What is called here was
// authorized.
type Batches interface {
	Create(ctx context.Context, p intent.Principal, n intent.NewBatch) (*cloud.Batch, error)
	Approve(ctx context.Context, tenant, id, actor string, a quorum.ApprovalFile) (*cloud.Batch, error)
	Cancel(ctx context.Context, tenant, id, actor string) (*cloud.Batch, error)
	BatchDetail(ctx context.Context, tenant, id string) (*BatchDetail, error)
	ListBatches(ctx context.Context, tenant string, ended bool, after string, limit int) ([]*cloud.Batch, error)
}
