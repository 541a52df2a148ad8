package process

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/disk"
)

// An attempt that cannot begin because of the node's disk is given back, and one that cannot by its
// own fault fails.
func TestAttemptOnAFaultyDisk(t *testing.T) {
	n := newNode(t, guard.Options{})
	var faults []string
	n.cfg.Disk = disk.New(disk.Config{
		Probe: func() error { return n.logs.Probe(0) }, Changed: func(fault string) { faults = append(faults, fault) }, Log: slog.New(slog.DiscardHandler),
	})
	if r := n.run(t, task(0, "no-such-program")); r.Outcome != sched.Failed {
		t.Errorf("by its own fault: %+v", r)
	}
	good := n.root + ".good"
	if err := os.Rename(n.root, good); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.root, nil, 0o600); err != nil { // what nobody can write below, root included
		t.Fatal(err)
	}
	if r := n.run(t, task(1, "true")); r.Outcome != sched.Yielded || r.Reason == "" || !r.Started.IsZero() {
		t.Errorf("on a faulty disk: %+v", r)
	}
	if len(faults) != 1 || faults[0] == "" {
		t.Errorf("faults %q are reported before the end is", faults)
	}
	if err := os.Remove(n.root); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(good, n.root); err != nil {
		t.Fatal(err)
	}
	if r := n.run(t, task(2, "true")); r.Outcome != sched.Done {
		t.Errorf("on a good disk again: %+v", r)
	}
}

// A working folder that cannot be made is the node's fault too: the guard finds that, in a process of
// its own.
func TestAttemptThatTheGuardCannotBegin(t *testing.T) {
	n := newNode(t, guard.Options{})
	n.run(t, task(0, "true")) // the folder of the job is there now, and is not looked at for a while
	n.cfg.Disk = disk.New(disk.Config{Probe: func() error { return n.logs.Probe(1 << 62) }, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	if r := n.run(t, task(1, "no-such-program")); r.Outcome != sched.Yielded {
		t.Errorf("%+v", r)
	}
}

// While a slow disk is looked at because of an attempt that could not begin, others begin and end.
func TestSlowDiskKeepsNobodyWaiting(t *testing.T) {
	n := newNode(t, guard.Options{})
	n.run(t, task(0, "true"))
	looked, answer := make(chan struct{}), make(chan struct{})
	n.cfg.Disk = disk.New(disk.Config{
		Probe:   func() error { close(looked); <-answer; return nil },
		Changed: func(string) {}, Patience: await.Limit, Log: slog.New(slog.DiscardHandler),
	})
	refused := n.start(task(1, "no-such-program"))
	<-looked
	if r := n.run(t, task(2, "true")); r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	if len(refused) > 0 {
		t.Errorf("before the disk has answered: %+v", <-refused)
	}
	close(answer)
	if r := <-refused; r.Outcome != sched.Failed || !strings.Contains(r.Reason, "no-such-program") {
		t.Errorf("%+v", r)
	}
}

// A backend that is closed while its disk hangs reports the attempts whose ends are overdue, each once. It waits for
// one that must have ended before another attempt begins.
func TestCloseOnADiskThatHangs(t *testing.T) {
	var pid atomic.Int64
	n := newNode(t, guard.Options{Started: func(p int) { pid.Store(int64(p)) }})
	n.patience = time.Millisecond
	ends := make(chan backend.Result, 3)
	end := func(r backend.Result) { ends <- r }
	alone := task(1, "sleep", "1000")
	alone.Alone = true
	n.Start(task(0, "sleep", "1000"), end)
	n.Start(alone, end)
	n.awaitKnown(t, 0)
	n.awaitKnown(t, 1)
	answer := make(chan struct{})
	n.makeJob = func(sched.AttemptID) error { <-answer; return nil }
	preparing := task(2, "true")
	preparing.ID.Job = sched.NewJobID("f", "another")
	n.Start(preparing, end)
	hang := func(s syscall.Signal) {
		if err := syscall.Kill(int(pid.Load()), s); err != nil {
			t.Error(err)
		}
	}
	hang(syscall.SIGSTOP)
	closed := make(chan struct{})
	go func() { defer close(closed); n.Close() }()
	for _, want := range []sched.AttemptID{preparing.ID, id(0)} {
		if r := <-ends; r.ID != want || r.Outcome != sched.Killed || r.Reason != backend.Stopping {
			t.Errorf("%+v, want the end of %v", r, want)
		}
	}
	select {
	case <-closed:
		t.Error("it did not wait for the one that must have ended")
	default:
	}
	hang(syscall.SIGCONT)
	if r := <-ends; r.ID != id(1) || r.Outcome != sched.Killed {
		t.Errorf("%+v", r)
	}
	<-closed // the preparation still waits for its disk
	n.patience = await.Limit
	n.Close() // it does not wait again
	close(answer)
	n.Close()
	if len(ends) > 0 {
		t.Errorf("also reported: %+v", <-ends)
	}
}

// awaitKnown waits until the guard has reported an attempt.
func (n *node) awaitKnown(t *testing.T, i int) {
	t.Helper()
	await.Until(t, "the guard reports it", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.runs[id(i)] != nil && n.runs[id(i)].known
	}, func() string { return "" })
}

// While the guard hangs with its disk, what has not begun is given back, and is killed when the guard
// goes on. What runs, and what must end before another attempt begins, stays.
func TestAttemptsOfAGuardThatHangs(t *testing.T) {
	var pid atomic.Int64
	n := newNode(t, guard.Options{Started: func(p int) { pid.Store(int64(p)) }})
	ends := make(chan backend.Result, 3)
	end := func(r backend.Result) { ends <- r }
	gate := filepath.Join(t.TempDir(), "gate")
	n.Start(task(0, "sh", "-c", "until [ -e "+gate+" ]; do sleep 0.01; done"), end)
	n.awaitKnown(t, 0)
	hang := func(s syscall.Signal) {
		if err := syscall.Kill(int(pid.Load()), s); err != nil {
			t.Error(err)
		}
	}
	hang(syscall.SIGSTOP)
	defer hang(syscall.SIGCONT)
	left := filepath.Join(t.TempDir(), "left")
	alone := task(2, "true")
	alone.Alone = true
	n.Start(task(1, "sh", "-c", "sleep 1; touch "+left), end)
	n.Start(alone, end)
	n.GiveBackWaiting()
	n.GiveBackWaiting() // each only once
	if r := <-ends; r.ID != id(1) || r.Outcome != sched.Yielded || !strings.Contains(r.Reason, "the disk of node \"n1\" does not answer") {
		t.Errorf("%+v", r)
	}
	hang(syscall.SIGCONT)
	if r := <-ends; r.ID != id(2) || r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-ends; r.ID != id(0) || r.Outcome != sched.Done {
		t.Errorf("%+v", r)
	}
	n.Close()
	if len(ends) > 0 {
		t.Errorf("also reported: %+v", <-ends)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the attempt that was given back ran to its end")
	}
}
