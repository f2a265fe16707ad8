// Package pgtest gives each test a database of its own on the server that
// TEST_DATABASE_URL names. It is for tests only.
//
// The tables are migrated once, into a template database named after the
// migrations; each test's database is a copy of it, which takes some tens of
// milliseconds, and is dropped when the test ends.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/schema/postgres"
)

// DB is a database of one test.
type DB struct {
	*postgres.Store
	// URL is its address, for a process or a second store of the test.
	URL string
	// SQL reads and writes it past the store.
	SQL *pgxpool.Pool

	t      testing.TB
	keyset *postgres.Keyset
}

// Open returns a store on an empty migrated database, with a keyset of its own.
func Open(t testing.TB, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	return New(t, opts...).Store
}

// New is Open for tests that also look into the database.
func New(t testing.TB, opts ...postgres.Option) *DB {
	t.Helper()
	db := &DB{t: t, URL: database(t)}
	var err error
	db.keyset, err = postgres.LoadKeyset(filepath.Join(t.TempDir(), "keyset.json"), true)
	require.NoError(t, err)
	db.SQL, err = pgxpool.New(context.Background(), db.URL)
	require.NoError(t, err)
	t.Cleanup(db.SQL.Close)
	db.Store = db.Another(opts...)
	return db
}

// Another opens a second store on the same database with the same keys, as
// another process would.
func (db *DB) Another(opts ...postgres.Option) *postgres.Store {
	db.t.Helper()
	s, err := postgres.Open(context.Background(), db.URL, append([]postgres.Option{postgres.WithKeyset(db.keyset)}, opts...)...)
	require.NoError(db.t, err)
	db.t.Cleanup(s.Close)
	return s
}

// WithoutKeys opens a second store that has no secret store.
func (db *DB) WithoutKeys() *postgres.Store {
	db.t.Helper()
	s, err := postgres.Open(context.Background(), db.URL)
	require.NoError(db.t, err)
	db.t.Cleanup(s.Close)
	return s
}

// Exec runs a statement past the store.
func (db *DB) Exec(sql string, args ...any) {
	db.t.Helper()
	_, err := db.SQL.Exec(context.Background(), sql, args...)
	require.NoError(db.t, err)
}

// Value reads one value past the store.
func Value[T any](db *DB, sql string, args ...any) T {
	db.t.Helper()
	var v T
	require.NoError(db.t, db.SQL.QueryRow(context.Background(), sql, args...).Scan(&v))
	return v
}

// Dump is every row of every table as text, bytes included as they are, for
// tests that search for what must not be there.
func (db *DB) Dump() string {
	db.t.Helper()
	ctx := context.Background()
	rows, err := db.SQL.Query(ctx, "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'")
	require.NoError(db.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(db.t, err)
	var b strings.Builder
	for _, table := range tables {
		rows, err := db.SQL.Query(ctx, "SELECT * FROM "+pgx.Identifier{table}.Sanitize())
		require.NoError(db.t, err)
		for rows.Next() {
			for _, raw := range rows.RawValues() {
				b.Write(raw)
				b.WriteByte('\n')
			}
			values, err := rows.Values()
			require.NoError(db.t, err)
			fmt.Fprintln(&b, table, values)
		}
		require.NoError(db.t, rows.Err())
	}
	return b.String()
}

// database makes a database for the test and returns its address.
func database(t testing.TB) string {
	t.Helper()
	base := os.Getenv("TEST_DATABASE_URL")
	if base == "" {
		t.Fatal("TEST_DATABASE_URL is not set: these tests need a Postgres server whose user may create databases; `make test` starts one")
	}
	template, err := migrated(base)
	require.NoError(t, err, "the template database")
	name := "crtest_" + strings.ToLower(rand.Text()[:16])
	admin(t, base, "CREATE DATABASE "+name+" TEMPLATE "+template)
	t.Cleanup(func() { admin(t, base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return withDatabase(t, base, name)
}

func admin(t testing.TB, base, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, base)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err, sql)
}

func withDatabase(t testing.TB, base, name string) string {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err, "TEST_DATABASE_URL must be a postgres:// address")
	u.Path = "/" + name
	return u.String()
}

var template struct {
	sync.Mutex
	name string
}

// migrated returns the name of the template database, which it makes unless an
// earlier process has. It is made under another name and renamed when it is
// whole, with a lock against other processes that do the same.
func migrated(base string) (string, error) {
	template.Lock()
	defer template.Unlock()
	if template.name != "" {
		return template.name, nil
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended('pgtest', 0))"); err != nil {
		return "", err
	}
	name, err := templateName()
	if err != nil {
		return "", err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return "", err
	}
	if !exists {
		if err := makeTemplate(ctx, conn, base, name); err != nil {
			return "", err
		}
	}
	template.name = name
	return name, nil
}

func makeTemplate(ctx context.Context, conn *pgx.Conn, base, name string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	u.Path = "/" + name + "_making"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + name + "_making WITH (FORCE)", "CREATE DATABASE " + name + "_making"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := postgres.Migrate(ctx, u.String()); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+"_making RENAME TO "+name)
	return err
}

// templateName changes with the migrations.
func templateName() (string, error) {
	h := fnv.New64a()
	files := postgres.Migrations()
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\n%s\n", name, text)
	}
	return fmt.Sprintf("crtemplate_%x", h.Sum64()), nil
}
