//go:build !linux

package platform

import "syscall"

// dieWithParent does nothing: only Linux has it. Children left by a killed
// supervisor are ended at its next start.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
