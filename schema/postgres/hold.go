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

var _ ports.Records = (*Store)(nil)

// unlockTimeout bounds what is done for a connection after its user's own
// context ended.
const unlockTimeout = 2 * time.Second

const liveChildren = "(SELECT count(*) FROM resources c WHERE c.parent_id = r.id AND c." + live + ")"

// Load returns a record and how many live resources live in it. NOT_FOUND for
// an id that nobody has.
func (s *Store) Load(ctx context.Context, id string) (*cloud.Resource, int, error) {
	r, children, err := load(ctx, s.pool, id)
	return r, children, mapError(err)
}

func load(ctx context.Context, q querier, id string) (*cloud.Resource, int, error) {
	var children int
	r, err := scanResource(q.QueryRow(ctx, "SELECT "+columnsOf("r")+", "+liveChildren+" FROM resources r WHERE r.id = $1", id), &children)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, errNotFound("resource")
	}
	return r, children, err
}

// Hold runs fn while this process alone works on the record's tree: on the
// record and whatever shares its parent. The lock is the session's, so it ends
// with the connection, however that ends; commits run on that same connection,
// so whoever lost the lock cannot save. ports.ErrHeld while another has it.
func (s *Store) Hold(ctx context.Context, id string, fn func(ctx context.Context, h ports.Hold) error) error {
	conn, err := s.sessions.Acquire(ctx)
	if err != nil {
		return mapError(err)
	}
	defer conn.Release()
	var tree string
	err = conn.QueryRow(ctx, "SELECT coalesce(parent_id, id) FROM resources WHERE id = $1", id).Scan(&tree)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotFound("resource")
	}
	if err != nil {
		return mapError(err)
	}
	defer unlock(ctx, conn) // also when the answer to the lock is lost
	var locked bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock("+treeKey+")", tree).Scan(&locked); err != nil {
		return mapError(err)
	}
	if !locked {
		return ports.ErrHeld
	}
	h := &hold{s: s, conn: conn}
	if h.record, h.children, err = load(ctx, conn, id); err != nil {
		return mapError(err)
	}
	return fn(ctx, h)
}

const treeKey = "hashtextextended('tree/' || $1, 0)"

// unlock gives the lock back although the holder's context may have ended. A
// connection of which that is not certain is closed, which frees the lock too.
func unlock(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock_all()"); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}

type hold struct {
	s        *Store
	conn     *pgxpool.Conn
	record   *cloud.Resource
	children int
}

func (h *hold) Record() *cloud.Resource { return h.record }
func (h *hold) LiveChildren() int       { return h.children }

// Commit runs fn on the freshly locked record and saves it. A nil change
// changes nothing; that a worker came by is noted either way. UNAVAILABLE when
// the lock was lost with its connection: nothing is saved then.
func (h *hold) Commit(ctx context.Context, fn func(r *cloud.Resource) *cloud.Change) error {
	var saved *cloud.Resource
	var children int
	err := h.s.work(ctx, h.conn, func(w *work) error {
		l, err := w.lockOne(ctx, "r.id = $1", h.record.ID)
		if err != nil {
			return err
		}
		if _, err := w.save(ctx, l, fn(l.r), cloud.ActorReconciler); err != nil {
			return err
		}
		saved = l.r
		return w.tx.QueryRow(ctx, "UPDATE resources r SET stepped_at = $2 WHERE id = $1 RETURNING "+liveChildren, l.r.ID, w.now).Scan(&children)
	})
	if err != nil {
		return mapError(err)
	}
	h.record, h.children = saved, children
	return nil
}

// MarkAccount records since when and why an account does not answer for us, or
// with "" that it does.
func (s *Store) MarkAccount(ctx context.Context, account, message string) error {
	var since *time.Time
	if now := s.now(); message != "" {
		since = &now
	}
	_, err := s.pool.Exec(ctx, `UPDATE provider_accounts
		SET unreachable_since = CASE WHEN $2::timestamptz IS NULL THEN NULL ELSE coalesce(unreachable_since, $2) END, unreachable_message = $3
		WHERE id = $1 AND (unreachable_message <> $3 OR (unreachable_since IS NULL) <> ($2::timestamptz IS NULL))`,
		account, since, clean(message))
	return mapError(err)
}
