package natsservertest

import "syscall"

// attributes have the kernel kill a server when the test has ended.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
