//go:build !linux

package cluster

import "syscall"

// attributes give a process a group of its own. It does not die with its parent
// here: a killed harness leaves its processes behind.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
