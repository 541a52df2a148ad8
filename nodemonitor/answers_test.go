package nodemonitor

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestAnswerAppliesToWhatItsCallSent: an answer that comes late does not forget the result
// of a later run of the same attempt, and does not kill an attempt that came after its
// call.
func TestAnswerAppliesToWhatItsCallSent(t *testing.T) {
	id := attemptOf(1, 0)
	for name, late := range map[string]wire.ReportsReply{
		"acknowledged": {Sender: "f1", Acknowledged: []sched.AttemptID{id}},
		"unknown job":  {Sender: "f1", Unknown: []sched.JobID{id.Job}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(func(c *Config) { c.Slots = 3; c.Heartbeat = time.Minute }) // no repeats, and calls may take long
			held := make(chan struct{})
			w.update(func() { w.held, w.answer = held, &late })
			n.deliver(w.launch(0, 0, id, sleepFor(0)))
			w.await("its result is reported", func() bool { return len(w.reports) == 1 })
			w.update(func() { w.held, w.answer = nil, nil })

			// Meanwhile the result was acknowledged by a notice, and the attempt ran again.
			first := w.reports[0]
			if err := n.deliveries.enter(event{kind: acknowledged, batch: &wire.Batch{
				Sender: w.frontend, Acknowledged: []sched.AttemptID{id}, ResultNumbers: []int64{first.ResultNumber},
			}}); err != nil {
				t.Fatal(err)
			}
			n.until("it is forgotten", func(o *owner) bool { return keptBy(o) == 0 })
			runs := attemptOf(1, 1)
			n.deliver(w.launch(1, 0, id, sleepFor(0)), w.launch(2, 0, runs, sleepFor(time.Hour)))
			n.until("it has ended again", func(o *owner) bool { return keptBy(o) == 1 })
			close(held)
			n.until("the answer is handled", func(o *owner) bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.reports) == 2 || keptBy(o) == 0
			})
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.reports) != 2 || w.reports[1].Msg.AttemptID() != id {
				t.Errorf("the second result was forgotten; reported were %v", kinds(w.reports))
			}
			n.look(func(o *owner) {
				if o.workers.Describe(false)[2].Running != runs {
					t.Error("an attempt that came after the call was killed")
				}
			})
		})
	}
}

// TestLateNotice: an acknowledgement by NATS that comes late applies to no later result of
// the attempt; nor does one by another frontend.
func TestLateNotice(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(func(c *Config) { c.Heartbeat = time.Minute })
	w.update(func() { w.ack = false })
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, sleepFor(0)))
	w.await("its result is reported", func() bool { return len(w.reports) == 1 })
	number := w.reports[0].ResultNumber
	acknowledge := func(sender wire.Ref, number int64) {
		if err := n.deliveries.enter(event{kind: acknowledged, batch: &wire.Batch{Sender: sender, Acknowledged: []sched.AttemptID{id}, ResultNumbers: []int64{number}}}); err != nil {
			t.Fatal(err)
		}
	}
	acknowledge(wire.Ref{Role: sched.Distributor, Name: "f2"}, number)
	acknowledge(w.frontend, number-1)
	n.look(func(o *owner) {
		if keptBy(o) != 1 {
			t.Error("an acknowledgement by another frontend, or of an earlier result, was applied")
		}
	})
	acknowledge(w.frontend, number)
	n.look(func(o *owner) {
		if keptBy(o) != 0 {
			t.Error("its own acknowledgement was not applied")
		}
	})
}

// TestAnotherFrontendAtTheAddress: the node does not act on the answer of another frontend,
// which knows none of the jobs.
func TestAnotherFrontendAtTheAddress(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	ended, runs := attemptOf(1, 0), attemptOf(1, 1)
	other := wire.ReportsReply{Sender: "f2", Acknowledged: []sched.AttemptID{ended}, Unknown: []sched.JobID{ended.Job}}
	w.update(func() { w.answer = &other })
	n.deliver(w.launch(1, 0, runs, sleepFor(time.Hour)), w.launch(0, 0, ended, sleepFor(0)))
	n.until("the answer counts as none", func(o *owner) bool {
		f := o.results.Frontends()
		return len(f) == 1 && (f[0].Failures > 0 || f[0].Kept == 0 && len(w.reportsNow()) > 0)
	})
	n.look(func(o *owner) {
		if o.results.Find(ended) == nil || o.workers.Describe(false)[1].Running != runs {
			t.Error("an answer of another frontend was applied")
		}
	})
	w.update(func() { w.answer = nil })
	n.until("its frontend has it", func(o *owner) bool { return keptBy(o) == 0 })
}

// reportsNow returns what was reported by Thrift so far.
func (w *world) reportsNow() []wire.Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reports
}
