package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private cluster of one developer, demo or test run, made from
// the system's Postgres. It listens on 127.0.0.1 only and trusts every local
// connection as the superuser postgres.
type Postgres struct {
	// StateDir holds the cluster, or the note of where it lies; it must exist.
	StateDir string
	// Port is where it listens on 127.0.0.1.
	Port int
	// Throwaway trades safety of the data at a crash of the machine for speed.
	Throwaway bool
	// LogPath and PIDPath are those of the Process.
	LogPath, PIDPath string
	Say              Say

	bin  string // the folder of the programs
	home string // owned by user: holds data
	user *User  // nil unless root
}

// Prepare finds the system's Postgres, installing it when run by root where apt is
// present, and makes the cluster unless there is one. The returned part is ready
// to be started.
func (p *Postgres) Prepare(ctx context.Context) (Part, error) {
	// First of all, since the package brings the user that the cluster belongs to.
	bin, err := findPostgres(ctx, p.Say)
	if err != nil {
		return Part{}, err
	}
	p.bin = bin
	if p.user, err = unprivileged(); err != nil {
		return Part{}, err
	}
	if p.home, err = p.place(ctx); err != nil {
		return Part{}, fmt.Errorf("placing the Postgres cluster: %w", err)
	}
	if version := clusterVersion(p.data()); version != 0 {
		if p.bin, err = lookPostgres(ctx, version); err != nil {
			return Part{}, err
		}
		p.user = ownerOf(p.data(), p.user)
	}
	if clusterVersion(p.data()) == 0 {
		if err := p.create(ctx); err != nil {
			return Part{}, err
		}
	}
	p.StopLeftover()
	return Part{Process: p.process(), Ready: p.ping}, nil
}

// StopLeftover ends a server of an earlier start that still runs on this cluster
// and reports whether there was one. It also removes the server's own lock file
// once its number belongs to another process, which Postgres would take for a
// server.
func (p *Postgres) StopLeftover() bool {
	found := false
	for _, home := range p.homes() {
		data := filepath.Join(home, "data")
		lock := filepath.Join(data, "postmaster.pid")
		server := Process{Path: "postgres", Args: []string{"-D", data}, Telling: 2, StopSignal: syscall.SIGINT}
		for _, path := range []string{p.PIDPath, lock} {
			if pid := readPID(path); pid != 0 && server.stopPID(pid) {
				found = true
			}
		}
		_ = os.Remove(lock)
	}
	_ = os.Remove(p.PIDPath)
	return found
}

// URL is the connection string of one of its databases.
func (p *Postgres) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", p.Port, database)
}

// EnsureDatabase creates the database unless it exists. The server must be ready.
func (p *Postgres) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize())
	return err
}

// Remove deletes the cluster wherever it lies. The server must have ended.
func (p *Postgres) Remove() error {
	if p.home == "" {
		return nil
	}
	return os.RemoveAll(p.home)
}

func (p *Postgres) data() string { return filepath.Join(p.home, "data") }

func (p *Postgres) process() Process {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // their paths have a length limit that a deep checkout exceeds
		"max_connections=300",
	}
	stop := syscall.SIGINT // "fast": does not wait for clients, writes a checkpoint
	if p.Throwaway {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
		stop = syscall.SIGQUIT
	}
	args := []string{"-D", p.data(), "-p", strconv.Itoa(p.Port)}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return Process{
		Name: "postgres", Path: filepath.Join(p.bin, "postgres"), Args: args, Telling: 2,
		Env: p.environment(), Dir: p.home, User: p.user, StopSignal: stop,
		LogPath: p.LogPath, PIDPath: p.PIDPath,
	}
}

// environment keeps the caller's PG* variables out of the server.
func (p *Postgres) environment() []string {
	return []string{"PATH=" + p.bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + p.home}
}

func (p *Postgres) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// create makes the cluster beside its final place and moves it there when it is
// complete.
func (p *Postgres) create(ctx context.Context) error {
	p.Say("making a Postgres cluster in %s", shortPath(p.data()))
	fresh := filepath.Join(p.home, "data.new")
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	args := []string{"-D", fresh, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"}
	if p.Throwaway {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), args...)
	cmd.Env, cmd.Dir = p.environment(), p.home
	if p.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user.credential()}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Rename(fresh, p.data())
}

// clusterVersion is the major version of the cluster in that folder; 0 when there
// is none.
func clusterVersion(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return version
}
