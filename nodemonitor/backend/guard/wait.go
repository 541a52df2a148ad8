package guard

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pidOffset is where siginfo_t, as waitid fills it, holds the pid: after three
// ints, at the alignment of a pointer.
const pidOffset = 8 + int(unsafe.Sizeof(uintptr(0)))

// endedChild returns a child that has ended and leaves it a zombie, so that its pid, and
// the process group of that number, cannot be reused before the group has been killed. It
// returns 0 when no child has ended.
func endedChild() int {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0
		}
		raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
		return int(int32(binary.NativeEndian.Uint32(raw[pidOffset:])))
	}
}

// reapPid reaps one ended child.
func reapPid(pid int) (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}
