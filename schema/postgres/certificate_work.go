package postgres

import (
	"context"
	"errors"

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

// Commit runs on the connection that owns the lock; that a worker came by is
// noted whether or not fn changes anything.
func (h *certificateHold) Commit(ctx context.Context, fn func(c *cloud.Certificate) *cloud.CertificateChange) error {
	var saved *cloud.Certificate
	err := h.s.work(ctx, h.conn, func(w *work) error {
		c, err := w.lockCertificate(ctx, h.record.ID)
		if err != nil {
			return err
		}
		saved = c
		if err := w.saveCertificate(ctx, c, fn(c), cloud.ActorReconciler); err != nil {
			return err
		}
		_, err = w.tx.Exec(ctx, "UPDATE certificates SET stepped_at = $2 WHERE id = $1", c.ID, w.now)
		return err
	})
	if err != nil {
		return err
	}
	h.record = saved
	return nil
}
