package nodemonitor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// docs/design.md, section 2, rule 4: "The worker core refuses it on a busy slot, with
// an old epoch or sequence number, or when a long task meets a reserved slot. It
// treats a repetition of the running attempt as accepted." A refusal is sent by
// Thrift, followed by the idle notice of a free slot.
func TestLaunchIsRefused(t *testing.T) {
	t.Parallel()
	runs := attemptOf(1, 0)
	for name, c := range map[string]struct {
		slot   int32
		change func(*wire.Item)
		reason string // of the refusal; "" for none
		why    string // its label in the metrics
		idle   bool   // the slot is offered again
	}{
		"again":           {slot: 0, change: func(it *wire.Item) { it.Msg.Job, it.Msg.First = runs.Job, runs.Task }},
		"busy":            {slot: 0, change: func(it *wire.Item) { it.Msg.Seq = 1 }, reason: "busy", why: "busy"},
		"busy, old epoch": {slot: 0, change: func(it *wire.Item) { it.Msg.Epoch = 4 }, reason: "epoch is over", why: "epoch"},
		"free, old epoch": {slot: 1, change: func(it *wire.Item) { it.Msg.Epoch = 4 }, reason: "epoch is over", why: "epoch"},
		"wrong number":    {slot: 1, change: func(it *wire.Item) { it.Msg.Seq = 7 }, reason: "has changed", why: "outdated", idle: true},
		"long, reserved":  {slot: 2, change: func(it *wire.Item) { it.Msg.Class = sched.Long }, reason: "reserved", why: "reserved", idle: true},
		"no such slot":    {slot: 9, reason: `node "n1" has no slot 9`, why: "node"},
		"no frontend":     {slot: 1, change: func(it *wire.Item) { it.Msg.Distributor = sched.Addr{} }, reason: "no frontend to report to", why: "node", idle: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			n := w.start(func(c *Config) { c.Slots = 3 })
			reserve := w.launch(2, 0, sched.AttemptID{}, sleepFor(0))
			reserve.Msg = sched.Message{Kind: sched.SetReserved, Reserved: true, Epoch: 5, Seq: 1}
			reserve.Extra = wire.Extra{}
			n.deliver(reserve, w.launch(0, 0, runs, sleepFor(time.Hour)))

			id := attemptOf(2, 0)
			it := w.launch(c.slot, 0, id, sleepFor(time.Hour))
			if c.change != nil {
				c.change(&it)
			}
			n.deliver(it)
			if c.reason == "" {
				n.look(func(o *owner) {
					if started(o) != 1 {
						t.Errorf("%d run, want 1", started(o))
					}
				})
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.linked) > 0 || len(w.idles) > 0 {
					t.Errorf("the master was sent %v and %v", kinds(w.linked), kinds(w.idles))
				}
				return
			}
			w.await("the refusal", func() bool { return find(w.linked, sched.Refused, id) != nil })
			w.await("the idle notice behind it", func() bool { return !c.idle || last(w.linked).Msg.Kind == sched.Idle })
			w.mu.Lock()
			defer w.mu.Unlock()
			if r := find(w.linked, sched.Refused, id); !strings.Contains(r.Msg.Reason, c.reason) || r.From.Slot != c.slot {
				t.Errorf("refused: %s by %v", sched.Describe(&r.Msg), r.From)
			}
			if len(w.idles) > 0 {
				t.Errorf("an idle notice may overtake the refusal: %v", kinds(w.idles))
			}
			if got := metric(t, n, "launches_refused_total"); got[c.why] != 1 {
				t.Errorf("the metrics count the refusals as %v, want one of %s", got, c.why)
			}
		})
	}
}

// An attempt that was started here is not started again, also when its result was
// acknowledged long ago: the launch is answered by the result Yielded, so that a frontend
// which still waits for the task gives it another number.
func TestAttemptStartsOnce(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	folder := t.TempDir()
	id := attemptOf(1, 0)
	ran := shell("echo >> " + folder + "/ran")
	n.deliver(w.launch(0, 0, id, ran))
	n.until("it has ended and was acknowledged", func(o *owner) bool { return len(w.reportsOf(id)) == 1 && keptBy(o) == 0 })
	n.deliver(w.launch(0, 2, id, ran))
	w.await("the answer to the second launch", func() bool { return find(w.reports[1:], sched.Report, id) != nil })
	if again := w.reportsOf(id)[1]; again.Msg.Outcome != sched.Yielded {
		t.Errorf("the second launch was answered %s", sched.Describe(&again.Msg))
	}
	if data, err := os.ReadFile(folder + "/ran"); err != nil || string(data) != "\n" {
		t.Errorf("it ran %q, %v", data, err)
	}
	if got := metric(t, n, "launches_refused_total"); got["repeated"] != 1 {
		t.Errorf("the metrics count the refusals as %v", got)
	}
	next := id
	next.Attempt++
	n.deliver(w.launch(0, 4, next, ran))
	w.await("the next attempt runs", func() bool { return find(w.reports, sched.Report, next) != nil })
}

// A frontend that has lost its journal, and gets the same job again, launches attempts of numbers that
// the node has had, with other secrets, and believes no result with the secret of its former journal. Each
// launch is answered with its own secret, while the former attempt runs and while its result is kept.
func TestAttemptOfALostJournalIsGivenBack(t *testing.T) {
	for name, work := range map[string]time.Duration{"it runs": time.Hour, "its result is kept": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			n := w.start(func(c *Config) { c.Slots = 4 })
			w.update(func() { w.ack = false })
			id := attemptOf(1, 0)
			for secret := range int64(3) {
				it := w.launch(int32(secret), 0, id, sleepFor(work))
				it.Secret = secret + 1
				n.deliver(it)
				if secret == 0 {
					n.until("it runs or has ended", func(o *owner) bool { return started(o) == 1 || len(w.reportsOf(id)) > 0 })
					if work == 0 {
						w.reported(id)
					}
					continue
				}
				w.await("the answer to the launch", func() bool {
					return slices.ContainsFunc(w.reports, func(r wire.Item) bool {
						return r.Msg.Kind == sched.Report && r.Msg.AttemptID() == id && r.Secret == it.Secret && r.Msg.Outcome == sched.Yielded
					})
				})
			}
		})
	}
}

// reportsOf returns the reports of an attempt by Thrift.
func (w *world) reportsOf(id sched.AttemptID) (list []wire.Item) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.reports {
		if w.reports[i].Msg.AttemptID() == id {
			list = append(list, w.reports[i])
		}
	}
	return list
}

// metric returns the values of a metric by its label reason.
func metric(t *testing.T, n *testNode, name string) map[string]float64 {
	t.Helper()
	_, page := n.get("/metrics")
	values := map[string]float64{}
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "pigeon_nodemonitor_"+name+"{reason="); ok {
			var reason string
			var value float64
			if _, err := fmt.Sscanf(rest, "%q} %g", &reason, &value); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			values[reason] = value
		}
	}
	return values
}

// TestWrongMaster: batches of another group's master, and of a frontend, are refused.
func TestWrongMaster(t *testing.T) {
	w := newWorld(t, false)
	n := w.start(nil)
	for _, sender := range []wire.Ref{addrmap.MasterRef(testGroup + 1), w.frontend, {}} {
		r, err := n.peer.Deliver(context.Background(), &wire.Batch{Sender: sender, Receiver: w.node, Incarnation: 1, Sequence: 1})
		if err != nil || !strings.Contains(r.Problem, "works for master 3, not for") {
			t.Errorf("a batch of %v: %v, %q", sender, err, r.Problem)
		}
	}
	if _, err := n.peer.Hello(context.Background(), &wire.Hello{Sender: w.node}); err == nil || !strings.Contains(err.Error(), "no master") {
		t.Errorf("a hello at a node: %v", err)
	}
	if _, err := n.peer.Reports(context.Background(), &wire.Batch{}); err == nil {
		t.Error("reports at a node were taken")
	}
}
