package process

import (
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// An attempt for which the node has no open file, process or memory left is lost, which is no failure of its task.
func TestShortage(t *testing.T) {
	var pid atomic.Int64
	n := newNode(t, guard.Options{Started: func(p int) { pid.Store(int64(p)) }})
	n.run(t, task(0, "true"))
	var usual unix.Rlimit
	limit := func(to, from *unix.Rlimit) {
		t.Helper()
		if err := unix.Prlimit(int(pid.Load()), unix.RLIMIT_NOFILE, to, from); err != nil {
			t.Fatal(err)
		}
	}
	limit(nil, &usual)
	limit(&unix.Rlimit{Cur: 3, Max: usual.Max}, nil)
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Lost || !strings.Contains(r.Reason, "raise the node's limits") || !r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
	limit(&usual, nil)
	if r := n.run(t, task(2, "true")); r.Outcome != sched.Done {
		t.Errorf("with open files again: %+v", r)
	}
}

// So is one that would be more processes than the node runs at a time.
func TestMoreThanMaxProcesses(t *testing.T) {
	n := newNode(t, guard.Options{MaxRunning: 1})
	first := n.start(task(0, "sleep", "1000"))
	n.awaitKnown(t, 0)
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Lost || !strings.Contains(r.Reason, "the limit is 1") || !strings.Contains(r.Reason, "raise the node's max_processes") {
		t.Errorf("%+v", r)
	}
	n.Kill(id(0))
	<-first
	if r := n.run(t, task(2, "true")); r.Outcome != sched.Done {
		t.Errorf("with room again: %+v", r)
	}
}
