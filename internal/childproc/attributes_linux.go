package childproc

import "syscall"

// attributes make a process the leader of a process group, and have the kernel kill
// it when its parent has ended.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
