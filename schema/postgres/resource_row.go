package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/better-compute/cloud-resources/cloud"
)

// resourceColumns are the columns of a cloud.Resource, id first. rowValues and
// rowScan.targets follow the same order.
var resourceColumns = []string{
	"id", "tenant_id", "project_id", "pool_id", "account_id", "provider", "kind", "family", "name", "description",
	"parent_id", "region", "identity", "owner", "billed", "version", "generation", "intent", "state", "message",
	"provider_id", "adopted", "observed_only", "drift", "applied", "error_class", "failures", "failed_generation",
	"refresh_wanted", "held_by",
	"attempted_at", "accepted_at", "billed_from", "taken_over_at", "missing_since", "retry_at",
	"created_at", "updated_at", "ready_at", "ended_at",
	"spec", "outputs", "secret_outputs", "applied_spec", "sent", "repairs", "memo", "before",
}

// live is the condition of a record that has not ended, as the partial indexes
// spell it.
const live = "state NOT IN ('deleted', 'released')"

var (
	selectResource = "SELECT " + columnsOf("r") + " FROM resources r"
	insertResource = "INSERT INTO resources (" + strings.Join(resourceColumns, ", ") + ", request_digest) VALUES (" + placeholders(len(resourceColumns)+1) + ")"
	updateResource = "UPDATE resources SET " + assignments(resourceColumns[1:]) + " WHERE id = $1"
)

func columnsOf(alias string) string {
	return alias + "." + strings.Join(resourceColumns, ", "+alias+".")
}

func placeholders(n int) string {
	p := make([]string, n)
	for i := range p {
		p[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(p, ", ")
}

// assignments numbers from $2: $1 is the id.
func assignments(columns []string) string {
	p := make([]string, len(columns))
	for i, c := range columns {
		p[i] = fmt.Sprintf("%s = $%d", c, i+2)
	}
	return strings.Join(p, ", ")
}

// rowScan is where one row is scanned to before it becomes a record.
type rowScan struct {
	r                                      cloud.Resource
	spec, outputs, secretOutputs, applied  []byte
	sent, repairs, memo, before            []byte
	project, parent                        zeronull.Text
	attempted, accepted, billed, takenOver zeronull.Timestamptz
	missing, retry, created, updated       zeronull.Timestamptz
	ready, ended                           zeronull.Timestamptz
}

func (s *rowScan) targets() []any {
	r := &s.r
	return []any{
		&r.ID, &r.TenantID, &s.project, &r.PoolID, &r.AccountID, &r.Provider, &r.Kind, &r.Family, &r.Name, &r.Description,
		&s.parent, &r.Region, &r.Identity, &r.Owner, &r.Billed, &r.Version, &r.Generation, &r.Intent, &r.State, &r.Message,
		&r.ProviderID, &r.Adopted, &r.ObservedOnly, &r.Drift, &r.Applied, &r.ErrorClass, &r.Failures, &r.FailedGeneration,
		&r.RefreshWanted, &r.HeldBy,
		&s.attempted, &s.accepted, &s.billed, &s.takenOver, &s.missing, &s.retry,
		&s.created, &s.updated, &s.ready, &s.ended,
		&s.spec, &s.outputs, &s.secretOutputs, &s.applied, &s.sent, &s.repairs, &s.memo, &s.before,
	}
}

func (s *rowScan) record() (*cloud.Resource, error) {
	r := &s.r
	r.ProjectID, r.ParentID = string(s.project), string(s.parent)
	for to, from := range map[*time.Time]zeronull.Timestamptz{
		&r.AttemptedAt: s.attempted, &r.AcceptedAt: s.accepted, &r.BilledFrom: s.billed, &r.TakenOverAt: s.takenOver,
		&r.MissingSince: s.missing, &r.RetryAt: s.retry, &r.CreatedAt: s.created, &r.UpdatedAt: s.updated,
		&r.ReadyAt: s.ready, &r.EndedAt: s.ended,
	} {
		if t := time.Time(from); !t.IsZero() {
			*to = t.UTC()
		}
	}
	if len(r.Drift) == 0 {
		r.Drift = nil
	}
	var err error
	if r.Spec, err = cloud.ParseSpec(s.spec); err != nil {
		return nil, err
	}
	if len(s.applied) > 0 {
		if r.AppliedSpec, err = cloud.ParseSpec(s.applied); err != nil {
			return nil, err
		}
	}
	for _, field := range []struct {
		raw  []byte
		into any
	}{
		{s.outputs, &r.Outputs}, {s.secretOutputs, &r.SecretOutputs}, {s.sent, &r.Sent},
		{s.repairs, &r.Repairs}, {s.memo, &r.Memo}, {s.before, &r.Before},
	} {
		if err := decodeMap(field.raw, field.into); err != nil {
			return nil, fmt.Errorf("record %s: %w", r.ID, err)
		}
	}
	return r, nil
}

// decodeMap leaves an empty object nil, as the domain makes its maps when it
// first needs them, and keeps all 64 bits of an integer.
func decodeMap(raw []byte, into any) error {
	if len(raw) == 0 || string(raw) == "{}" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

// scanResource reads a row of resourceColumns followed by extra columns.
func scanResource(row pgx.Row, extra ...any) (*cloud.Resource, error) {
	var s rowScan
	if err := row.Scan(append(s.targets(), extra...)...); err != nil {
		return nil, err
	}
	return s.record()
}

func collectResources(rows pgx.Rows, err error) ([]*cloud.Resource, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*cloud.Resource, error) { return scanResource(row) })
}

// rowValues are the values of a record in the order of resourceColumns.
func rowValues(r *cloud.Resource) ([]any, error) {
	values := []any{
		r.ID, r.TenantID, zeronull.Text(r.ProjectID), r.PoolID, r.AccountID, r.Provider, r.Kind, r.Family, r.Name, r.Description,
		zeronull.Text(r.ParentID), r.Region, r.Identity, r.Owner, r.Billed, r.Version, r.Generation, r.Intent, r.State, clean(r.Message),
		r.ProviderID, r.Adopted, r.ObservedOnly, append([]string{}, r.Drift...), r.Applied, r.ErrorClass, r.Failures, r.FailedGeneration,
		r.RefreshWanted, r.HeldBy,
		at(r.AttemptedAt), at(r.AcceptedAt), at(r.BilledFrom), at(r.TakenOverAt), at(r.MissingSince), at(r.RetryAt),
		at(r.CreatedAt), at(r.UpdatedAt), at(r.ReadyAt), at(r.EndedAt),
		string(r.Spec.JSON()),
	}
	for _, m := range []any{r.Outputs, r.SecretOutputs, r.AppliedSpec, r.Sent, r.Repairs, r.Memo, r.Before} {
		v, err := jsonValue(m)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", r.ID, err)
		}
		values = append(values, v)
	}
	return values, nil
}

// jsonValue is the JSON text of a column: NULL for a spec or pointer that is
// nil, {} for an empty map.
func jsonValue(m any) (any, error) {
	switch v := m.(type) {
	case cloud.Spec:
		if v == nil {
			return nil, nil
		}
		return string(v.JSON()), nil
	case *cloud.Before:
		if v == nil {
			return nil, nil
		}
	}
	if v := reflect.ValueOf(m); v.Kind() == reflect.Map && v.Len() == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// at is a time as Postgres keeps it, so that what was written compares equal
// to what is read: UTC, microseconds, the zero time as NULL.
func at(t time.Time) zeronull.Timestamptz {
	if t.IsZero() {
		return zeronull.Timestamptz{}
	}
	return zeronull.Timestamptz(t.UTC().Truncate(time.Microsecond))
}

// clean makes a provider's words storable: Postgres takes no NUL and no
// broken UTF-8.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
}
