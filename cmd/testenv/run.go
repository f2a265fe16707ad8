package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/mattn/go-isatty"
)

// exitUsage, exitServers and exitNotFound are the codes that are not the
// command's own.
const (
	exitUsage    = 2
	exitServers  = 125
	exitNotFound = 127
)

// run starts the servers, runs the command with its signals passed on, and
// returns its exit code.
func run(args []string, signals <-chan os.Signal, stderr io.Writer) int {
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "testenv: "+format+"\n", args...) }
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		say("usage: testenv -- COMMAND [ARGUMENT...]")
		return exitUsage
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupted := make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(interrupted)
		select {
		case <-signals:
			cancel()
		case <-started:
		}
	}()
	servers, err := startServers(ctx, say)
	close(started)
	<-interrupted
	defer servers.stop()
	switch {
	case ctx.Err() != nil:
		return 128 + int(syscall.SIGINT)
	case err != nil:
		say("%v", err)
		return exitServers
	}
	return command(args, servers.environment(), signals, say)
}

// command runs the command in a process group of its own, so that a signal
// reaches all of its descendants (the test binaries under go test). With a
// terminal it stays in ours: the terminal does the same, and it may read from it.
func command(args, env []string, signals <-chan os.Signal, say func(string, ...any)) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	terminal := isatty.IsTerminal(os.Stdin.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !terminal}
	if err := cmd.Start(); err != nil {
		say("%v", err)
		return exitNotFound
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			target := -cmd.Process.Pid
			if terminal {
				target = cmd.Process.Pid
			}
			if number, ok := sig.(syscall.Signal); ok {
				_ = syscall.Kill(target, number)
			}
		case err := <-ended:
			return exitCode(err, say)
		}
	}
}

// exitCode is the code of an ended command; the shell's 128+n for a signal.
func exitCode(err error, say func(string, ...any)) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		say("%v", err)
		return exitServers
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
