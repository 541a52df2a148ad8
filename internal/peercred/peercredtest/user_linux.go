// Package peercredtest makes sockets of other users, for tests as root.
package peercredtest

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// Nobody is the number of the user nobody, as which tests open sockets.
const Nobody = 65534

// As runs do with another user's rights: the sockets that it opens are that user's. It skips the
// test where this process may not do so, which takes root.
func As(t testing.TB, uid int, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can open sockets of other users")
	}
	ended := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and its user with it
		unchanged := ^uintptr(0)
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, unchanged, uintptr(uid), unchanged)
		if errno == 0 {
			do()
		}
		ended <- errno
	}()
	if errno := <-ended; errno != 0 {
		t.Fatalf("changing to user %d: %v", uid, errno)
	}
}
