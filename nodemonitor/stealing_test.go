package nodemonitor

import (
	"context"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// shortQueues makes a probe by which no queue is too long.
func shortQueues(m *sched.Message) {
	m.More = &sched.More{Threshold: sched.Second * 1000, Load: sched.Load{Queued: 1000, Work: 1_000_000 * sched.Second}}
}

// longQueues makes a probe by which every queue is.
func longQueues(m *sched.Message) { m.More = &sched.More{Threshold: sched.Second * 1000} }

// TestRotation: a reservation that is too much for a worker moves along the ring, from
// node to node and within a node, and is acknowledged; the worker that holds it requests
// its task.
func TestRotation(t *testing.T) {
	for name, nodes := range map[string][]string{"two nodes": {"n1", "n2"}, "one node": {"n1"}} {
		t.Run(name, func(t *testing.T) {
			w, f := newPeerWorld(t)
			slots := 2 / len(nodes)
			list := w.under("peacock:interval=5ms", func(c *Config) { c.Slots = slots }, nodes...)
			first, next := list[0], list[len(list)-1]
			idle := int32(slots - 1)
			for _, n := range list {
				n.until("it knows both workers", func(o *owner) bool { return len(o.members.Known()) == 2 })
			}
			// The first worker runs one and one waits; the third overtakes that one, which
			// then exceeds the worker's share.
			f.probe(first, 0, 1, shortQueues)
			f.bind(first, 0, attemptOf(1, 0), f.request(first, 0, 1), sleepFor(time.Hour))
			first.until("it runs", func(o *owner) bool { return started(o) == 1 })
			f.probe(first, 0, 2, shortQueues)
			f.probe(first, 0, 3, longQueues)
			id := attemptOf(2, 0)
			f.bind(next, idle, id, f.request(next, idle, 2), sleepFor(0))
			if r := w.reported(id); r.From.Name != next.ref.Name || r.From.Slot != idle {
				t.Errorf("it ran at %v", r.From)
			}
		})
	}
}

// fillQueue makes a slot run task 0 of job 1, and hold two probes, of which that of job
// 2 moves on.
func (f *front) fillQueue(n *testNode) {
	f.w.t.Helper()
	f.probe(n, 0, 1, shortQueues)
	f.bind(n, 0, attemptOf(1, 0), f.request(n, 0, 1), sleepFor(time.Hour))
	n.until("it runs", func(o *owner) bool { return started(o) == 1 })
	f.probe(n, 0, 2, shortQueues)
	f.probe(n, 0, 3, longQueues)
}

// TestSuccessorLost: a reservation in transit to a node that is gone moves on to
// another.
func TestSuccessorLost(t *testing.T) {
	w, f := newPeerWorld(t)
	// A node that is on the membership and does not answer is the first one's successor.
	list := w.under("peacock:interval=5ms", func(c *Config) { c.Slots = 1 }, "n1")
	w.update(func() {
		w.addUnreachable("ghost")
	})
	list = append(list, w.under("peacock:interval=5ms", func(c *Config) { c.Slots = 1 }, "n3")...)
	first, other := list[0], list[1]
	first.until("it knows three workers", func(o *owner) bool { return len(o.members.Known()) == 3 })
	f.fillQueue(first)
	w.update(func() { w.remove("ghost") })
	f.request(other, 0, 2)
}

// refusing is a node that refuses all messages.
type refusing struct{}

func (refusing) Deliver(context.Context, *wire.Batch) (wire.BatchReply, error) {
	return wire.BatchReply{Incarnation: 1, Problem: "it takes nothing"}, nil
}

// TestSuccessorRefuses: a reservation that a node on the membership will never take
// moves on to the next one.
func TestSuccessorRefuses(t *testing.T) {
	t.Parallel()
	w, f := newPeerWorld(t)
	list := w.under("peacock:interval=5ms", func(c *Config) { c.Slots = 1 }, "n1")
	s := servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Batches: refusing{}}, w.codec), server.Options{Name: "refusing", Security: servertest.Anybody()})
	w.update(func() {
		w.addAt("refusing", s.Addr().String())
	})
	list = append(list, w.under("peacock:interval=5ms", func(c *Config) { c.Slots = 1 }, "n3")...)
	first, other := list[0], list[1]
	first.until("it knows three workers", func(o *owner) bool { return o.members.Highest() == 3 })
	f.fillQueue(first)
	f.request(other, 0, 2)
	first.until("it is tried again later", func(o *owner) bool { return len(o.members.Known()) == 3 })
}
