//go:build !linux

package natsservertest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
