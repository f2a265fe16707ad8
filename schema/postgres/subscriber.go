package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/better-compute/cloud-resources/cloud/ports"
)

var (
	_ ports.Webhooks    = (*Store)(nil)
	_ ports.DeadLetters = (*Store)(nil)
)

// DueSubscribers lists the active subscribers to whom something is due now.
func (s *Store) DueSubscribers(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT id FROM subscribers s WHERE active AND EXISTS (
		SELECT FROM deliveries d WHERE d.subscriber_id = s.id AND d.status = 'waiting' AND d.due_at <= $1) ORDER BY id`, s.now())
	if err != nil {
		return nil, mapError(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, mapError(err)
}

// Subscriber returns one with its signing secret; NOT_FOUND when it is not, or
// no longer, declared.
func (s *Store) Subscriber(ctx context.Context, id string) (*ports.Subscriber, error) {
	sub := &ports.Subscriber{ID: id}
	var sealed, source []byte
	err := s.pool.QueryRow(ctx, "SELECT tenant_id, url, active, secret_sealed, secret_source FROM subscribers WHERE id = $1", id).
		Scan(&sub.TenantID, &sub.URL, &sub.Active, &sealed, &source)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNotFound("subscriber")
	}
	if err != nil {
		return nil, mapError(err)
	}
	sub.Secret, err = s.openSecret(subscriberSecret(id), sealed, source)
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// heads are the oldest waiting delivery of each subject: those behind it wait
// until it is delivered or dead. Events of a tenant that the subscriber was
// moved away from are not its any more.
const heads = `
WITH heads AS (
	SELECT DISTINCT ON (subject) event_id, due_at, attempts, first_at FROM deliveries
	WHERE subscriber_id = $1 AND status = 'waiting' ORDER BY subject, sequence
), due AS (
	SELECT h.*, e.tenant_id, e.sequence, e.type, e.subject, e.at, e.actor, e.data
	FROM heads h JOIN events e ON e.id = h.event_id
	JOIN subscribers s ON s.id = $1 AND s.tenant_id = e.tenant_id
)`

// DueDeliveries returns up to limit deliveries that may be sent now, of each
// subject the oldest waiting one, and when the earliest of the others is due
// (zero when none waits).
func (s *Store) DueDeliveries(ctx context.Context, subscriber string, limit int) ([]ports.Delivery, time.Time, error) {
	rows, err := s.pool.Query(ctx, heads+`
		SELECT event_id, tenant_id, sequence, type, subject, at, actor, data, attempts, first_at
		FROM due WHERE due_at <= $2 ORDER BY due_at, sequence LIMIT $3`, subscriber, s.now(), limit)
	if err != nil {
		return nil, time.Time{}, mapError(err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ports.Delivery, error) {
		var d ports.Delivery
		var first *time.Time
		err := row.Scan(&d.EventID, &d.TenantID, &d.Sequence, &d.Type, &d.Subject, &d.At, &d.Actor, &d.Data, &d.Attempts, &first)
		d.At = d.At.UTC()
		if first != nil {
			d.FirstAt = first.UTC()
		}
		return d, err
	})
	if err != nil {
		return nil, time.Time{}, mapError(err)
	}
	taken := make([]string, len(due))
	for i, d := range due {
		taken[i] = d.EventID
	}
	var next *time.Time
	if err := s.pool.QueryRow(ctx, heads+" SELECT min(due_at) FROM due WHERE event_id <> ALL ($2)", subscriber, taken).Scan(&next); err != nil || next == nil {
		return due, time.Time{}, mapError(err)
	}
	return due, next.UTC(), nil
}

// SaveDelivery records an attempt. A delivery that is no longer waiting stays
// as it is.
func (s *Store) SaveDelivery(ctx context.Context, subscriber string, a ports.DeliveryAttempt) error {
	due := a.DueAt
	if due.IsZero() {
		due = s.now()
	}
	_, err := s.pool.Exec(ctx, `UPDATE deliveries SET status = $3, attempts = $4, first_at = $5, due_at = $6, last_error = $7
		WHERE subscriber_id = $1 AND event_id = $2 AND status = 'waiting'`,
		subscriber, a.EventID, string(a.Status), a.Attempts, a.FirstAt, due, a.Error)
	return mapError(err)
}

// DeactivateSubscriber stops deliveries to a subscriber that asked for it:
// what waits is dead, and nothing is added until a replay or an apply makes it
// active again.
func (s *Store) DeactivateSubscriber(ctx context.Context, id, reason string) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE subscribers SET active = false WHERE id = $1", id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE deliveries SET status = 'dead', last_error = $2 WHERE subscriber_id = $1 AND status = 'waiting'", id, reason)
		return err
	})
}

// DeadDeliveries lists up to limit deliveries that were given up, oldest first:
// of one subscriber, or of all for "".
func (s *Store) DeadDeliveries(ctx context.Context, subscriber string, limit int) ([]ports.DeadDelivery, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT d.subscriber_id, d.event_id, e.type, d.subject, e.at, d.attempts, d.last_error
		FROM deliveries d JOIN events e ON e.id = d.event_id
		WHERE d.status = 'dead' AND ($1 = '' OR d.subscriber_id = $1)
		ORDER BY d.subscriber_id, d.sequence LIMIT $2`, subscriber, limit)
	if err != nil {
		return nil, mapError(err)
	}
	dead, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ports.DeadDelivery, error) {
		var d ports.DeadDelivery
		err := row.Scan(&d.Subscriber, &d.EventID, &d.Type, &d.Subject, &d.At, &d.Attempts, &d.Error)
		d.At = d.At.UTC()
		return d, err
	})
	return dead, mapError(err)
}

// ReplayDeliveries makes dead deliveries wait again as if never tried, and
// returns how many: that of one event, or with "" all of the subscriber, which
// becomes active again. A replayed event comes after what was delivered
// meanwhile; its sequence tells. NOT_FOUND for an unknown subscriber.
func (s *Store) ReplayDeliveries(ctx context.Context, subscriber, event string) (int, error) {
	var n int
	err := s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "UPDATE subscribers SET active = active OR $2 = '' WHERE id = $1", subscriber, event)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNotFound("subscriber")
		}
		tag, err = tx.Exec(ctx, `UPDATE deliveries SET status = 'waiting', attempts = 0, first_at = NULL, due_at = $3, last_error = ''
			WHERE subscriber_id = $1 AND status = 'dead' AND ($2 = '' OR event_id = $2)`, subscriber, event, s.now())
		if err != nil {
			return err
		}
		if n = int(tag.RowsAffected()); n == 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, `INSERT INTO outbox (workflow_id, workflow_type, signal) VALUES ($1, $2, $3) `+onAskedAgain,
			webhookWorkflowPrefix+subscriber, workflowWebhook, signalDeliver); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "SELECT pg_notify($1, '')", outboxChannel)
		return err
	})
	return n, err
}
