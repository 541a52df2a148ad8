// Package peercredtest makes sockets and files of other users, for tests as root.
package peercredtest

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// Nobody is the number of the user nobody, as which tests open sockets and change files; no account is needed.
const Nobody = 65534

// As runs do with another user's rights: the sockets that it opens and the files that
// it makes are that user's. It skips the test where this process may not do so, which takes root.
func As(t testing.TB, uid int, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
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
