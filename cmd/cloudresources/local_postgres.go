//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

// defaultPostgresPort leaves 5432 to a server of the machine's own.
const defaultPostgresPort = 5433

// choosePostgresPort takes the port that was asked for, else the one of the last
// start, else the default one, else any free one, and remembers it in the state
// folder.
func (s *local) choosePostgresPort() error {
	addr := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	if port := s.postgres.Port; port != 0 {
		return platform.CheckFree("Postgres server", addr(port), "POSTGRES_PORT")
	}
	note := filepath.Join(s.layout.dir, "postgres.port")
	port := defaultPostgresPort
	if text, err := os.ReadFile(note); err == nil {
		if remembered, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			port = remembered
		}
	}
	if platform.CheckFree("Postgres server", addr(port), "POSTGRES_PORT") != nil {
		free, err := platform.FreePorts(1)
		if err != nil {
			return err
		}
		s.say("port %d is taken: Postgres gets %d (POSTGRES_PORT chooses)", port, free[0])
		port = free[0]
	}
	s.postgres.Port = port
	return os.WriteFile(note, []byte(strconv.Itoa(port)+"\n"), 0o644)
}
