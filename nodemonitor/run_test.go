package nodemonitor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestPathOfATask: a launch by Thrift, its report and the slot's idle notice by
// NATS, the acknowledgement back, and the result forgotten.
func TestPathOfATask(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(nil)
	id := attemptOf(1, 0)
	n.deliver(w.launch(1, 0, id, sleepFor(time.Millisecond)))
	w.await("the report is published", func() bool { return find(w.noticed, sched.Report, id) != nil })
	w.await("the slot is told idle", func() bool {
		return len(w.idles) == 1 && w.idles[0].From.Slot == 1 && w.idles[0].Msg.Seq == 2
	})
	n.until("the result is forgotten", func(o *owner) bool { return keptBy(o) == 0 })

	w.mu.Lock()
	defer w.mu.Unlock()
	r := find(w.noticed, sched.Report, id)
	if r.Msg.Outcome != sched.Done || r.From.Slot != 1 || r.Elapsed < time.Millisecond || r.Started.IsZero() || !r.Finished.After(r.Started) {
		t.Errorf("the report is %s from %v, elapsed %v, %v to %v", sched.Describe(&r.Msg), r.From, r.Elapsed, r.Started, r.Finished)
	}
	if len(w.linked) > 0 {
		t.Errorf("with NATS up the master received by Thrift: %v", kinds(w.linked))
	}
}

// A node monitor has its guard before the first program.
func TestGuardIsStartedWithTheNode(t *testing.T) {
	n := newWorld(t, false).start(func(c *Config) { c.RestartGrace = time.Minute })
	await.Until(t, "the socket of the guard is there", func() bool {
		_, err := os.Lstat(filepath.Join(n.backends.Folder(), "guard.socket"))
		return err == nil
	})
}

// TestHello: how a node describes itself.
func TestHello(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	w.mu.Lock()
	h := w.hellos[0]
	w.mu.Unlock()
	if h.Sender != w.node || h.Group != testGroup || h.Address != n.Addrs().Internal || h.Incarnation <= 0 || h.Sequence != 1 || len(h.Slots) != 2 || h.Slots[1].Slot != 1 {
		t.Errorf("hello is %+v", h)
	}
	w.await("snapshots follow", func() bool { return len(w.snapshots) >= 3 })
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.snapshots {
		if s.Sequence != uint64(i+2) || s.Incarnation != h.Incarnation || len(s.Slots) != 2 || strings.Join(s.Slots[0].Serves, ",") != "" || len(s.Slots[0].Serves) != 1 {
			t.Fatalf("snapshot %d is %+v", i, s)
		}
	}
}

// TestWithoutNATS: everything goes by Thrift, when there is no NATS and when it is
// lost.
func TestWithoutNATS(t *testing.T) {
	for name, lost := range map[string]bool{"none": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, lost)
			n := w.start(nil)
			if lost {
				w.nats.Close()
				n.until("the node has noticed", func(*owner) bool { return !n.notices.conn.Connected() })
			}
			for task := range int32(3) {
				id := attemptOf(1, task)
				n.deliver(w.launch(0, uint64(2*task), id, sleepFor(0)))
				w.await("the report is called in", func() bool { return find(w.reports, sched.Report, id) != nil })
				w.await("the master is told", func() bool {
					free := last(w.linked)
					return free.Msg.Kind == sched.Idle && free.Msg.Seq == uint64(2*task+2)
				})
			}
			n.until("the results are forgotten", func(o *owner) bool { return keptBy(o) == 0 })
		})
	}
}

// TestExec: a process's failure with its reason and the end of its stderr, and
// its output read over the wire.
func TestExec(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, shell("echo to stdout; echo to stderr >&2; exit 3")))
	w.await("the report", func() bool { return find(w.reports, sched.Report, id) != nil })
	w.mu.Lock()
	r := *find(w.reports, sched.Report, id)
	w.mu.Unlock()
	if r.Msg.Outcome != sched.Failed || !strings.Contains(r.Msg.Reason, "status 3") || string(r.Tail) != "to stderr\n" {
		t.Errorf("report %s, tail %q", sched.Describe(&r.Msg), r.Tail)
	}
	latest := id
	latest.Attempt = 0
	for _, c := range []struct {
		attempt      sched.AttemptID
		stream, want string
		problem      string
		offset       int64
	}{
		{attempt: id, stream: "stdout", want: "to stdout\n"},
		{attempt: latest, stream: "stderr", want: "stderr\n", offset: 3},
		{attempt: id, stream: "stdlog", problem: `no output "stdlog"`},
		{attempt: attemptOf(9, 9), stream: "stdout", problem: "no logs"},
	} {
		got, err := n.peer.AttemptLog(context.Background(), wire.AttemptLogRequest{Attempt: c.attempt, Stream: c.stream, Offset: c.offset, Limit: 100})
		if string(got.Data) != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s of %v: %q, %v", c.stream, c.attempt, got.Data, err)
		}
	}
}

// TestKill: a kill ends the running attempt, and nothing else.
func TestKill(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	id, other := attemptOf(1, 0), attemptOf(1, 1)
	n.deliver(w.launch(0, 0, id, shell("exec sleep 1000")), w.launch(1, 0, other, sleepFor(time.Hour)))
	kill := w.launch(0, 0, id, sleepFor(0))
	kill.Msg.Kind, kill.Payloads = sched.Kill, nil
	n.deliver(kill)
	w.await("the report", func() bool { return find(w.reports, sched.Report, id) != nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := find(w.reports, sched.Report, id); r.Msg.Outcome != sched.Killed {
		t.Errorf("report %s", sched.Describe(&r.Msg))
	}
	if find(w.reports, sched.Report, other) != nil {
		t.Error("the other task ended as well")
	}
}

// TestStop: a node that stops withdraws its slots, kills running attempts, and reports
// them lost, so that their tasks are tried elsewhere at once.
func TestStop(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(nil)
	ids := []sched.AttemptID{attemptOf(1, 0), attemptOf(1, 1)}
	n.deliver(w.launch(0, 0, ids[0], sleepFor(time.Hour)), w.launch(1, 0, ids[1], shell("exec sleep 1000")))
	n.until("both run", func(o *owner) bool { return started(o) == 2 })
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.snapshots[len(w.snapshots)-1]; len(last.Slots) != 0 {
		t.Errorf("the last snapshot has %d slots, want none", len(last.Slots))
	}
	for _, id := range ids {
		r := find(slices.Concat(w.noticed, w.reports), sched.Report, id)
		if r == nil || r.Msg.Outcome != sched.Yielded || r.Msg.Reason != "node n1 stopped" {
			t.Errorf("attempt %v was reported as %v", id, r)
		}
	}
	if len(w.idles) > 0 {
		t.Errorf("a node that stops requested work: %v", kinds(w.idles))
	}
}

// TestStopTakesTheGrace: a node that stops sends heartbeats until its tasks have ended, which may take their whole
// grace: a master that receives none counts the node, and what runs there, as lost.
func TestStopTakesTheGrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.Grace = time.Second })
	id, deaf := attemptOf(1, 0), filepath.Join(t.TempDir(), "deaf")
	n.deliver(w.launch(0, 0, id, shell("trap '' TERM; : > "+deaf+"; while :; do sleep 0.01; done")))
	await.Until(t, "it ignores SIGTERM", func() bool { _, err := os.Stat(deaf); return err == nil })
	w.mu.Lock()
	before := len(w.snapshots)
	w.mu.Unlock()
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	running, stops := 0, false // the first snapshots may be of before the stop
	for i, s := range w.snapshots[before:] {
		if stops && !(s.Draining && s.StopsWhenEmpty) {
			t.Errorf("snapshot %d does not say any more that the node takes nothing new", i)
		}
		stops = s.Draining && s.StopsWhenEmpty
		if stops && len(s.Slots) == 2 && s.Slots[0].Running == id {
			running++
		}
	}
	if running < 2 {
		t.Errorf("%d of %d snapshots that were sent meanwhile list it", running, len(w.snapshots)-before)
	}
	if last := w.snapshots[len(w.snapshots)-1]; !last.Stopping || len(last.Slots) != 0 {
		t.Errorf("the last snapshot is %+v", last)
	}
	if r := find(w.reports, sched.Report, id); r == nil || r.Msg.Outcome != sched.Yielded {
		t.Errorf("it was reported as %v", r)
	}
}

// TestRunTwice: Run works once, Close is safe at any time.
func TestRunTwice(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	if err := n.Run(context.Background()); err == nil {
		t.Error("a second Run did not fail")
	}
	if err := n.Close(); err != nil {
		t.Errorf("Close while it runs: %v", err)
	}
	never, err := New(w.config(func(c *Config) { c.ID = "n2" }), Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := never.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}
