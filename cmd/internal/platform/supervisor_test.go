package platform

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const soon = 20 * time.Second

func TestSupervisorStartsADeadPartAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	supervisor := NewSupervisor(t.Logf)
	t.Cleanup(supervisor.Stop)
	sleeper := shell(dir, "sleeper", "exec sleep 1000")
	require.NoError(t, supervisor.Start(t.Context(), Part{Process: sleeper}))

	first := readPID(sleeper.PIDPath)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		pid := readPID(sleeper.PIDPath)
		return pid != 0 && pid != first
	}, soon, time.Millisecond)
	require.NoError(t, supervisor.Trouble(), "one death is no trouble")

	supervisor.Stop()
	require.NoFileExists(t, sleeper.PIDPath)
}

func TestSupervisorStopsInTheOppositeOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	order := filepath.Join(dir, "order")
	supervisor := NewSupervisor(t.Logf)
	for _, name := range []string{"first", "second", "third"} {
		script := "trap 'echo " + name + " >>" + order + "; exit 0' TERM; touch " + filepath.Join(dir, name) + "; while :; do sleep 0.02; done"
		part := Part{Process: shell(dir, name, script), Ready: exists(filepath.Join(dir, name))}
		require.NoError(t, supervisor.Start(t.Context(), part))
	}
	supervisor.Stop()
	data, err := os.ReadFile(order)
	require.NoError(t, err)
	require.Equal(t, "third\nsecond\nfirst\n", string(data))
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stubborn := shell(dir, "stubborn", "trap '' TERM; touch "+filepath.Join(dir, "deaf")+"; while :; do sleep 0.02; done")
	stubborn.Grace = 50 * time.Millisecond
	supervisor := NewSupervisor(t.Logf)
	require.NoError(t, supervisor.Start(t.Context(), Part{Process: stubborn, Ready: exists(filepath.Join(dir, "deaf"))}))
	pid := readPID(stubborn.PIDPath)
	supervisor.Stop()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestAPartThatEndsBeforeItIsReadyShowsItsLog(t *testing.T) {
	t.Parallel()
	broken := shell(t.TempDir(), "broken", "echo no such database; exit 3")
	never := func(context.Context) error { return errors.New("not yet") }
	err := NewSupervisor(t.Logf).Start(t.Context(), Part{Process: broken, Ready: never})
	require.ErrorContains(t, err, "broken ended by itself: exit status 3")
	require.ErrorContains(t, err, "no such database")
}

func TestAPartThatIsNeverReadyIsStopped(t *testing.T) {
	t.Parallel()
	mute := shell(t.TempDir(), "mute", "exec sleep 1000")
	never := func(context.Context) error { return errors.New("no answer") }
	err := NewSupervisor(t.Logf).Start(t.Context(), Part{Process: mute, Ready: never, Patience: 100 * time.Millisecond})
	require.ErrorContains(t, err, "mute was not ready after 100ms: no answer")
	require.NoFileExists(t, mute.PIDPath)
}

func TestTroubleIsReportedAfterThreeQuickDeaths(t *testing.T) {
	t.Parallel()
	supervisor := NewSupervisor(t.Logf)
	t.Cleanup(supervisor.Stop)
	dying := shell(t.TempDir(), "dying", "echo bad configuration; exit 1")
	require.NoError(t, supervisor.Start(t.Context(), Part{Process: dying}))
	require.Eventually(t, func() bool { return supervisor.Trouble() != nil }, soon, 5*time.Millisecond)
	require.ErrorContains(t, supervisor.Trouble(), "bad configuration")
}

func TestStopLeftoverEndsOnlyItsOwnProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := shell(dir, "left", "exec sleep 1000")
	left.Path, left.Args = "/bin/sleep", []string{"1000"}
	running, err := left.Start()
	require.NoError(t, err)
	t.Cleanup(running.Stop)

	other := left
	other.Args = []string{"2000"}
	require.False(t, other.StopLeftover(), "the number belongs to another process now")
	require.NoError(t, syscall.Kill(running.PID(), 0))

	require.NoError(t, writeFileAtomic(left.PIDPath, strconv.Itoa(running.PID())))
	require.True(t, left.StopLeftover())
	<-running.Done()
	require.False(t, left.StopLeftover(), "a second time")
}

// TestChildrenDieWithAKilledSupervisor runs a supervisor in another process and
// kills it.
func TestChildrenDieWithAKilledSupervisor(t *testing.T) {
	if dir := os.Getenv("PLATFORM_TEST_SUPERVISE"); dir != "" {
		_ = NewSupervisor(t.Logf).Start(context.Background(), Part{Process: shell(dir, "orphan", "exec sleep 1000")})
		select {}
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux ends the children of a killed process")
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildrenDieWithAKilledSupervisor$")
	cmd.Env = append(os.Environ(), "PLATFORM_TEST_SUPERVISE="+dir)
	require.NoError(t, cmd.Start())
	orphan := shell(dir, "orphan", "")
	require.Eventually(t, func() bool { return readPID(orphan.PIDPath) != 0 }, soon, time.Millisecond)
	child := readPID(orphan.PIDPath)
	require.NotEmpty(t, commandLine(child))

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return len(commandLine(child)) == 0 }, soon, time.Millisecond)
}

func TestLockNamesItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(path)
	require.NoError(t, err)
	_, err = Lock(path)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	unlock()
	unlock, err = Lock(path)
	require.NoError(t, err)
	unlock()
}

func TestCheckFreeNamesPortAndVariable(t *testing.T) {
	t.Parallel()
	ports, err := FreePorts(2)
	require.NoError(t, err)
	require.NotEqual(t, ports[0], ports[1])
	addr := "127.0.0.1:" + strconv.Itoa(ports[0])
	require.NoError(t, CheckFree("API", addr, "API_ADDR"))

	taken := holdPort(t)
	err = CheckFree("API", taken, "API_ADDR")
	require.ErrorContains(t, err, taken[strings.Index(taken, ":")+1:])
	require.ErrorContains(t, err, "API_ADDR")
	require.ErrorContains(t, CheckFree("API", "8080", "API_ADDR"), "not host:port")
}

func TestOpenLogSetsALargeOneAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker.log")
	require.NoError(t, os.WriteFile(path, make([]byte, maxLogBytes+1), 0o600))
	log, err := openLog(path)
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.FileExists(t, path+".1")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Zero(t, info.Size())
}

func shell(dir, name, script string) Process {
	return Process{
		Name: name, Path: "/bin/sh", Args: []string{"-c", script},
		LogPath: filepath.Join(dir, name+".log"), PIDPath: filepath.Join(dir, name+".pid"),
	}
}

func exists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}
