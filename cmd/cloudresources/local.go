//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

// databaseName is the database of a local system in its cluster.
const databaseName = "cloudresources"

// local is the whole system on this machine: two servers and this program's own
// parts, each a process.
//
//	postgres, temporal, simulator -> migrate, platform (once each) -> worker -> api
type local struct {
	layout     layout
	say        platform.Say
	self       string // this program
	postgres   *platform.Postgres
	temporal   *platform.Temporal
	supervisor *platform.Supervisor
}

func newLocal(l layout, say platform.Say) (*local, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &local{
		layout: l, say: say, self: self, supervisor: platform.NewSupervisor(say),
		postgres: &platform.Postgres{
			StateDir: l.dir, Port: l.postgresPort, LogPath: l.log("postgres"), PIDPath: l.pid("postgres"), Say: say,
		},
		temporal: &platform.Temporal{
			BinDir: l.binDir, EnvFile: l.envFile, Port: l.temporalPort, UIPort: l.uiPort, Database: l.temporalDB,
			LogPath: l.log("temporal"), PIDPath: l.pid("temporal"), Say: say,
		},
	}, nil
}

// stopLeftovers ends what an earlier supervisor of this folder left behind, so
// that its ports are free.
func (s *local) stopLeftovers() {
	for _, name := range []string{"api", "worker", "simulator"} {
		if s.part(name, nil).StopLeftover() {
			s.say("ended a %s left from an earlier run", name)
		}
	}
	if s.temporal.StopLeftover() {
		s.say("ended a Temporal server left from an earlier run")
	}
	if s.postgres.StopLeftover() {
		s.say("ended a Postgres server left from an earlier run")
	}
}

// choosePorts settles the port of Postgres and checks that every port is free.
func (s *local) choosePorts() error {
	l := &s.layout
	for _, check := range []struct{ what, addr, variable string }{
		{"API", l.apiAddr, "API_ADDR"},
		{"simulated provider", l.simulatorAddr, "SIMULATOR_ADDR"},
		{"worker's metrics", l.metricsAddr, "METRICS_ADDR"},
		{"Temporal server", "127.0.0.1:" + strconv.Itoa(l.temporalPort), "TEMPORAL_PORT"},
		{"Temporal Web UI", "127.0.0.1:" + strconv.Itoa(l.uiPort), "TEMPORAL_UI_PORT"},
	} {
		if err := platform.CheckFree(check.what, check.addr, check.variable); err != nil {
			return err
		}
	}
	return s.choosePostgresPort()
}

// start brings everything up in order and returns when the API reports itself
// healthy. After an error the caller stops what has started.
func (s *local) start(ctx context.Context) error {
	if err := s.startServers(ctx); err != nil {
		return err
	}
	env := s.layout.environment(s.postgres.URL(databaseName), s.temporal.Address())
	simulator := platform.Part{Process: s.part("simulator", env), Ready: answers(s.layout.simulatorURL() + "/_simulator/settings")}
	if err := s.supervisor.Start(ctx, simulator); err != nil {
		return err
	}
	s.say("the simulated provider answers at %s", s.layout.simulatorURL())
	if err := s.runOnce(ctx, "migrate", env); err != nil {
		return err
	}
	if err := s.applyDevelopment(ctx); err != nil {
		return err
	}
	worker := platform.Part{Process: s.part("worker", slices.Concat(env, []string{"METRICS_ADDR=" + s.layout.metricsAddr}))}
	if err := s.supervisor.Start(ctx, worker); err != nil {
		return err
	}
	if err := s.supervisor.Start(ctx, platform.Part{Process: s.part("api", env)}); err != nil {
		return err
	}
	s.say("worker and API started; waiting for %s/healthz", s.layout.apiURL())
	return s.waitHealthy(ctx)
}

func (s *local) startServers(ctx context.Context) error {
	database, err := s.postgres.Prepare(ctx)
	if err != nil {
		return err
	}
	server, err := s.temporal.Prepare(ctx)
	if err != nil {
		return err
	}
	if err := s.supervisor.Start(ctx, database); err != nil {
		return err
	}
	if err := s.postgres.EnsureDatabase(ctx, databaseName); err != nil {
		return fmt.Errorf("creating the database %s: %w", databaseName, err)
	}
	s.say("Postgres is ready on port %d", s.postgres.Port)
	if err := s.supervisor.Start(ctx, server); err != nil {
		return err
	}
	s.say("Temporal is ready on port %d, its Web UI on %d", s.temporal.Port, s.temporal.UIPort)
	return nil
}

// stop ends everything, the last started first.
func (s *local) stop() { s.supervisor.Stop() }

// subCommands are the parts whose name is not their sub-command.
var subCommands = map[string]string{"simulator": "simulate"}

// part is one of this program's own long-running parts.
func (s *local) part(name string, env []string) platform.Process {
	command := name
	if other, ok := subCommands[name]; ok {
		command = other
	}
	return platform.Process{
		Name: name, Path: s.self, Args: []string{command}, Env: env,
		LogPath: s.layout.log(name), PIDPath: s.layout.pid(name),
	}
}

// runOnce runs a sub-command that ends, and shows its output when it fails.
func (s *local) runOnce(ctx context.Context, name string, env []string) error {
	process := platform.Process{Name: name, Path: s.self, Args: []string{name}, Env: env, LogPath: s.layout.log(name)}
	running, err := process.Start()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		running.Stop()
		return ctx.Err()
	case <-running.Done():
	}
	if running.Err() != nil {
		return fmt.Errorf("cloudresources %s: %w; the end of its log:\n%s",
			name, running.Err(), platform.Tail(process.LogPath, 12))
	}
	return nil
}

// healthPatience is how long the API may take to find its database, Temporal and
// a worker.
const healthPatience = 2 * time.Minute

func (s *local) waitHealthy(ctx context.Context) error {
	healthy := answers(s.layout.apiURL() + "/healthz")
	limited, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	for {
		last := healthy(limited)
		if last == nil {
			return nil
		}
		if err := s.supervisor.Trouble(); err != nil {
			return err
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the API does not report itself healthy after %s: %w; see %s", healthPatience, last, filepath.Join(s.layout.dir, "log"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answers asks the URL once; nil is 200.
func answers(url string) func(context.Context) error {
	client := &http.Client{Timeout: 5 * time.Second}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status + " " + strings.TrimSpace(string(body)))
		}
		return nil
	}
}
