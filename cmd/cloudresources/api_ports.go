package main

import (
	"context"
	"time"

	"github.com/better-compute/cloud-resources/api"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/intent"
	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// ports gives the store to the API in the API's own types: neither package
// knows the other.
type ports struct{ *postgres.Store }

func convert[A, B any](list []A, err error, one func(A) B) ([]B, error) {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = one(a)
	}
	return out, err
}

// Issuers are the OIDC issuers of the platform file.
func (p ports) Issuers(ctx context.Context) ([]platform.Issuer, error) {
	settings, _, err := p.Settings(ctx)
	return settings.OIDCIssuers, err
}

func (p ports) ListSecrets(ctx context.Context, tenant, after string, limit int) ([]api.Secret, error) {
	list, err := p.Store.ListSecrets(ctx, tenant, after, limit)
	return convert(list, err, func(s postgres.SecretInfo) api.Secret { return api.Secret(s) })
}

func (p ports) ListEvents(ctx context.Context, tenant string, after int64, limit int) ([]api.Event, error) {
	list, err := p.Store.ListEvents(ctx, tenant, after, limit)
	return convert(list, err, func(e postgres.Event) api.Event { return api.Event(e) })
}

func (p ports) ListUsage(ctx context.Context, tenant string, from, to time.Time) ([]api.UsageHour, error) {
	list, err := p.Store.ListUsage(ctx, tenant, from, to)
	return convert(list, err, func(h postgres.UsageHour) api.UsageHour { return api.UsageHour(h) })
}

// certificatePorts are the rules of certificates and their records.
type certificatePorts struct {
	*intent.CertificateService
	store *postgres.Store
}

func (p certificatePorts) Certificate(ctx context.Context, tenant, id string) (*cloud.Certificate, error) {
	return p.store.Certificate(ctx, tenant, id)
}

func (p certificatePorts) ListCertificates(ctx context.Context, f api.CertificateFilter, after string, limit int) ([]*cloud.Certificate, error) {
	return p.store.ListCertificates(ctx, postgres.CertificateFilter(f), after, limit)
}

// batchPorts are the rules of command batches and their records.
type batchPorts struct {
	*intent.BatchService
	store *postgres.Store
}

func (p batchPorts) ListBatches(ctx context.Context, tenant string, ended bool, after string, limit int) ([]*cloud.Batch, error) {
	return p.store.ListBatches(ctx, tenant, ended, after, limit)
}

func (p batchPorts) Detail(ctx context.Context, tenant, id string) (*api.BatchDetail, error) {
	b, err := p.store.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	file, approvals, err := p.store.BatchFile(ctx, id)
	if err != nil {
		return nil, err
	}
	commands, err := p.store.Commands(ctx, id)
	if err != nil {
		return nil, err
	}
	trail, err := p.store.AuditTrail(ctx, postgres.AuditFilter{Tenant: tenant, Subject: id}, 0, api.MaxAudit+1)
	d := &api.BatchDetail{Batch: b, File: file, Approvals: approvals, Commands: commands, AuditTruncated: len(trail) > api.MaxAudit}
	for _, l := range trail[:min(len(trail), api.MaxAudit)] {
		d.Audit = append(d.Audit, api.AuditLine{At: l.At, Actor: l.Actor, Action: l.Action, Detail: l.Detail})
	}
	return d, err
}
