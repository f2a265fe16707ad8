package postgres

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/better-compute/cloud-resources/cloud"
)

// certificateColumns are the columns of a cloud.Certificate, id first.
var certificateColumns = []string{
	"id", "tenant_id", "project_id", "pool_id", "account_id", "provider", "name", "description", "owner", "type",
	"material", "version", "generation", "serial", "intent", "state", "message", "current_serial", "provider_id", "current_attempted_at",
	"next_id", "former", "attempted_at", "retry_at", "failures", "refresh_wanted", "fingerprint", "not_before", "not_after", "names",
	"provider_state", "noticed", "created_at", "updated_at", "ready_at", "ended_at",
}

var (
	selectCertificate = "SELECT " + strings.Join(certificateColumns, ", ") + " FROM certificates"
	insertCertificate = "INSERT INTO certificates (" + strings.Join(certificateColumns, ", ") + ", request_digest) VALUES (" + placeholders(len(certificateColumns)+1) + ")"
	updateCertificate = "UPDATE certificates SET " + assignments(certificateColumns[1:]) + " WHERE id = $1"
)

func certificateValues(c *cloud.Certificate) ([]any, error) {
	material, err := json.Marshal(c.Material)
	if err != nil {
		return nil, err
	}
	former := c.Former
	if former == nil {
		former = []cloud.CertificateObject{}
	}
	formerJSON, err := json.Marshal(former)
	if err != nil {
		return nil, err
	}
	names := c.Names
	if names == nil {
		names = []string{}
	}
	return []any{
		c.ID, c.TenantID, zeronull.Text(c.ProjectID), c.PoolID, c.AccountID, c.Provider, c.Name, c.Description, c.Owner, c.Type,
		string(material), c.Version, c.Generation, c.Serial, c.Intent, c.State, clean(c.Message), c.Current.Serial, c.Current.ProviderID,
		zeronull.Timestamptz(c.Current.AttemptedAt), c.NextID, string(formerJSON), zeronull.Timestamptz(c.AttemptedAt), zeronull.Timestamptz(c.RetryAt), c.Failures, c.RefreshWanted, c.Fingerprint,
		zeronull.Timestamptz(c.NotBefore), zeronull.Timestamptz(c.NotAfter), names, c.ProviderState, c.Noticed,
		zeronull.Timestamptz(c.CreatedAt), zeronull.Timestamptz(c.UpdatedAt), zeronull.Timestamptz(c.ReadyAt), zeronull.Timestamptz(c.EndedAt),
	}, nil
}

func scanCertificate(row pgx.Row, extra ...any) (*cloud.Certificate, error) {
	var c cloud.Certificate
	var project zeronull.Text
	var material, former []byte
	var current, attempted, retry, notBefore, notAfter, created, updated, ready, ended zeronull.Timestamptz
	targets := []any{
		&c.ID, &c.TenantID, &project, &c.PoolID, &c.AccountID, &c.Provider, &c.Name, &c.Description, &c.Owner, &c.Type,
		&material, &c.Version, &c.Generation, &c.Serial, &c.Intent, &c.State, &c.Message, &c.Current.Serial, &c.Current.ProviderID,
		&current, &c.NextID, &former, &attempted, &retry, &c.Failures, &c.RefreshWanted, &c.Fingerprint, &notBefore, &notAfter, &c.Names,
		&c.ProviderState, &c.Noticed, &created, &updated, &ready, &ended,
	}
	if err := row.Scan(append(targets, extra...)...); err != nil {
		return nil, err
	}
	c.ProjectID = string(project)
	for to, from := range map[*time.Time]zeronull.Timestamptz{
		&c.Current.AttemptedAt: current, &c.AttemptedAt: attempted, &c.RetryAt: retry, &c.NotBefore: notBefore, &c.NotAfter: notAfter,
		&c.CreatedAt: created, &c.UpdatedAt: updated, &c.ReadyAt: ready, &c.EndedAt: ended,
	} {
		if t := time.Time(from); !t.IsZero() {
			*to = t.UTC()
		}
	}
	if err := json.Unmarshal(material, &c.Material); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(former, &c.Former); err != nil {
		return nil, err
	}
	// A record reads back as it was written: none is nil.
	if len(c.Former) == 0 {
		c.Former = nil
	}
	if len(c.Names) == 0 {
		c.Names = nil
	}
	return &c, nil
}

func collectCertificates(rows pgx.Rows, err error) ([]*cloud.Certificate, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*cloud.Certificate, error) { return scanCertificate(row) })
}
