package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// BuildTool builds a Go program from its module into binDir, once: a finished
// program is kept, an interrupted build leaves nothing, and of two builders at the
// same time one waits for the other.
func BuildTool(ctx context.Context, say Say, binDir, name, target string) (string, error) {
	binDir, err := filepath.Abs(binDir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return "", err
	}
	final := filepath.Join(binDir, name)
	if isProgram(final) {
		return final, nil
	}
	unlock, err := waitLock(ctx, say, final+".lock", "another build of "+name)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(final) {
		return final, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("%s is neither in PATH nor in %s, and there is no go command to build it with", name, binDir)
	}
	work, err := os.MkdirTemp(binDir, ".build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	env := append(os.Environ(), "GOBIN="+work)
	what := fmt.Sprintf("building %s (go install %s), once", name, target)
	if err := runLong(ctx, say, what, env, work, "go", "install", target); err != nil {
		return "", err
	}
	return final, os.Rename(filepath.Join(work, name), final)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// waitLock takes the lock, waiting for whoever holds it.
func waitLock(ctx context.Context, say Say, path, holder string) (func(), error) {
	for told := false; ; told = true {
		unlock, err := Lock(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if !told {
			say("waiting for %s", holder)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// progressEvery is how often a long command shows that it goes on.
const progressEvery = 5 * time.Second

// runLong runs a command that may take minutes and says every few seconds how
// long it has run. The error carries the end of its output.
func runLong(ctx context.Context, say Say, what string, env []string, dir, path string, args ...string) error {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr, syscall.SIGTERM)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	say("%s", what)
	started := time.Now()
	if err := startOnLastingThread(cmd); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", what, err, lastBytes(output.Bytes(), 2000))
			}
			say("%s: done in %s", what, time.Since(started).Round(time.Second))
			return nil
		case <-tick.C:
			say("  ... %s so far", time.Since(started).Round(time.Second))
		}
	}
}

func lastBytes(data []byte, n int) []byte { return data[max(0, len(data)-n):] }
