package postgres

import (
	"context"

	"github.com/better-compute/cloud-resources/cloud/ports"
)

// maxAudit is how many lines of a trail one answer has.
const maxAudit = 10_000

// BatchDetail returns a tenant's batch with its file, approvals, commands and
// audit trail; NOT_FOUND for any other.
func (s *Store) BatchDetail(ctx context.Context, tenant, id string) (*ports.BatchDetail, error) {
	b, err := s.Batch(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	file, approvals, err := s.BatchFile(ctx, id)
	if err != nil {
		return nil, err
	}
	commands, err := s.Commands(ctx, id)
	if err != nil {
		return nil, err
	}
	trail, err := s.AuditTrail(ctx, AuditFilter{Tenant: tenant, Subject: id}, 0, maxAudit+1)
	d := &ports.BatchDetail{Batch: b, File: file, Approvals: approvals, Commands: commands, AuditTruncated: len(trail) > maxAudit}
	for _, l := range trail[:min(len(trail), maxAudit)] {
		d.Audit = append(d.Audit, ports.AuditLine{At: l.At, Actor: l.Actor, Action: l.Action, Detail: l.Detail})
	}
	return d, err
}
