package nodemonitor

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
)

// TestResultsAreRepeated: results are sent until the frontend acknowledges them, despite
// NATS without a subscriber and calls that fail.
func TestResultsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, withNATS := range map[string]bool{"NATS": true, "Thrift": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withNATS)
			n := w.start(nil)
			w.update(func() { w.ack, w.down = false, true })
			id := attemptOf(1, 0)
			n.deliver(w.launch(0, 0, id, sleepFor(0)))
			n.until("calls fail", func(o *owner) bool { return len(o.results.Frontends()) == 1 && o.results.Frontends()[0].Failures > 1 })
			w.update(func() { w.down = false })
			w.await("it is reported again and again", func() bool { return len(w.reports) >= 3 })
			n.look(func(o *owner) {
				if keptBy(o) != 1 {
					t.Errorf("%d results are kept, want 1", keptBy(o))
				}
			})
			w.update(func() { w.ack = true })
			n.until("it is forgotten", func(o *owner) bool { return keptBy(o) == 0 })
			for _, r := range w.reports {
				if r.Msg.AttemptID() != id {
					t.Errorf("reported %v", r.Msg.AttemptID())
				}
			}
		})
	}
}

// TestFrontendMoves: a frontend that comes back at another address is found by its
// answer to a notice.
func TestFrontendMoves(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(nil)
	it := w.launch(0, 0, attemptOf(1, 0), sleepFor(0))
	it.FrontendAddress = "127.0.0.1:1" // where no process listens
	w.update(func() { w.ack = false })
	n.deliver(it)
	n.until("calls fail", func(o *owner) bool { return len(o.results.Frontends()) == 1 && o.results.Frontends()[0].Failures > 0 })
	w.update(func() { w.ack = true })
	n.until("it was found by NATS", func(o *owner) bool {
		return keptBy(o) == 0 && o.results.Frontends()[0].Address == w.frontendServer.Addr().String()
	})
}

// docs/design.md, section 2, rule 2: "A node kills attempts of a job that its frontend
// does not know", and forgets its results.
func TestUnknownJob(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.Slots = 3 })
	w.update(func() { w.ack = false })
	ended, runs, other := attemptOf(1, 0), attemptOf(1, 1), attemptOf(2, 0)
	n.deliver(w.launch(0, 0, runs, sleepFor(time.Hour)), w.launch(1, 0, other, sleepFor(time.Hour)), w.launch(2, 0, ended, sleepFor(0)))
	w.await("one has ended", func() bool { return find(w.reports, sched.Report, ended) != nil })
	w.update(func() { w.unknown = []sched.JobID{ended.Job} })
	n.until("the job is gone", func(o *owner) bool {
		return o.results.Find(ended) == nil && started(o) == 1
	})
	n.look(func(o *owner) {
		if o.workers.Describe(false)[1].Running != other {
			t.Error("an attempt of another job was killed")
		}
	})
}

// TestFullOfResults: at the limit launches are refused, and the slots are idle
// again when there is room; no result is lost.
func TestFullOfResults(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Config){
		"number": func(c *Config) { c.MaxResults = 1 },
		"bytes":  func(c *Config) { c.MaxResultBytes = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			n := w.start(set)
			w.update(func() { w.ack = false })
			first, second := attemptOf(1, 0), attemptOf(1, 1)
			n.deliver(w.launch(0, 0, first, shell("echo more than ten bytes >&2; exit 1")))
			w.await("the first has ended", func() bool { return find(w.noticed, sched.Report, first) != nil })
			n.deliver(w.launch(1, 0, second, sleepFor(0)))
			w.await("the second is refused", func() bool {
				r := find(w.linked, sched.Refused, second)
				return r != nil && strings.Contains(r.Msg.Reason, "its limit (max_results")
			})
			n.look(func(o *owner) {
				if o.workers.Describe(false)[1].Seq != 0 {
					t.Error("the slot is offered although there is no room")
				}
			})
			w.update(func() { w.ack = true })
			w.await("the slot is offered again", func() bool {
				free := last(w.linked)
				return free.Msg.Kind == sched.Idle && free.From.Slot == 1 && free.Msg.Seq == 1
			})
			n.deliver(w.launch(1, 1, second, sleepFor(0)))
			w.await("the second runs", func() bool { return find(w.noticed, sched.Report, second) != nil })
		})
	}
}

// TestKnownAttempt: an attempt whose result is kept, or which runs in another
// slot, is not run twice.
func TestKnownAttempt(t *testing.T) {
	w := newWorld(t, true)
	n := w.start(func(c *Config) { c.Slots = 3; c.Heartbeat = time.Minute })
	w.update(func() { w.ack = false })
	kept, runs := attemptOf(1, 0), attemptOf(1, 1)
	n.deliver(w.launch(0, 0, kept, sleepFor(0)), w.launch(1, 0, runs, sleepFor(time.Hour)))
	w.await("one has ended", func() bool { return find(w.noticed, sched.Report, kept) != nil })

	n.deliver(w.launch(2, 0, kept, sleepFor(time.Hour)))
	w.await("its result is told again", func() bool { return len(w.noticed) == 2 })
	n.deliver(w.launch(2, 2, runs, sleepFor(0)))
	w.await("the slot is free again", func() bool {
		free := last(w.idles)
		return free.From.Slot == 2 && free.Msg.Seq == 4
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if again := w.noticed[1]; again.Msg.AttemptID() != kept || again.From.Slot != 0 {
		t.Errorf("sent again: %v", kinds(w.noticed[1:]))
	}
	if find(w.noticed, sched.Report, runs) != nil {
		t.Error("the attempt that runs was reported")
	}
	n.look(func(o *owner) {
		if o.workers.Describe(false)[1].Running != runs {
			t.Error("the attempt does not run in its slot any more")
		}
	})
}

// TestOldResultsAreListed: a snapshot lists the results that do not reach their frontend for
// some seconds, at most 1,000 for a worker, with the number of the rest.
func TestOldResultsAreListed(t *testing.T) {
	const many = 1003
	w := newWorld(t, false)
	n, err := New(w.config(func(c *Config) { c.Slots = 2 }), Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	o := n.owner
	o.results.Mute()
	owner := o.addrs.Addr(w.frontend)
	o.now = sched.Second
	for task := range int32(many) {
		o.results.Keep(owner, results.Result{ID: attemptOf(1, task)})
	}
	o.results.Keep(owner, results.Result{ID: attemptOf(2, 0), Slot: 7}) // of a slot that was removed
	for _, c := range []struct {
		at     sched.Time
		listed bool
		named  int
		more   int32
	}{
		{5 * sched.Second, true, 0, 0},
		{6 * sched.Second, true, 1000, many + 1 - 1000},
		{7 * sched.Second, false, 0, 0}, // that many are not listed each time
		{10 * sched.Second, true, 1000, many + 1 - 1000},
	} {
		o.now = c.at
		s := n.snapshot()
		if s.ListsKept != c.listed || len(s.Slots[0].Kept) != c.named || s.Slots[0].KeptMore != c.more || len(s.Slots[1].Kept) != 0 {
			t.Errorf("after %v: lists %v, %d and %d more at the first slot, %d at the second", c.at, s.ListsKept, len(s.Slots[0].Kept), s.Slots[0].KeptMore, len(s.Slots[1].Kept))
		}
	}
	for task := range int32(many) {
		o.results.Acknowledge(owner, []sched.AttemptID{attemptOf(1, task)}, nil)
	}
	o.now = 15 * sched.Second
	if s := n.snapshot(); !s.ListsKept || len(s.Slots[0].Kept) != 1 || s.Slots[0].Kept[0] != attemptOf(2, 0) || s.Slots[0].KeptMore != 0 {
		t.Errorf("of one that is left is listed %v", s.Slots[0].Kept)
	}
}
