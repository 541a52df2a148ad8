package peercredtest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// WithoutDescriptors leaves this process no file descriptor, until restore is called: what opens
// one fails as at its limit of open files. No other test may run meanwhile.
func WithoutDescriptors(t testing.TB) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	lowest, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = uint64(lowest.Fd())
	_ = lowest.Close() // the lowest number that is free
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}
}
