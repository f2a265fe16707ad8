package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// given makes run use servers that are not started, so that these tests look at
// the command alone; the package platform tests the servers.
func given(t *testing.T) {
	t.Helper()
	t.Setenv(databaseVariable, "postgres://given")
	t.Setenv(temporalVariable, "given:7233")
}

func TestTheCommandGetsTheServersThatAreGiven(t *testing.T) {
	given(t)
	path := filepath.Join(t.TempDir(), "seen")
	code := run([]string{"--", "sh", "-c", `echo "$TEST_DATABASE_URL $TEST_TEMPORAL_ADDRESS" >` + path}, nil, os.Stderr)
	require.Zero(t, code)
	seen, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "postgres://given given:7233", strings.TrimSpace(string(seen)))
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	given(t)
	require.Equal(t, 7, run([]string{"--", "sh", "-c", "exit 7"}, nil, os.Stderr))
	require.Equal(t, 128+9, run([]string{"sh", "-c", "kill -9 $$"}, nil, os.Stderr))
	require.Equal(t, exitNotFound, run([]string{"no-such-command-here"}, nil, os.Stderr))
	var stderr bytes.Buffer
	require.Equal(t, exitUsage, run([]string{"--"}, nil, &stderr))
	require.Contains(t, stderr.String(), "usage:")
}

func TestASignalReachesWhatTheCommandStarted(t *testing.T) {
	given(t)
	dir := t.TempDir()
	ready, caught := filepath.Join(dir, "ready"), filepath.Join(dir, "caught")
	inner := "trap 'touch " + caught + "; exit 3' INT; touch " + ready + "; while :; do sleep 0.02; done"
	signals := make(chan os.Signal, 1)
	code := make(chan int, 1)
	go func() { code <- run([]string{"sh", "-c", "trap : INT; sh -c \"" + inner + "\""}, signals, os.Stderr) }()
	require.Eventually(t, func() bool { return fileExists(ready) }, 20*time.Second, time.Millisecond)

	signals <- syscall.SIGINT
	require.Equal(t, 3, <-code)
	require.FileExists(t, caught)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
