package platform

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTemporalServesAndEnds starts the real development server with the
// repository's own environment file. `make test` has found or built the command
// before.
func TestTemporalServesAndEnds(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	ports, err := FreePorts(2)
	require.NoError(t, err)
	dir := t.TempDir()
	server := &Temporal{
		BinDir: filepath.Join(root, ".dev", "bin"), EnvFile: filepath.Join(root, "temporal-dev.yaml"),
		Port: ports[0], UIPort: ports[1], Database: filepath.Join(dir, "temporal.db"), Throwaway: true,
		LogPath: filepath.Join(dir, "temporal.log"), PIDPath: filepath.Join(dir, "temporal.pid"), Say: t.Logf,
	}
	part, err := server.Prepare(t.Context())
	require.NoError(t, err)
	supervisor := NewSupervisor(t.Logf)
	require.NoError(t, supervisor.Start(t.Context(), part), "its ports and file come from us, not from the environment file")
	require.FileExists(t, server.Database)
	supervisor.Stop()
	require.NoError(t, CheckFree("Temporal server", server.Address(), "TEMPORAL_PORT"))
}

func TestReadTemporalProfile(t *testing.T) {
	t.Parallel()
	profile, err := ReadTemporalProfile(filepath.Join("..", "..", "..", "temporal-dev.yaml"))
	require.NoError(t, err)
	require.Equal(t, TemporalProfile{Port: 7233, UIPort: 8233}, profile)

	path := filepath.Join(t.TempDir(), "other.yaml")
	require.NoError(t, os.WriteFile(path, []byte("env:\n  prod:\n    port: \"1\"\n"), 0o600))
	_, err = ReadTemporalProfile(path)
	require.ErrorContains(t, err, "no profile dev")
	require.NoError(t, os.WriteFile(path, []byte("env:\n  dev:\n    port: high\n    ui-port: \"2\"\n"), 0o600))
	_, err = ReadTemporalProfile(path)
	require.ErrorContains(t, err, "port of profile dev")
}

func TestWithoutPrefix(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"PATH=/bin"}, WithoutPrefix([]string{"TEMPORAL_ADDRESS=x", "PATH=/bin"}, "TEMPORAL_"))
}

func holdPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	return listener.Addr().String()
}
