package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"sigs.k8s.io/yaml"
)

// TemporalModule is what is built when the machine has no temporal command: the
// newest version that builds as a module.
const TemporalModule = "github.com/temporalio/cli/cmd/temporal@v1.5.1"

// temporalProfile is the profile of the environment file that starts the
// development server.
const temporalProfile = "dev"

// Temporal is the development server of the temporal command line, with a
// SQLite file behind it.
type Temporal struct {
	// BinDir is where the command is built when it is not in PATH.
	BinDir string
	// EnvFile is the command line's environment file, whose profile dev starts the
	// server; empty is none.
	EnvFile string
	// Port is the gRPC port on 127.0.0.1, UIPort that of the Web UI; 0 is no UI.
	Port, UIPort int
	// Database is the SQLite file.
	Database string
	// Throwaway trades safety of the data at a crash of the machine for speed.
	Throwaway bool
	// LogPath and PIDPath are those of the Process.
	LogPath, PIDPath string
	Say              Say
}

// Prepare finds the temporal command or builds it, which takes minutes and
// happens once. The returned part is ready to be started.
func (t *Temporal) Prepare(ctx context.Context) (Part, error) {
	path, err := FindTemporal(ctx, t.Say, t.BinDir)
	if err != nil {
		return Part{}, err
	}
	synchronous := "NORMAL"
	if t.Throwaway {
		synchronous = "OFF"
	}
	args := []string{
		"server", "start-dev", "--db-filename", t.Database,
		"--ip", "127.0.0.1", "--port", strconv.Itoa(t.Port),
		"--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=" + synchronous,
	}
	if t.EnvFile != "" {
		args = append(args, "--env-file", t.EnvFile, "--env", temporalProfile)
	}
	if t.UIPort == 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(t.UIPort))
	}
	process := t.process(path, args)
	process.StopLeftover()
	return Part{Process: process, Ready: t.ping}, nil
}

// StopLeftover ends a server of an earlier start on the same file and reports
// whether there was one.
func (t *Temporal) StopLeftover() bool {
	return t.process("temporal", []string{"server", "start-dev", "--db-filename", t.Database}).StopLeftover()
}

func (t *Temporal) process(path string, args []string) Process {
	return Process{
		Name: "temporal", Path: path, Args: args, Telling: 4,
		// The command line lets TEMPORAL_* win over its file.
		Env:     WithoutPrefix(os.Environ(), "TEMPORAL_"),
		LogPath: t.LogPath, PIDPath: t.PIDPath,
	}
}

// Address is where clients reach it.
func (t *Temporal) Address() string { return "127.0.0.1:" + strconv.Itoa(t.Port) }

func (t *Temporal) ping(ctx context.Context) error {
	c, err := client.NewLazyClient(client.Options{HostPort: t.Address(), Logger: quiet{}})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

// FindTemporal is the temporal command in PATH, or else the one in binDir, which
// it builds there when it is missing.
func FindTemporal(ctx context.Context, say Say, binDir string) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if err == nil && strings.HasPrefix(string(out), "temporal version") {
			return filepath.Abs(path)
		}
	}
	return BuildTool(ctx, say, binDir, "temporal", TemporalModule)
}

// TemporalProfile is what the profile dev of the command line's environment file
// says about the ports of the development server.
type TemporalProfile struct{ Port, UIPort int }

// ReadTemporalProfile reads the environment file. Its values are texts, as the
// command line wants them.
func ReadTemporalProfile(path string) (TemporalProfile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return TemporalProfile{}, err
	}
	var file struct {
		Env map[string]map[string]string `json:"env"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return TemporalProfile{}, fmt.Errorf("%s: %w", path, err)
	}
	values, ok := file.Env[temporalProfile]
	if !ok {
		return TemporalProfile{}, fmt.Errorf("%s has no profile %s", path, temporalProfile)
	}
	var profile TemporalProfile
	for name, into := range map[string]*int{"port": &profile.Port, "ui-port": &profile.UIPort} {
		if *into, err = strconv.Atoi(values[name]); err != nil {
			return TemporalProfile{}, fmt.Errorf("%s: %s of profile %s: %w", path, name, temporalProfile, err)
		}
	}
	return profile, nil
}

// WithoutPrefix is the environment without the variables whose names begin so.
func WithoutPrefix(env []string, prefix string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if !strings.HasPrefix(entry, prefix) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// quiet drops what the SDK logs about a server that is not there yet.
type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
