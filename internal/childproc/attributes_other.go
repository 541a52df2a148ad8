//go:build !linux

package childproc

import "syscall"

// attributes make a process the leader of a process group. Here it does not end with
// its parent: a program that is killed leaves its processes behind.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
