package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

// Event is one stored event.
type Event = ports.Event

// eventEntry is an event that has no sequence yet.
type eventEntry struct {
	kind, subject, actor string
	data                 map[string]any
}

// emitFor tells of a resource's change when the transaction ends.
func (w *work) emitFor(r *cloud.Resource, e cloud.Event, actor string) {
	data := maps.Clone(e.Data)
	if data == nil {
		data = map[string]any{}
	}
	data["kind"], data["name"], data["resourceId"] = r.Kind, r.Name, r.ID
	w.emit(r.TenantID, r.ID, string(e.Type), actor, data)
}

// emit tells of anything that has a tenant and an id.
func (w *work) emit(tenant, subject, kind, actor string, data map[string]any) {
	for k, v := range data {
		if text, ok := v.(string); ok {
			data[k] = clean(text)
		}
	}
	data["actor"] = actor
	w.news[tenant] = append(w.news[tenant], eventEntry{kind: kind, subject: subject, actor: actor, data: data})
}

// insertEvents gives the gathered events the tenant's next numbers and puts
// them in the queue of each subscriber that wants their type. The tenant's row
// is locked from here to the commit, which makes the sequence free of gaps; so
// this comes last.
const insertEvents = `
WITH counter AS (
	UPDATE tenants SET event_seq = event_seq + cardinality($2::text[]) WHERE id = $1
	RETURNING event_seq - cardinality($2::text[]) AS base
), news AS (
	INSERT INTO events (id, tenant_id, sequence, type, subject, at, actor, data)
	SELECT e.subject || '-' || (base + e.n), $1, base + e.n, e.type, e.subject, $6, e.actor, e.data::jsonb
	FROM counter, unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS e(type, subject, actor, data, n)
	RETURNING id, type, subject, sequence
), sent AS (
	INSERT INTO deliveries (subscriber_id, event_id, subject, sequence, status, due_at)
	SELECT s.id, n.id, n.subject, n.sequence, 'waiting', $6
	FROM news n JOIN subscribers s ON s.tenant_id = $1 AND s.active AND (s.types = '{}' OR n.type = ANY (s.types))
	RETURNING subscriber_id
), woken AS (
	INSERT INTO outbox (workflow_id, workflow_type, signal)
	SELECT DISTINCT '` + webhookWorkflowPrefix + `' || subscriber_id, '` + workflowWebhook + `', '` + signalDeliver + `' FROM sent ORDER BY 1
	` + onAskedAgain + `
	RETURNING pg_notify('` + outboxChannel + `', '')
)
SELECT (SELECT count(*) FROM news), (SELECT count(*) FROM woken)`

func (w *work) writeEvents(ctx context.Context) error {
	for _, tenant := range slices.Sorted(maps.Keys(w.news)) {
		var kinds, subjects, actors, data []string
		for _, e := range w.news[tenant] {
			b, err := json.Marshal(e.data)
			if err != nil {
				return err
			}
			kinds, subjects = append(kinds, e.kind), append(subjects, e.subject)
			actors, data = append(actors, e.actor), append(data, string(b))
		}
		var written, woken int
		if err := w.tx.QueryRow(ctx, insertEvents, tenant, kinds, subjects, actors, data, w.now).Scan(&written, &woken); err != nil {
			return err
		}
		if written != len(kinds) {
			return cloud.Errorf(cloud.CodeInternal, "events of an unknown tenant")
		}
	}
	return nil
}

// ListEvents returns up to limit events of a tenant after a sequence, in order.
func (s *Store) ListEvents(ctx context.Context, tenant string, after int64, limit int) ([]Event, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, tenant_id, sequence, type, subject, at, actor, data
		FROM events WHERE tenant_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, tenant, after, limit)
	if err != nil {
		return nil, mapError(err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Event, error) {
		var e Event
		err := row.Scan(&e.ID, &e.TenantID, &e.Sequence, &e.Type, &e.Subject, &e.At, &e.Actor, &e.Data)
		e.At = e.At.UTC()
		return e, err
	})
	return events, mapError(err)
}
