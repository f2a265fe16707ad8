//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartsNeverGetTheCallersServers(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://production")
	t.Setenv("TEMPORAL_ADDRESS", "production:7233")
	t.Setenv("TEMPORAL_API_KEY", "key")
	t.Setenv("METRICS_ADDR", "127.0.0.1:1")
	env := layout{dir: "/state"}.environment("postgres://own", "127.0.0.1:2")
	require.Contains(t, env, "DATABASE_URL=postgres://own")
	require.Contains(t, env, "TEMPORAL_ADDRESS=127.0.0.1:2")
	for _, entry := range env {
		require.NotContains(t, entry, "production")
		require.NotContains(t, entry, "TEMPORAL_API_KEY")
		require.NotContains(t, entry, "METRICS_ADDR", "it is the worker's alone")
	}
}

func TestPeriodsAreShortUnlessTheCallerChose(t *testing.T) {
	t.Setenv("REFRESH_INTERVAL", "7s")
	t.Setenv("SETTLE_WINDOW", "")
	env := layout{dir: "/state"}.environment("", "")
	require.Contains(t, env, "CONVERGE_INTERVAL=2s")
	require.Contains(t, env, "REFRESH_INTERVAL=7s")
	require.NotContains(t, env, "REFRESH_INTERVAL=30s")
	require.Contains(t, env, "SETTLE_WINDOW=10s")
	require.NotContains(t, env, "SETTLE_WINDOW=")
	require.Contains(t, env, "SECRETS_KEYSET=/state/keyset.json")
}

func TestDevLayoutFollowsTheEnvironment(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for name, value := range map[string]string{
		"API_ADDR": ":18080", "SIMULATOR_ADDR": "", "METRICS_ADDR": "",
		"TEMPORAL_PORT": "17233", "TEMPORAL_UI_PORT": "", "POSTGRES_PORT": "",
	} {
		t.Setenv(name, value)
	}
	l, err := devLayout("/state")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:18080", l.apiURL())
	require.Equal(t, "127.0.0.1:8090", l.simulatorAddr)
	require.Equal(t, 17233, l.temporalPort)
	require.Equal(t, 8233, l.uiPort, "from the environment file")
	require.Equal(t, 7233, l.profilePort)
	require.Equal(t, "temporal-dev.yaml", l.envFile)

	t.Setenv("TEMPORAL_PORT", "high")
	_, err = devLayout("/state")
	require.ErrorContains(t, err, "TEMPORAL_PORT")
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for listen, dial := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "127.0.0.1:8080",
		"127.0.0.1:8080": "127.0.0.1:8080", "[::1]:8080": "[::1]:8080", "box:8080": "box:8080",
	} {
		require.Equal(t, dial, reachable(listen), listen)
	}
}

func TestPostgresKeepsThePortItFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	note := filepath.Join(dir, "postgres.port")
	require.NoError(t, os.WriteFile(note, []byte(strconv.Itoa(port)), 0o600))

	first, err := newLocal(layout{dir: dir}, t.Logf)
	require.NoError(t, err)
	require.NoError(t, first.choosePostgresPort())
	require.NotEqual(t, port, first.postgres.Port)

	second, err := newLocal(layout{dir: dir}, t.Logf)
	require.NoError(t, err)
	require.NoError(t, second.choosePostgresPort())
	require.Equal(t, first.postgres.Port, second.postgres.Port)

	asked, err := newLocal(layout{dir: dir, postgresPort: port}, t.Logf)
	require.NoError(t, err)
	require.ErrorContains(t, asked.choosePostgresPort(), "POSTGRES_PORT")
}
