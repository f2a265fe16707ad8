package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the database. It is safe for concurrent use. Every exported method
// returns *cloud.Error, with UNAVAILABLE when the database does not answer.
type Store struct {
	pool *pgxpool.Pool
	// sessions are connections that somebody keeps for a while: for a lock of
	// the session, or to listen. They are apart, so that holders, however many,
	// never wait for each other to do a query.
	sessions *pgxpool.Pool
	keys     *Keyset
	now      func() time.Time
	// kindMeters are each kind's own meters, of which the deployment may name some.
	kindMeters map[string][]string
}

// Option changes how Open makes a Store.
type Option func(*options)

type options struct {
	keys       *Keyset
	now        func() time.Time
	maxConns   int32
	sessions   int32
	kindMeters map[string][]string
}

// WithKeyset gives the keys that seal secrets. Without it a store can do all
// that involves no secret; what does is refused with UNAVAILABLE.
func WithKeyset(k *Keyset) Option { return func(o *options) { o.keys = k } }

// WithClock replaces the clock that stamps records and decides what is due.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithKindMeters tells each kind's own meters, from the manifests. Those that
// the deployment names bill.
func WithKindMeters(m map[string][]string) Option { return func(o *options) { o.kindMeters = m } }

// WithMaxConns bounds the connections for queries (16).
func WithMaxConns(n int32) Option { return func(o *options) { o.maxConns = n } }

// WithMaxSessions bounds the connections that are kept for a while (32): one
// for each tree held at once, and one for each relay that waits. More holders
// queue.
func WithMaxSessions(n int32) Option { return func(o *options) { o.sessions = n } }

// sessionSettings hold for every connection. A worker that vanished with its
// host must not keep its locks for the two hours that TCP would take to notice.
var sessionSettings = map[string]string{
	"timezone":                "UTC",
	"tcp_keepalives_idle":     "15",
	"tcp_keepalives_interval": "5",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "30000",
}

// Open connects to the database at url. It checks the address and asks the
// database once, so that a wrong address is told at the start.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o := options{now: time.Now, maxConns: 16, sessions: 32}
	for _, opt := range opts {
		opt(&o)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	for name, value := range sessionSettings {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	sessions := cfg.Copy()
	cfg.MaxConns, sessions.MaxConns = o.maxConns, o.sessions
	sessions.MinConns, sessions.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, mapError(err)
	}
	held, err := pgxpool.NewWithConfig(ctx, sessions)
	if err != nil {
		pool.Close()
		return nil, mapError(err)
	}
	// Postgres keeps microseconds; a record reads back as it was written.
	s := &Store{pool: pool, sessions: held, keys: o.keys, kindMeters: o.kindMeters, now: func() time.Time { return o.now().UTC().Truncate(time.Microsecond) }}
	if err := s.Ping(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives every connection back. It waits for those in use.
func (s *Store) Close() {
	s.sessions.Close()
	s.pool.Close()
}

// Ping asks the database whether it answers.
func (s *Store) Ping(ctx context.Context) error { return mapError(s.pool.Ping(ctx)) }

// Migrations are the files that Migrate applies, in the order of their names.
func Migrations() fs.FS {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil { // only a wrong name above can do this
		panic(err)
	}
	return dir
}

// Migrate brings the database at url to the newest version of the tables. A
// lock in the database lets any number of processes call it at once.
func Migrate(ctx context.Context, url string) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database address: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, Migrations(), goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// txAttempts is how often a transaction is run that lost against another one.
const txAttempts = 5

// tx runs fn in a transaction and commits it when fn returns nil. When the
// database chose it as the victim of a deadlock or of a serialisation failure
// it is run again, so fn must set and not add to what it captures.
func (s *Store) tx(ctx context.Context, fn func(pgx.Tx) error) error {
	return runTx(ctx, s.pool, fn)
}

// beginner is a pool or one connection.
type beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

func runTx(ctx context.Context, b beginner, fn func(pgx.Tx) error) error {
	var err error
	for attempt := range txAttempts {
		err = pgx.BeginTxFunc(ctx, b, pgx.TxOptions{}, fn)
		if !retryable(err) {
			break
		}
		select {
		case <-ctx.Done():
			return mapError(ctx.Err())
		case <-time.After(time.Duration(attempt+1) * 10 * time.Millisecond):
		}
	}
	return mapError(err)
}

func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerialization || pg.Code == codeDeadlock)
}

// querier is a pool, a connection or a transaction that reads.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
