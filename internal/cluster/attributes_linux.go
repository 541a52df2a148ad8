package cluster

import "syscall"

// attributes give a process a group of its own, so that the terminal's Ctrl-C
// does not reach it, and have it die with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
