package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/cloud/ports"
)

var _ ports.CertificateRecords = (*Store)(nil)

// HoldCertificate runs fn while this process alone works on the certificate,
// by the same means and with the same guarantees as Hold.
func (s *Store) HoldCertificate(ctx context.Context, id string, fn func(ctx context.Context, h ports.CertificateHold) error) error {
	return s.exclusive(ctx, id, func(conn *pgxpool.Conn) error {
		c, err := scanCertificate(conn.QueryRow(ctx, selectCertificate+" WHERE id = $1", id))
		if errors.Is(err, pgx.ErrNoRows) {
			return errNotFound("certificate")
		}
		if err != nil {
			return mapError(err)
		}
		return fn(ctx, &certificateHold{s: s, conn: conn, record: c})
	})
}

// exclusive runs fn on a connection that owns the lock of a tree.
// ports.ErrHeld while another has it.
func (s *Store) exclusive(ctx context.Context, tree string, fn func(conn *pgxpool.Conn) error) error {
	conn, err := s.sessions.Acquire(ctx)
	if err != nil {
		return mapError(err)
	}
	defer conn.Release()
	defer unlock(ctx, conn)
	var locked bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock("+treeKey+")", tree).Scan(&locked); err != nil {
		return mapError(err)
	}
	if !locked {
		return ports.ErrHeld
	}
	return fn(conn)
}

type certificateHold struct {
	s      *Store
	conn   *pgxpool.Conn
	record *cloud.Certificate
}

func (h *certificateHold) Record() *cloud.Certificate { return h.record }

// Commit runs on the connection that owns the lock.
func (h *certificateHold) Commit(ctx context.Context, fn func(c *cloud.Certificate) *cloud.CertificateChange) error {
	return h.s.work(ctx, h.conn, func(w *work) error {
		c, err := w.lockCertificate(ctx, h.record.ID)
		if err != nil {
			return err
		}
		h.record = c
		if err := w.saveCertificate(ctx, c, fn(c), cloud.ActorReconciler); err != nil {
			return err
		}
		_, err = w.tx.Exec(ctx, "UPDATE certificates SET stepped_at = $2 WHERE id = $1", c.ID, w.now)
		return err
	})
}

// SweepCertificates returns the certificates of an account that are in service.
func (s *Store) SweepCertificates(ctx context.Context, account string) ([]*cloud.Certificate, error) {
	list, err := collectCertificates(s.pool.Query(ctx, selectCertificate+
		" WHERE account_id = $1 AND state = 'ready' AND intent = 'present' ORDER BY id", account))
	return list, mapError(err)
}

// NoticeExpiry writes the expiry events that are due and returns how many
// certificates it told of. It is cheap when nothing is due.
func (s *Store) NoticeExpiry(ctx context.Context) (int, error) {
	soon := s.now().Add(time.Duration(cloud.ExpiryNotices[0]) * 24 * time.Hour)
	rows, err := s.pool.Query(ctx, `SELECT id FROM certificates
		WHERE state NOT IN ('deleted', 'deleting') AND noticed >= 0 AND not_after <= $1 ORDER BY id LIMIT 1000`, soon)
	if err != nil {
		return 0, mapError(err)
	}
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, mapError(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return 0, mapError(err)
	}
	told := 0
	for _, id := range ids {
		_, err := s.ChangeCertificate(ctx, "", id, cloud.ActorReconciler, "", func(c *cloud.Certificate) (*cloud.CertificateChange, error) {
			change := c.Notice(s.now())
			if change != nil {
				told++
			}
			return change, nil
		})
		if err != nil {
			return told, err
		}
	}
	return told, nil
}
