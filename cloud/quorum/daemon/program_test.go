//go:build unix

package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func shell(t *testing.T, limit time.Duration, script string) Executor {
	t.Helper()
	out, err := Executors(map[string]Kind{testKind: {Executor: ExecutorExec, Program: []string{"/bin/sh", "-c", script}, TimeLimit: Duration(limit)}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return out[testKind]
}

func testJob() Job {
	leaf := quorum.Leaf{Subject: "crs_1; rm -rf $HOME", Kind: testKind}
	return Job{BatchID: "cmb_1", Leaf: leaf, LeafHash: leaf.Hash(), Index: 4, Approvers: []string{"alice", "bob"}, Payload: []byte("the payload")}
}

func TestProgramGetsPayloadAndContext(t *testing.T) {
	t.Setenv("DAEMON_SECRET", "s3cret")
	out, err := shell(t, time.Minute, `cat; echo "|$QUORUM_SUBJECT|$QUORUM_KIND|$QUORUM_BATCH_ID|$QUORUM_INDEX|$QUORUM_APPROVERS|$QUORUM_LEAF|$DAEMON_SECRET"`).Execute(t.Context(), testJob())
	require.NoError(t, err)
	require.Equal(t, "the payload|crs_1; rm -rf $HOME|resource.delete|cmb_1|4|alice,bob|"+testJob().LeafHash.String()+"|\n", out)
}

func TestProgramFails(t *testing.T) {
	out, err := shell(t, time.Minute, `echo why >&2; exit 3`).Execute(t.Context(), testJob())
	require.ErrorContains(t, err, "exit status 3")
	require.Equal(t, "why\n", out)
	_, err = program{args: []string{"/no/such/program"}, limit: time.Minute}.Execute(t.Context(), testJob())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestProgramOutputIsCut(t *testing.T) {
	out, err := shell(t, time.Minute, `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; printf '\377end'`).Execute(t.Context(), testJob())
	require.NoError(t, err)
	require.LessOrEqual(t, len(out), outputLimit+2)
	require.True(t, strings.HasSuffix(out, "line 2999\n\uFFFDend"))
}

func TestTimeLimitEndsTheWholeGroup(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	_, err := shell(t, 500*time.Millisecond, fmt.Sprintf(`sleep 600 & echo $! > %s; wait`, pid)).Execute(t.Context(), testJob())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(pid)
		if err != nil {
			return false
		}
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(data)) + "/stat")
		return os.IsNotExist(err) || strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, 10*time.Millisecond, "the grandchild is gone")
}

func TestProgramMayLeaveAChild(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	_, err := shell(t, time.Minute, fmt.Sprintf(`sleep 4 & echo $! > %s`, pid)).Execute(t.Context(), testJob())
	require.NoError(t, err, "exit status 0 is success")
}

func TestTimeLimitIsAnInterruption(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Executors = map[string]Executor{testKind: shell(t, 200*time.Millisecond, `sleep 600`)}
	})
	a, err := r.Do(t.Context(), r.batch(t, 2)[0])
	require.NoError(t, err)
	require.Equal(t, quorum.OutcomeInterrupted, a.Outcome)
	require.Equal(t, "ended by its time limit", a.Message)
}
