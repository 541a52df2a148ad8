package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInheritedDescriptors: what was open where the node monitor was started is open neither in the
// guard nor in a process.
func TestInheritedDescriptors(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	fd, err := unix.Open(lock, unix.O_CREAT|unix.O_RDWR, 0o600) // stays open on exec, as that of a shell does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	pids := make(chan int, 1)
	c := New(Options{Started: func(pid int) { pids <- pid }})
	t.Cleanup(func() { c.Close(0) })
	out := filepath.Join(t.TempDir(), "out")
	s := shell(`for f in /proc/self/fd/*; do readlink "$f"; done; cat`)
	s.Stdout, s.Stdin = out, true
	r := start(t, c, s)
	guard := fmt.Sprintf("/proc/%d/fd", <-pids)
	r.pid()
	names, err := readNames(guard)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(filepath.Join(guard, name)); err == nil && to == lock {
			t.Error("the guard has it open")
		}
	}
	c.Feed(r.handle, 0, nil, true)
	r.end()
	if text, err := os.ReadFile(out); err != nil || strings.Contains(string(text), lock) {
		t.Errorf("the process has open: %s (%v)", text, err)
	}
}
