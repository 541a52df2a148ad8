package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

// A process that the node is too short to start is lost, unless its own limit of memory may be too low.
func TestNeverBegan(t *testing.T) {
	limited := Limits{Memory: 1 << 20}
	for _, tc := range []struct {
		err    error
		limits Limits
		want   EventKind
	}{
		{syscall.EAGAIN, limited, Lost},
		{fmt.Errorf("pipe: %w", syscall.EMFILE), Limits{}, Lost},
		{syscall.ENFILE, Limits{}, Lost},
		{syscall.ENOMEM, Limits{}, Lost},
		{syscall.ENOMEM, limited, Refused},
		{syscall.ENOENT, Limits{}, Refused},
		{errors.New("no error of the kernel"), Limits{}, Refused},
	} {
		c := &child{spec: &Spec{Limits: tc.limits}}
		if e := c.neverBegan(FaultOf("it could not be started", tc.err)); e.Kind != tc.want || e.Never != (tc.want == Lost) {
			t.Errorf("%v with a limit of %d bytes: %+v", tc.err, tc.limits.Memory, e)
		}
	}
}

// A process whose cgroup cannot be made is lost, whatever the reason: no other process of the node would get one.
func TestNoCgroup(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("pids\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := cgroup.At(root)
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	limits := Limits{Processes: 5, Memory: 1 << 30}
	confined := func(name string) *Fault { _, f := confine(tree, limits, name); return f }
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	short := confined("a")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	for why, f := range map[string]*Fault{"without an open file": short, "without the folder above it": confined("no/folder")} {
		if f == nil {
			t.Errorf("%s: it was made", why)
		} else if e := (&child{spec: &Spec{Limits: limits}}).neverBegan(f); e.Kind != Lost || !e.Never {
			t.Errorf("%s: %+v", why, e)
		}
	}
}
