package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

const (
	databaseVariable = "TEST_DATABASE_URL"
	temporalVariable = "TEST_TEMPORAL_ADDRESS"
)

// binDir keeps the built temporal command, as `make dev` does.
var binDir = filepath.Join(".dev", "bin")

// servers are what the command runs with.
type servers struct {
	databaseURL, temporalAddress string

	dir        string
	postgres   *platform.Postgres
	supervisor *platform.Supervisor
}

// startServers starts what the environment does not name. The caller must stop
// the result even after an error.
func startServers(ctx context.Context, say platform.Say) (*servers, error) {
	s := &servers{
		databaseURL: os.Getenv(databaseVariable), temporalAddress: os.Getenv(temporalVariable),
		supervisor: platform.NewSupervisor(say),
	}
	if s.databaseURL != "" && s.temporalAddress != "" {
		return s, nil
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "cloudresources-test-"); err != nil {
		return s, err
	}
	// The user that Postgres runs as must be able to pass.
	if err := os.Chmod(s.dir, 0o711); err != nil {
		return s, err
	}
	ports, err := platform.FreePorts(2)
	if err != nil {
		return s, err
	}
	if s.databaseURL == "" {
		if err := s.startPostgres(ctx, ports[0], say); err != nil {
			return s, err
		}
	}
	if s.temporalAddress == "" {
		return s, s.startTemporal(ctx, ports[1], say)
	}
	return s, nil
}

func (s *servers) startPostgres(ctx context.Context, port int, say platform.Say) error {
	s.postgres = &platform.Postgres{
		StateDir: s.dir, Port: port, Throwaway: true, LogPath: filepath.Join(s.dir, "postgres.log"), Say: say,
	}
	part, err := s.postgres.Prepare(ctx)
	if err != nil {
		return err
	}
	s.databaseURL = s.postgres.URL("postgres")
	return s.supervisor.Start(ctx, part)
}

// startTemporal uses a file rather than the in-memory form: in memory SQLite has
// lost its tables after a cancelled call, and with its safety off a file is as
// fast.
func (s *servers) startTemporal(ctx context.Context, port int, say platform.Say) error {
	server := &platform.Temporal{
		BinDir: binDir, Port: port, Database: filepath.Join(s.dir, "temporal.db"), Throwaway: true,
		LogPath: filepath.Join(s.dir, "temporal.log"), Say: say,
	}
	part, err := server.Prepare(ctx)
	if err != nil {
		return err
	}
	s.temporalAddress = server.Address()
	return s.supervisor.Start(ctx, part)
}

func (s *servers) environment() []string {
	env := platform.WithoutPrefix(platform.WithoutPrefix(os.Environ(), databaseVariable+"="), temporalVariable+"=")
	return append(env, databaseVariable+"="+s.databaseURL, temporalVariable+"="+s.temporalAddress)
}

// stop ends the servers and deletes their data.
func (s *servers) stop() {
	s.supervisor.Stop()
	var err error
	if s.postgres != nil {
		err = s.postgres.Remove()
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("testenv: " + err.Error() + "\n")
	}
}
