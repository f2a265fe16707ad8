//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

// lockFile takes an exclusive lock that ends with the process, however that
// ends.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// ownGroup makes the program the head of a process group, so that the time
// limit ends what it started as well.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
