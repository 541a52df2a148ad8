package process

import (
	"log/slog"
	"os"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
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
