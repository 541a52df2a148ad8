package nodemonitor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// sentToMaster returns what the master got by Thrift of the kind, in order.
func (w *world) sentToMaster(kind sched.Kind) (ids []sched.AttemptID) {
	for i := range w.linked {
		if w.linked[i].Msg.Kind == kind {
			ids = append(ids, w.linked[i].Msg.AttemptID())
		}
	}
	return ids
}

// TestAssigned: tasks of the central scheduler wait at the worker with their payloads,
// the start and the end of each are reported, and one that waits can be killed. Waiting
// tasks are in snapshots.
func TestAssigned(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"hawk", "eagle"} {
		t.Run(policy, func(t *testing.T) {
			w, _ := newPeerWorld(t)
			n := w.under(policy, func(c *Config) { c.Slots = 1 }, "n1")[0]
			var ids []sched.AttemptID
			for task := range int32(4) {
				ids = append(ids, attemptOf(1, task))
			}
			first := w.assign(n, 0, ids[0], sleepFor(time.Hour))
			n.deliver(first, w.assign(n, 0, ids[1], shell("exit 7")), w.assign(n, 0, ids[2], sleepFor(0)), w.assign(n, 0, ids[3], sleepFor(time.Hour)))
			n.deliver(first, w.assign(n, 0, ids[2], sleepFor(0))) // they come again
			w.await("it is told what waits", func() bool {
				s := w.slotReported(0)
				return s.Running == ids[0] && s.Number == 1 && len(s.Held) == 3 && s.Estimate == sched.Second && s.Ran > 0
			})
			w.mu.Lock()
			if h := w.slotReported(0).Held[0]; h.ID != ids[1] || h.Suspended || h.Class != sched.Long || h.Frontend != w.frontend || h.JobName != "job-"+ids[1].Job.String() || h.Estimate != sched.Second {
				t.Errorf("the waiting task is reported as %+v", h)
			}
			w.mu.Unlock()
			kill := first
			kill.Msg.Kind, kill.Msg.First, kill.Extra = sched.Kill, ids[3].Task, wire.Extra{}
			n.deliver(kill)
			n.until("what waited last is forgotten", func(o *owner) bool { return o.workers.Attempts() == 3 })
			kill.Msg.First = ids[0].Task
			n.deliver(kill)
			for i, want := range []struct {
				outcome sched.Outcome
				exit    int
			}{{sched.Killed, 0}, {sched.Failed, 7}, {sched.Done, 0}} {
				if r := w.reported(ids[i]); r.Msg.Outcome != want.outcome || r.Exit != want.exit {
					t.Errorf("report %s, exit %d", sched.Describe(&r.Msg), r.Exit)
				}
			}
			w.await("the ends are told", func() bool { return slices.Equal(w.sentToMaster(sched.Idle), ids[:3]) })
			if w.mu.Lock(); !slices.Equal(w.sentToMaster(sched.Started), ids[:3]) {
				t.Errorf("reported the starts of %v", w.sentToMaster(sched.Started))
			}
			w.mu.Unlock()
			n.until("it rests", func(o *owner) bool { return o.workers.Attempts() == 0 })
		})
	}
}

// TestAssignedIsKnown: an attempt whose result is kept does not run again when a
// new central scheduler assigns it; it is reported as ended and its result sent again.
func TestAssignedIsKnown(t *testing.T) {
	w, _ := newPeerWorld(t)
	n := w.under("hawk", func(c *Config) { c.Slots = 2; c.Heartbeat = time.Minute }, "n1")[0]
	w.update(func() { w.ack = false })
	id := attemptOf(1, 0)
	n.deliver(w.assign(n, 0, id, sleepFor(0)))
	w.reported(id)
	n.deliver(w.assign(n, 1, id, sleepFor(time.Hour)))
	w.await("its end is told twice", func() bool { return len(w.sentToMaster(sched.Idle)) == 2 })
	w.await("its result is told again", func() bool { return len(w.reports) == 2 })
}

// TestStopWithQueue: tasks that wait at the workers of a node that stops are reported
// lost, like running ones.
func TestStopWithQueue(t *testing.T) {
	w, _ := newPeerWorld(t)
	n := w.under("eagle", func(c *Config) { c.Slots = 1 }, "n1")[0]
	var items []wire.Item
	for task := range int32(50) {
		items = append(items, w.assign(n, 0, attemptOf(1, task), sleepFor(time.Hour)))
	}
	n.deliver(items...)
	n.until("they are here", func(o *owner) bool { return o.workers.Attempts() == 50 })
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	for task := range int32(50) {
		if r := w.reported(attemptOf(1, task)); r.Msg.Outcome != sched.Yielded || r.Msg.Reason != "node n1 stopped" {
			t.Errorf("report %s", sched.Describe(&r.Msg))
		}
	}
}

// TestAttemptsAreBounded: a node with as much waiting work as a hello can name accepts
// no more until some has ended.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	w, f := newPeerWorld(t)
	n := w.under("hawk", func(c *Config) { c.Slots = 1; c.Heartbeat = time.Minute }, "n1")[0]
	items := make([]wire.Item, slots.MaxAttempts)
	for i := range items {
		items[i] = w.assign(n, 0, attemptOf(1, int32(i)), sleepFor(time.Hour))
	}
	for some := range slices.Chunk(items, 1000) { // each call has its deadline
		n.deliver(some...)
	}
	n.until("they are here, and deliveries know it", func(o *owner) bool {
		return o.workers.Attempts() == slots.MaxAttempts && o.full.Load().Refuses(sched.Addr{}, true)
	})
	more := w.assign(n, 0, attemptOf(2, 0), sleepFor(0))
	b := &wire.Batch{Sender: w.master, Receiver: n.ref, Incarnation: w.incarnation, Epoch: w.epoch, Sequence: 1 << 40, Items: []wire.Item{more}}
	var busy *api.Error
	if _, err := n.peer.Deliver(t.Context(), b); !errors.As(err, &busy) || busy.Problem != api.Busy || !strings.Contains(err.Error(), "(10000 attempts;") {
		t.Errorf("a launch beyond the bound was answered %v", err)
	}
	f.probe(n, 0, 3) // is no work
	kill := more
	kill.Msg.Kind, kill.Msg.Job, kill.Msg.First, kill.Extra = sched.Kill, attemptOf(1, 0).Job, 5, wire.Extra{}
	n.deliver(kill)
	n.until("there is room, and deliveries know it", func(o *owner) bool {
		return o.workers.Attempts() == slots.MaxAttempts-1 && !o.full.Load().Refuses(sched.Addr{}, true)
	})
	n.deliver(more)
	n.until("it was taken", func(o *owner) bool { return o.workers.Attempts() == slots.MaxAttempts })
}

// TestUnknownJobWaits: nothing of a job that its frontend does not know stays, neither
// running tasks nor waiting ones, and the central scheduler learns of it.
func TestUnknownJobWaits(t *testing.T) {
	t.Parallel()
	w, _ := newPeerWorld(t)
	n := w.under("hawk", func(c *Config) { c.Slots = 1 }, "n1")[0]
	w.update(func() { w.unknown = []sched.JobID{attemptOf(1, 0).Job} })
	n.deliver(
		w.assign(n, 0, attemptOf(1, 2), sleepFor(0)), // its report brings the frontend's answer
		w.assign(n, 0, attemptOf(1, 0), sleepFor(time.Hour)), w.assign(n, 0, attemptOf(1, 1), sleepFor(time.Hour)))
	n.until("nothing is left", func(o *owner) bool { return o.workers.Attempts() == 0 && keptBy(o) == 0 })
	w.await("the central scheduler knows", func() bool {
		ended := w.sentToMaster(sched.Idle)
		return slices.Contains(ended, attemptOf(1, 0)) && slices.Contains(ended, attemptOf(1, 1))
	})
}

// TestRejected: eagle's workers with long work reject reservations, with what the
// launch reported about others.
func TestRejected(t *testing.T) {
	w, f := newPeerWorld(t)
	n := w.under("eagle", nil, "n1")[0]
	it := w.assign(n, 0, attemptOf(1, 0), sleepFor(time.Hour))
	it.Msg.More = &sched.More{Bits: []uint64{5}, Stamp: 9}
	n.deliver(it)
	n.until("it runs", func(o *owner) bool { return started(o) == 1 })
	f.probe(n, 0, 2)
	w.await("it is rejected", func() bool {
		r := last(f.got)
		return r.Msg.Kind == sched.ProbeRejected && r.Msg.Job == attemptOf(2, 0).Job && r.Msg.More != nil && r.Msg.More.Stamp == 9 && slices.Equal(r.Msg.More.Bits, []uint64{5})
	})
	f.probe(n, 0, 3, func(m *sched.Message) { m.Attempt = 3 }) // the third time it is not
	n.until("it waits", func(o *owner) bool { return o.workers.Attempts() == 1 })
}

// TestSteal: an idle worker steals what waits behind long work at a worker of another
// node, or at another one of its own node; the thief requests the tasks of what it
// stole.
func TestSteal(t *testing.T) {
	for name, nodes := range map[string][]string{"two nodes": {"n1", "n2"}, "one node": {"n1"}} {
		t.Run(name, func(t *testing.T) {
			w, f := newPeerWorld(t)
			slots := 2 / len(nodes)
			list := w.under("hawk:reserved=0", func(c *Config) { c.Slots = slots }, nodes...)
			victim, thief := list[0], list[len(list)-1]
			idle := int32(slots - 1)
			for _, n := range list {
				n.until("it knows both workers", func(o *owner) bool { return len(o.members.Known()) == 2 })
			}
			victim.deliver(w.assign(victim, 0, attemptOf(1, 0), sleepFor(time.Hour)))
			victim.until("it is busy", func(o *owner) bool { return started(o) == 1 })
			f.probe(victim, 0, 2)
			f.probe(thief, idle, 3) // to have a turn to idle
			f.deliver(thief, idle, sched.Message{Kind: sched.NoTask, Job: attemptOf(3, 0).Job, Seq: f.request(thief, idle, 3)}, wire.Extra{})
			id := attemptOf(2, 0)
			f.bind(thief, idle, id, f.request(thief, idle, 2), sleepFor(0))
			if r := w.reported(id); r.From.Name != thief.ref.Name || r.From.Slot != idle {
				t.Errorf("it ran at %v", r.From)
			}
		})
	}
}

// TestBackendsOfApplications: under policies whose workers all serve the same they
// cannot register.
func TestBackendsOfApplications(t *testing.T) {
	for _, policy := range []string{"sparrow", "kairos", "fifo"} {
		w, _ := newPeerWorld(t)
		n := w.start(func(c *Config) { c.Policy = policy })
		service := n.backends.Service()
		err := service.Register(t.Context(), "spark", "127.0.0.1:1", 0)
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Problem != api.Invalid || refused.What != "policy "+policy+" runs sleep and exec tasks only" {
			t.Errorf("policy %s: %v", policy, err)
		}
	}
}

// TestOneQueue: fifo and priority are Pigeon's workers under one master: their idle
// notices are by slot.
func TestOneQueue(t *testing.T) {
	for _, policy := range []string{"fifo", "priority"} {
		w := newWorldOf(t, 0, true)
		w.numbering = true
		w.front("f1")
		n := w.under(policy, nil, "n1")[0]
		n.until("the node has reached NATS", func(*owner) bool { return n.notices.conn.Connected() })
		n.until("it is registered", func(o *owner) bool { return epochOf(o) == 5 })
		id := attemptOf(1, 0)
		n.deliver(w.launch(1, 0, id, sleepFor(0)))
		w.await("the slot is told idle", func() bool { return len(w.idles) == 1 && w.idles[0].From.Slot == 1 && w.idles[0].Msg.Seq == 2 })
	}
}
