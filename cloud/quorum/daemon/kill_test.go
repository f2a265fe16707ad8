//go:build unix

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// TestMain lets the test binary be the daemon, as a process that can be
// killed: QUORUM_TEST_CONFIG names its file.
func TestMain(m *testing.M) {
	path := os.Getenv("QUORUM_TEST_CONFIG")
	if path == "" {
		os.Exit(m.Run())
	}
	c, err := LoadConfig(path)
	if err == nil {
		err = Run(context.Background(), c, slog.New(slog.DiscardHandler), func(a net.Addr) { fmt.Println(a) })
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process is a daemon of its own over the configuration at path.
type process struct {
	cmd *exec.Cmd
	url string
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "QUORUM_TEST_CONFIG="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.url = "http://" + strings.TrimSpace(line)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// writeConfig makes a daemon's file whose program is script; trace is a file
// that scripts may append to.
func writeConfig(t *testing.T, script string) (path, trace string) {
	t.Helper()
	folder := t.TempDir()
	trace = filepath.Join(folder, "trace")
	c := Config{
		Policy: testPolicy(), Listen: "127.0.0.1:0", Journal: filepath.Join(folder, "journal"),
		Kinds: map[string]Kind{testKind: {Executor: ExecutorExec, Program: []string{"/bin/sh", "-c", fmt.Sprintf("trace=%s\n%s", trace, script)}}},
	}
	data, err := json.Marshal(c)
	require.NoError(t, err)
	path = filepath.Join(folder, "daemon.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path, trace
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(data))
}

// TestKilledDaemonNeverRunsACommandTwice kills a real daemon before, during
// and after the effect of its commands, again and again, while a gateway keeps
// sending all of them. In the end each ran at most once, and each that the
// daemon calls succeeded ran exactly once.
func TestKilledDaemonNeverRunsACommandTwice(t *testing.T) {
	// The command's parent is the daemon: each of the first commands kills it
	// at another moment.
	path, trace := writeConfig(t, `
case $QUORUM_INDEX in
  0) kill -9 $PPID; sleep 0.2; exit 0 ;;
  1) echo $QUORUM_SUBJECT >> $trace; kill -9 $PPID ;;
  2) echo $QUORUM_SUBJECT >> $trace; (sleep 0.01; kill -9 $PPID) & ;;
  *) echo $QUORUM_SUBJECT >> $trace ;;
esac`)
	all := commands(t, "cmb_1", 10, time.Now().Add(time.Hour))
	p := startProcess(t, path)
	answers := map[string]quorum.Answer{}
	for round := 0; len(answers) < len(all); round++ {
		require.Less(t, round, 30, "no end in sight")
		for _, c := range all {
			a, err := quorum.Client{}.Send(t.Context(), p.url, c)
			if err != nil {
				require.Empty(t, quorum.ReasonOf(err))
				p.kill()
				p = startProcess(t, path)
				continue
			}
			answers[c.Leaf.Subject] = a
		}
	}
	require.Equal(t, quorum.OutcomeInterrupted, answers["crs_0"].Outcome)
	require.Equal(t, quorum.OutcomeInterrupted, answers["crs_1"].Outcome)
	ran := map[string]int{}
	for _, subject := range lines(t, trace) {
		ran[subject]++
	}
	for subject, a := range answers {
		require.LessOrEqual(t, ran[subject], 1, subject)
		if a.Outcome == quorum.OutcomeSucceeded {
			require.Equal(t, 1, ran[subject], subject)
		}
	}
	require.Zero(t, ran["crs_0"])
	require.Equal(t, 1, ran["crs_1"], "interrupted does not mean that nothing happened")
}

// TestKillWhileManyRun kills the daemon with several commands in flight.
func TestKillWhileManyRun(t *testing.T) {
	path, trace := writeConfig(t, `echo $$ >> $trace; exec sleep 600`)
	all := commands(t, "cmb_1", 6, time.Now().Add(time.Hour))
	p := startProcess(t, path)
	errs := make(chan error, len(all))
	for _, c := range all {
		go func() {
			_, err := quorum.Client{}.Send(context.Background(), p.url, c)
			errs <- err
		}()
	}
	require.Eventually(t, func() bool { return len(lines(t, trace)) == len(all) }, 20*time.Second, 10*time.Millisecond)
	p.kill()
	for range all {
		require.ErrorIs(t, <-errs, quorum.ErrUnknownOutcome)
	}
	for _, line := range lines(t, trace) { // the programs outlive their daemon
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	p = startProcess(t, path)
	for _, c := range all {
		a, err := quorum.Client{}.Send(t.Context(), p.url, c)
		require.NoError(t, err)
		require.Equal(t, quorum.OutcomeInterrupted, a.Outcome)
		require.True(t, a.Replayed)
	}
	require.Len(t, lines(t, trace), len(all))
}
