//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cmd/internal/platform"
)

func TestSimulateKeepsItsObjectsOverARestart(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "made", "simulator.json")

	url, stop := startSimulate(t, state)
	req := request(t, http.MethodPost, url+"/v2/tags", `{"name":"kept"}`)
	require.Equal(t, http.StatusCreated, do(t, req).status)
	require.Zero(t, stop())

	url, stop = startSimulate(t, state)
	answer := do(t, request(t, http.MethodGet, url+"/v2/tags", ""))
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, answer.body, `"kept"`)
	require.Zero(t, stop())
}

func TestSimulateSaysThatItsPortIsTaken(t *testing.T) {
	t.Parallel()
	url, stop := startSimulate(t, "")
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"simulate", "--addr", strings.TrimPrefix(url, "http://")}, io.Discard, &stderr)
	require.Equal(t, 1, code)
	require.Contains(t, stderr.String(), "address already in use")
	require.Zero(t, stop())
}

func TestAnUnknownCommandIsRefused(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"no-such"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), `unknown command "no-such"`)
}

// startSimulate runs the sub-command until stop, which returns its exit code.
func startSimulate(t *testing.T, state string) (url string, stop func() int) {
	t.Helper()
	ports, err := platform.FreePorts(1)
	require.NoError(t, err)
	addr := fmt.Sprintf("127.0.0.1:%d", ports[0])
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"simulate", "--addr", addr, "--state", state}, io.Discard, io.Discard)
	}()
	url = "http://" + addr
	ready := answers(url + "/_simulator/settings")
	require.Eventually(t, func() bool { return ready(ctx) == nil }, 20*time.Second, 10*time.Millisecond)
	return url, func() int {
		cancel()
		return <-code
	}
}

type answer struct {
	status int
	body   string
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer dop_v1_test")
	req.Header.Set("Content-Type", "application/json")
	return req
}

func do(t *testing.T, req *http.Request) answer {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, string(body)}
}
