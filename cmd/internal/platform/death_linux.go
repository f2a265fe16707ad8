package platform

import "syscall"

// dieWithParent asks the kernel to signal the child when this program ends,
// SIGKILL included.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
