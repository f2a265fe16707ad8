package platform

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process says how one child is started and where its traces go.
type Process struct {
	// Name is the word for it in messages.
	Name string
	// Path and Args are the program and its arguments.
	Path string
	Args []string
	// Telling is how many of the first arguments tell this child from others of
	// the same program, and stay the same at its next start; 0 is 1.
	Telling int
	// Env is the whole environment; nil is this program's.
	Env []string
	// Dir is the working directory; empty is this program's.
	Dir string
	// User is who it runs as; nil is whoever runs this program.
	User *User
	// StopSignal asks it to end in order; 0 is SIGTERM.
	StopSignal syscall.Signal
	// Grace is how long an ordered end may take before SIGKILL; 0 is 10 s.
	Grace time.Duration
	// LogPath is the file its output is added to; empty discards it.
	LogPath string
	// PIDPath is the file that holds its process id while it runs; empty is none.
	PIDPath string
}

// Running is a started Process.
type Running struct {
	process Process
	cmd     *exec.Cmd
	done    chan struct{}
	err     error
}

// maxLogBytes is the size above which a log is set aside as NAME.log.1 when its
// process starts.
const maxLogBytes = 16 << 20

// Start starts the process. The caller must Stop it, or wait for Done.
func (p Process) Start() (*Running, error) {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env, cmd.Dir = p.Env, p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.User != nil {
		cmd.SysProcAttr.Credential = p.User.credential()
	}
	dieWithParent(cmd.SysProcAttr, p.stopSignal())
	if p.LogPath != "" {
		log, err := openLog(p.LogPath)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := startOnLastingThread(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Name, err)
	}
	r := &Running{process: p, cmd: cmd, done: make(chan struct{})}
	if p.PIDPath != "" {
		if err := writeFileAtomic(p.PIDPath, strconv.Itoa(cmd.Process.Pid)+"\n"); err != nil {
			go r.wait()
			r.Stop()
			return nil, err
		}
	}
	go r.wait()
	return r, nil
}

// PID is the id of the process.
func (r *Running) PID() int { return r.cmd.Process.Pid }

// Done is closed when the process has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Err says how the process ended, once Done is closed; nil is exit code 0.
func (r *Running) Err() error { return r.err }

// Stop asks the process to end, kills it and its descendants when it takes
// longer than its Grace, and returns when it has ended.
func (r *Running) Stop() {
	_ = r.cmd.Process.Signal(r.process.stopSignal())
	select {
	case <-r.done:
	case <-time.After(r.process.grace()):
		_ = syscall.Kill(-r.PID(), syscall.SIGKILL)
		<-r.done
	}
}

func (r *Running) wait() {
	r.err = r.cmd.Wait()
	if path := r.process.PIDPath; path != "" && readPID(path) == r.PID() {
		_ = os.Remove(path)
	}
	close(r.done)
}

func (p Process) stopSignal() syscall.Signal {
	if p.StopSignal == 0 {
		return syscall.SIGTERM
	}
	return p.StopSignal
}

func (p Process) grace() time.Duration {
	if p.Grace == 0 {
		return 10 * time.Second
	}
	return p.Grace
}

// lastingThread runs functions on one operating-system thread that lives as long
// as this program. Linux sends the parent-death signal when the thread that
// forked ends, not the process.
var lastingThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func startOnLastingThread(cmd *exec.Cmd) error {
	started := make(chan error)
	lastingThread() <- func() { started <- cmd.Start() }
	return <-started
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func writeFileAtomic(path, text string) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// readPID is the process id that a pid file holds, 0 when there is none.
func readPID(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid < 2 {
		return 0
	}
	return pid
}

// Tail is the last lines of a file, indented for a message; empty when it cannot
// be read.
func Tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	return "    " + strings.Join(all, "\n    ")
}

// died describes the end of a process that should have gone on, with the last
// lines of its log.
func (r *Running) died() error {
	how := "exit status 0"
	if r.err != nil {
		how = r.err.Error()
	}
	text := fmt.Sprintf("%s ended by itself: %s", r.process.Name, how)
	if r.process.LogPath != "" {
		path := r.process.LogPath
		if tail := Tail(path, 12); strings.TrimSpace(tail) != "" {
			text += fmt.Sprintf("; the end of %s:\n%s", shortPath(path), tail)
		}
	}
	return errors.New(text)
}

// shortPath is the path from the working directory where that is shorter.
func shortPath(path string) string {
	cwd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
