package platform

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// StopLeftover ends the process that the pid file names, if it is still this
// process from an earlier start, and removes the file. It reports whether there
// was one.
func (p Process) StopLeftover() bool {
	pid := readPID(p.PIDPath)
	if pid == 0 {
		return false
	}
	found := p.stopPID(pid)
	_ = os.Remove(p.PIDPath)
	return found
}

// stopPID ends the process with that id if it is this one, first in order, then
// by force.
func (p Process) stopPID(pid int) bool {
	if !p.is(pid) {
		return false
	}
	_ = syscall.Kill(pid, p.stopSignal())
	deadline := time.Now().Add(p.grace())
	for p.is(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			deadline = time.Now().Add(p.grace())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

// is tells whether the process with that id runs this program with these telling
// arguments. A number is used again by other processes; a zombie has no command
// line and counts as ended.
func (p Process) is(pid int) bool {
	argv := commandLine(pid)
	if len(argv) == 0 || filepath.Base(argv[0]) != filepath.Base(p.Path) {
		return false
	}
	want := p.Args[:min(max(1, p.Telling), len(p.Args))]
	return len(argv) > len(want) && slices.Equal(argv[1:1+len(want)], want)
}

func commandLine(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil {
		return strings.Split(string(bytes.TrimRight(data, "\x00")), "\x00")
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		return nil
	}
	out, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
