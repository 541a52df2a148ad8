package nodemonitor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// newPeerWorld returns a world whose master numbers the workers and keeps the membership. Its
// frontend is f1.
func newPeerWorld(t testing.TB) (*world, *front) {
	w := newWorldOf(t, 0, false)
	w.numbering = true
	return w, w.front("f1")
}

// register numbers the slots of a hello and enters the node into the membership. It needs
// the lock.
func (w *world) register(h *wire.Hello, r *wire.HelloReply) {
	for _, s := range h.Slots {
		if s.Number > 0 && w.taken {
			r.Accepted, r.Problem, r.Numbers = false, "worker 0 is another node's", []int32{1}
			return
		}
	}
	for _, s := range h.Slots {
		if s.Number == 0 {
			w.next++
			s.Number = w.next
		}
		r.Numbers = append(r.Numbers, s.Number)
	}
	w.remove(h.Sender.Name)
	w.membership.Nodes = append(w.membership.Nodes, wire.MemberNode{Name: h.Sender.Name, Address: h.Address, Incarnation: h.Incarnation, Numbers: r.Numbers, Memory: h.Memory, Host: h.Host})
}

// remove takes a daemon off the membership, which changes it. It needs the lock.
func (w *world) remove(name string) {
	w.membership.Nodes = slices.DeleteFunc(slices.Clone(w.membership.Nodes), func(n wire.MemberNode) bool { return n.Name == name })
	w.membership.Frontends = slices.DeleteFunc(slices.Clone(w.membership.Frontends), func(f wire.MemberFrontend) bool { return f.Name == name })
	w.membership.Incarnation = w.incarnation
	w.membership.Version++
}

// Membership makes world a source of the membership.
func (w *world) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	enough := time.NewTimer(wait)
	defer enough.Stop()
	for {
		same, changed := w.ask(func() bool { return w.membership.Incarnation == incarnation && w.membership.Version == version })
		if !same {
			break
		}
		select {
		case <-changed:
			continue
		case <-enough.C:
		case <-ctx.Done():
		case <-w.t.Context().Done():
		}
		break
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.membership, nil
}

// front is a frontend to which nodes send messages. Its fields belong to the world's lock.
type front struct {
	w           *world
	ref         wire.Ref
	address     string
	incarnation int64
	sequence    uint64
	got         []wire.Item
}

// front starts a frontend and enters it into the membership.
func (w *world) front(name string) *front {
	f := &front{w: w, ref: wire.Ref{Role: sched.Distributor, Name: name}, incarnation: 7000}
	s := servertest.Start(w.t, wire.PeerProcessor(wire.PeerPorts{Reports: w, Batches: f}, w.codec), server.Options{Name: name, Security: servertest.Anybody()})
	f.address = s.Addr().String()
	w.update(f.register)
	return f
}

// register puts it on the membership. It needs the lock.
func (f *front) register() {
	f.w.remove(f.ref.Name)
	f.w.membership.Frontends = append(f.w.membership.Frontends, wire.MemberFrontend{Name: f.ref.Name, Address: f.address, Incarnation: f.incarnation})
}

// Deliver keeps the messages of nodes.
func (f *front) Deliver(_ context.Context, b *wire.Batch) (r wire.BatchReply, _ error) {
	f.w.update(func() {
		f.got = append(f.got, b.Items...)
		r = wire.BatchReply{Incarnation: f.incarnation, Sequence: b.Sequence}
	})
	return r, nil
}

// deliver delivers one message to a worker of the node, as a link does: until there is
// room.
func (f *front) deliver(n *testNode, slot int32, m sched.Message, extra wire.Extra) {
	f.w.t.Helper()
	await.Until(f.w.t, "the node has room for "+sched.Describe(&m), func() bool {
		err := f.try(n, slot, m, extra)
		if refused, ok := errors.AsType[*api.Error](err); err != nil && (!ok || refused.Problem != api.Busy) {
			f.w.t.Fatalf("the node did not accept %s: %v", sched.Describe(&m), err)
		}
		return err == nil
	})
}

func (f *front) try(n *testNode, slot int32, m sched.Message, extra wire.Extra) error {
	f.w.mu.Lock()
	f.sequence++
	to := n.ref
	to.Slot = slot
	b := &wire.Batch{
		Sender: f.ref, Receiver: n.ref, Address: f.address, Incarnation: f.incarnation, Sequence: f.sequence,
		Items: []wire.Item{{From: f.ref, To: to, Msg: m, Extra: extra}},
	}
	f.w.mu.Unlock()
	r, err := n.peer.Deliver(context.Background(), b)
	if err == nil && r.Problem != "" {
		err = errors.New(r.Problem)
	}
	return err
}

// probe sends a reservation for a job, named by a number.
func (f *front) probe(n *testNode, slot int32, job uint64, change ...func(*sched.Message)) {
	f.w.t.Helper()
	m := sched.Message{Kind: sched.Probe, Job: attemptOf(job, 0).Job, Distributor: f.w.names.Addr(f.ref), Count: 1, Attempt: 1, Estimate: sched.Second, Arrival: runloop.NewClock().Now()}
	for _, c := range change {
		c(&m)
	}
	f.deliver(n, slot, m, wire.Extra{})
}

// request waits for the worker's request for a task of a job and returns its number.
func (f *front) request(n *testNode, slot int32, job uint64) uint64 {
	f.w.t.Helper()
	var q *wire.Item
	f.w.await("a request to "+f.ref.Name, func() bool {
		if i := slices.IndexFunc(f.got, func(it wire.Item) bool {
			return it.Msg.Kind == sched.GetTask && it.Msg.Job.Lo == job && it.From.Name == n.ref.Name && it.From.Slot == slot
		}); i >= 0 {
			q = &f.got[i]
		}
		return q != nil
	})
	return q.Msg.Seq
}

// bind answers a request with a task.
func (f *front) bind(n *testNode, slot int32, id sched.AttemptID, seq uint64, p api.Payload) {
	f.w.t.Helper()
	m := sched.Message{Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Seq: seq, Distributor: f.w.names.Addr(f.ref), Estimate: sched.Second}
	f.deliver(n, slot, m, f.w.payload(f.address, id, p))
}

func (w *world) payload(address string, id sched.AttemptID, p api.Payload) wire.Extra {
	return wire.Extra{JobName: "job-" + id.Job.String(), FrontendAddress: address, Payloads: []api.Payload{p}}
}

// assign makes the launch of a central scheduler by which the task waits at the worker.
func (w *world) assign(n *testNode, slot int32, id sched.AttemptID, p api.Payload) wire.Item {
	it := w.launch(slot, 0, id, p)
	it.To.Name, it.Msg.Class, it.Msg.Count, it.Msg.Estimate, it.Msg.Epoch = n.ref.Name, sched.Long, 1, sched.Second, 0
	return it
}

// reported waits for the report of an attempt.
func (w *world) reported(id sched.AttemptID) (r wire.Item) {
	w.t.Helper()
	w.await("the report of "+id.String(), func() bool {
		it := find(w.reports, sched.Report, id)
		if it != nil {
			r = *it
		}
		return it != nil
	})
	return r
}

// under runs nodes of a policy that record, and checks at the test's end that the
// recorded inputs give fresh cores the same actions.
func (w *world) under(policy string, change func(*Config), names ...string) (nodes []*testNode) {
	w.t.Helper()
	for _, name := range names {
		folder := w.t.TempDir()
		c := w.config(func(c *Config) {
			c.ID, c.Policy, c.Record = name, policy, folder
			if change != nil {
				change(c)
			}
		})
		nodes = append(nodes, nil)
		n := &nodes[len(nodes)-1]
		w.t.Cleanup(func() { w.verify(c, *n) })
		*n = w.run(c)
	}
	for _, n := range nodes {
		receive(w.t, n.Ready())
		n.until("it has a membership", func(o *owner) bool { return o.members == nil || o.members.Highest() > 0 })
	}
	return nodes
}

// verify runs after the node has stopped.
func (w *world) verify(c Config, n *testNode) {
	if w.t.Failed() || n == nil {
		return
	}
	if err := n.stop(); err != nil {
		return // reported already
	}
	f, err := os.Open(filepath.Join(c.Record, "node-"+c.ID+".jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	chosen, params, err := c.Configure(0)
	if err != nil {
		w.t.Fatal(err)
	}
	steps, err := runloop.Verify(f, func(a sched.Addr) sched.Core {
		return chosen.NewWorker(sched.WorkerConfig{Self: a, Seed: c.Seed, Params: params, Master: sched.Addr{Role: sched.Master, ID: int32(c.Group)}})
	})
	if err != nil || steps == 0 {
		w.t.Errorf("policy %s, node %s: after %d recorded inputs: %v", c.Policy, c.ID, steps, err)
	}
}

// addUnreachable enters a node of one worker that cannot be reached. It needs the lock.
func (w *world) addUnreachable(name string) { w.addAt(name, "127.0.0.1:1") }

// addAt enters a node of one worker. It needs the lock.
func (w *world) addAt(name, address string) {
	var r wire.HelloReply
	w.register(&wire.Hello{Sender: wire.Ref{Role: sched.Worker, Name: name}, Address: address, Incarnation: 1, Slots: []wire.Slot{{}}}, &r)
}
