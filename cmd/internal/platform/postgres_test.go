package platform

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestPostgresKeepsItsDataOverARestart(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), openDir(t)

	first := startPostgres(t, dir, false)
	require.NoError(t, first.EnsureDatabase(ctx, "orders"))
	require.NoError(t, first.EnsureDatabase(ctx, "orders"), "a second time")
	execute(t, first.URL("orders"), "create table kept (n int); insert into kept values (7)")
	first.stop()

	second := startPostgres(t, dir, false)
	require.Equal(t, 7, queryInt(t, second.URL("orders"), "select n from kept"))
}

func TestPostgresStartsAfterItsServerWasKilled(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := startPostgres(t, dir, false)
	execute(t, pg.URL("postgres"), "create table kept (n int); insert into kept values (7)")

	killed := readPID(pg.PIDPath)
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		pid := readPID(pg.PIDPath)
		return pid != 0 && pid != killed && pg.ping(t.Context()) == nil
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, 7, queryInt(t, pg.URL("postgres"), "select n from kept"))
}

func TestPostgresIgnoresALockFileWhoseNumberIsNowAnother(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := startPostgres(t, dir, true)
	pg.stop()

	// As after a crash of the machine: the number now belongs to this test.
	stale := filepath.Join(pg.data(), "postmaster.pid")
	require.NoError(t, os.WriteFile(stale, []byte(strconv.Itoa(os.Getpid())+"\n"+pg.data()+"\n"), 0o600))
	startPostgres(t, dir, true)
}

func TestPostgresEndsAServerLeftOnItsCluster(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := startPostgres(t, dir, true)
	left := readPID(pg.PIDPath)
	require.NoError(t, os.Remove(pg.PIDPath))

	again := newPostgres(t, dir, true)
	require.True(t, again.StopLeftover())
	require.Empty(t, commandLine(left))
	pg.stop()
}

func TestPostgresMovesWhereItsUserCanReach(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root needs another user for Postgres")
	}
	dir := filepath.Join(openDir(t), "closed")
	require.NoError(t, os.Mkdir(dir, 0o700))

	pg := startPostgres(t, dir, false)
	require.NotContains(t, pg.home, dir)
	execute(t, pg.URL("postgres"), "create table kept (n int); insert into kept values (7)")
	pg.stop()

	again := startPostgres(t, dir, false)
	require.Equal(t, pg.home, again.home, "the place is remembered")
	require.Equal(t, 7, queryInt(t, again.URL("postgres"), "select n from kept"))
	again.stop()

	require.NoError(t, again.Remove())
	require.NoDirExists(t, again.home)
}

func TestPostgresNeedsTheVersionThatMadeTheCluster(t *testing.T) {
	t.Parallel()
	_, err := lookPostgres(t.Context(), 7)
	require.ErrorContains(t, err, "made by Postgres 7")
}

// startedPostgres is a server that ends with its test.
type startedPostgres struct {
	*Postgres
	stop func()
}

func startPostgres(t *testing.T, dir string, throwaway bool) startedPostgres {
	t.Helper()
	pg := newPostgres(t, dir, throwaway)
	part, err := pg.Prepare(t.Context())
	require.NoError(t, err)
	supervisor := NewSupervisor(t.Logf)
	require.NoError(t, supervisor.Start(t.Context(), part))
	t.Cleanup(func() {
		supervisor.Stop()
		if filepath.Dir(pg.home) != dir {
			require.NoError(t, pg.Remove())
		}
	})
	return startedPostgres{pg, supervisor.Stop}
}

func newPostgres(t *testing.T, dir string, throwaway bool) *Postgres {
	t.Helper()
	ports, err := FreePorts(1)
	require.NoError(t, err)
	return &Postgres{
		StateDir: dir, Port: ports[0], Throwaway: throwaway, Say: t.Logf,
		LogPath: filepath.Join(dir, "postgres.log"), PIDPath: filepath.Join(dir, "postgres.pid"),
	}
}

// openDir is a directory that any user can enter, unlike t.TempDir below a
// closed one.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "platform-test-") //nolint:usetesting // t.TempDir lies below a closed directory
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func queryInt(t *testing.T, url, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}
