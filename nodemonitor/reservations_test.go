package nodemonitor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestLateBinding: a reservation becomes a request, the answer's task runs with
// its payload, and the next reservation is served; "none" is an answer too. This holds under
// every policy whose workers request tasks.
func TestLateBinding(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"sparrow", "hawk", "eagle", "peacock"} {
		t.Run(policy, func(t *testing.T) {
			w, f := newPeerWorld(t)
			n := w.under(policy, nil, "n1")[0]
			f.probe(n, 1, 1, amongWork)
			f.probe(n, 1, 2, amongWork)
			seq := f.request(n, 1, 1)
			id := attemptOf(1, 4)
			f.bind(n, 1, id, seq, shell("echo bound; exit 3"))
			r := w.reported(id)
			if r.Msg.Outcome != sched.Failed || r.Exit != 3 || r.From.Slot != 1 {
				t.Errorf("report %s from %v, exit %d", sched.Describe(&r.Msg), r.From, r.Exit)
			}
			f.deliver(n, 1, sched.Message{Kind: sched.NoTask, Job: attemptOf(2, 0).Job, Seq: f.request(n, 1, 2)}, wire.Extra{})
			n.until("it rests", func(o *owner) bool {
				return o.workers.Status()[1].Request == nil && o.workers.Attempts() == 0 && started(o) == 0
			})
			w.mu.Lock()
			defer w.mu.Unlock()
			if policy == "sparrow" && len(w.linked) > 0 {
				t.Errorf("the master received %v", kinds(w.linked))
			}
		})
	}
}

// TestLateAnswer: a launch without an open request is returned to its frontend, as
// surely as a result.
func TestLateAnswer(t *testing.T) {
	w, f := newPeerWorld(t)
	n := w.under("sparrow", nil, "n1")[0]
	f.probe(n, 0, 1)
	seq := f.request(n, 0, 1)
	id := attemptOf(1, 0)
	f.bind(n, 0, id, seq+1, sleepFor(0))
	if r := w.reported(id); r.Msg.Outcome != sched.Yielded || r.From.Slot != 0 {
		t.Errorf("it is sent back as %s", sched.Describe(&r.Msg))
	}
	n.look(func(o *owner) {
		if r := o.workers.Status()[0].Request; r == nil || r.Job != id.Job.String() || o.workers.Attempts() != 0 {
			t.Errorf("the request is %+v, %d attempts are here", r, o.workers.Attempts())
		}
	})
	id.Attempt++
	f.bind(n, 0, id, seq, sleepFor(0))
	if r := w.reported(id); r.Msg.Outcome != sched.Done {
		t.Errorf("the requested task ended as %s", sched.Describe(&r.Msg))
	}
}

// amongWork makes a probe state much work elsewhere: under Peacock it would go round the ring of a
// cluster without work.
func amongWork(m *sched.Message) {
	m.More = &sched.More{Load: sched.Load{Queued: 1000, Work: 1000 * sched.Second}, Threshold: 1000 * sched.Second}
}

// TestFrontendGone: a worker whose frontend is gone from the membership, or is another
// process now, continues with the next reservation.
func TestFrontendGone(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*world, *front){
		"gone":     func(w *world, f *front) { w.remove(f.ref.Name) },
		"replaced": func(_ *world, f *front) { f.incarnation++; f.register() },
	} {
		for _, policy := range []string{"sparrow", "peacock"} {
			t.Run(name+"/"+policy, func(t *testing.T) {
				w, f := newPeerWorld(t)
				other := w.front("f2")
				n := w.under(policy, nil, "n1")[0]
				f.probe(n, 0, 1)
				f.request(n, 0, 1)
				other.probe(n, 0, 2, amongWork)
				w.update(func() { leave(w, f) })
				id := attemptOf(2, 0)
				other.bind(n, 0, id, other.request(n, 0, 2), sleepFor(0))
				w.reported(id)
			})
		}
	}
}

// TestMissedForAMoment: a frontend that is back on the membership as the same process finds
// its reservations: a master that starts again does not know it at first.
func TestMissedForAMoment(t *testing.T) {
	for _, policy := range []string{"sparrow", "peacock"} {
		t.Run(policy, func(t *testing.T) {
			w, f := newPeerWorld(t)
			n := w.under(policy, func(c *Config) { c.Heartbeat = time.Minute }, "n1")[0]
			f.probe(n, 0, 1, amongWork)
			seq := f.request(n, 0, 1)
			f.probe(n, 0, 2, amongWork)
			w.update(func() { w.remove(f.ref.Name) })
			n.until("it is missed", func(o *owner) bool { return missing(o) })
			w.update(f.register)
			n.until("it is back", func(o *owner) bool { return !missing(o) })
			for job := range uint64(2) {
				id := attemptOf(job+1, 0)
				f.bind(n, 0, id, seq, sleepFor(0))
				if r := w.reported(id); r.Msg.Outcome != sched.Done {
					t.Errorf("job %d ends as %s", job+1, sched.Describe(&r.Msg))
				}
				if job == 0 {
					seq = f.request(n, 0, 2)
				}
			}
		})
	}
}

// TestGoneBeforeTheRequest: reservations of a frontend that is not there any more are
// skipped.
func TestGoneBeforeTheRequest(t *testing.T) {
	t.Parallel()
	w, f := newPeerWorld(t)
	other := w.front("f2")
	n := w.under("sparrow", nil, "n1")[0]
	other.probe(n, 0, 9)
	seq := other.request(n, 0, 9)
	for job := range uint64(3) {
		f.probe(n, 0, job)
	}
	other.probe(n, 0, 10)
	w.update(func() { w.remove(f.ref.Name) })
	n.until("it is off the membership", func(o *owner) bool { return o.members.Sessions().Status(f.ref, f.incarnation) == protocol.Unknown })
	id := attemptOf(9, 0)
	other.bind(n, 0, id, seq, sleepFor(0))
	w.reported(id)
	other.request(n, 0, 10)
	if w.mu.Lock(); len(f.got) > 0 {
		t.Errorf("a frontend that has left received %v", kinds(f.got))
	}
	w.mu.Unlock()
}

// TestUnknownPeers: the messages of a peer that is not on the membership wait until it is,
// those of a superseded process are ignored, those of another master refused.
func TestUnknownPeers(t *testing.T) {
	t.Parallel()
	w, f := newPeerWorld(t)
	n := w.under("sparrow", nil, "n1")[0]
	unlisted := w.front("f2")
	status := func(want protocol.Status) func(*owner) bool {
		return func(o *owner) bool { return o.members.Sessions().Status(unlisted.ref, unlisted.incarnation) == want }
	}
	n.until("f2 is on the membership", status(protocol.Current))
	w.update(func() { w.remove("f2") })
	n.until("f2 is off the membership", status(protocol.Unknown))
	m := sched.Message{Kind: sched.Probe, Job: attemptOf(1, 0).Job, Distributor: w.names.Addr(unlisted.ref), Count: 1, Attempt: 1}
	var busy *api.Error
	if err := unlisted.try(n, 0, m, wire.Extra{}); !errors.As(err, &busy) || busy.Problem != api.Busy || !strings.Contains(err.Error(), "frontend f2 is not on the membership") {
		t.Errorf("a peer off the membership was answered %v", err)
	}
	w.update(unlisted.register)
	unlisted.probe(n, 0, 1)
	unlisted.request(n, 0, 1)

	w.update(func() { f.incarnation++; f.register() })
	n.until("f1 is another process", func(o *owner) bool { return o.members.Sessions().Status(f.ref, f.incarnation) == protocol.Current })
	w.update(func() { f.incarnation-- })
	m.Distributor = w.names.Addr(f.ref)
	if err := f.try(n, 1, m, wire.Extra{}); err != nil {
		t.Errorf("a batch of a replaced process was answered %v", err)
	}
	_, page := n.get("/metrics")
	if !strings.Contains(page, "batches_superseded_total 1\n") {
		t.Error("the batch of a replaced process was not counted")
	}
	w.update(func() { f.incarnation++ })
	f.probe(n, 1, 2)
	f.request(n, 1, 2)
	wrong := front{w: w, ref: wire.Ref{Role: sched.Master, Name: "1"}, incarnation: 1}
	if err := wrong.try(n, 0, m, wire.Extra{}); err == nil || !strings.Contains(err.Error(), "works for master 0, not for master 1") {
		t.Errorf("another master was answered %v", err)
	}
}

// TestKindsOfOthers: kinds that a role does not send are ignored, and so are messages to
// a slot that is not there.
func TestKindsOfOthers(t *testing.T) {
	w, f := newPeerWorld(t)
	n := w.under("sparrow", nil, "n1")[0]
	f.deliver(n, 0, sched.Message{Kind: sched.Steal}, wire.Extra{})
	f.deliver(n, 0, sched.Message{Kind: sched.SetReserved, Reserved: true}, wire.Extra{})
	f.probe(n, 7, 1)
	f.probe(n, 0, 2)
	f.request(n, 0, 2)
	n.until("they are counted", func(*owner) bool {
		_, page := n.get("/metrics")
		return strings.Contains(page, "messages_ignored_total 3\n")
	})
}

// TestNoRoom: while there is no room for results, launches are refused; an
// acknowledgement makes room.
func TestNoRoom(t *testing.T) {
	w, f := newPeerWorld(t)
	n := w.under("sparrow", func(c *Config) { c.MaxResults = 1 }, "n1")[0]
	w.update(func() { w.ack = false })
	f.probe(n, 0, 1)
	f.probe(n, 1, 2)
	first, second := attemptOf(1, 0), attemptOf(2, 0)
	seq := f.request(n, 1, 2)
	f.bind(n, 0, first, f.request(n, 0, 1), sleepFor(0))
	w.reported(first)
	m := sched.Message{Kind: sched.Launch, Job: second.Job, Attempt: 1, Seq: seq, Distributor: w.names.Addr(f.ref)}
	var busy *api.Error
	if err := f.try(n, 1, m, wire.Extra{}); !errors.As(err, &busy) || busy.Problem != api.Busy || !strings.Contains(err.Error(), "max_results 1") {
		t.Errorf("a full node answered %v", err)
	}
	w.update(func() { w.ack = true })
	f.bind(n, 1, second, seq, sleepFor(0))
	w.reported(second)
}

// TestStopWithOpenRequest: a node that stops sends no more requests, and the tasks that ran
// are reported lost.
func TestStopWithOpenRequest(t *testing.T) {
	w, f := newPeerWorld(t)
	n := w.under("sparrow", nil, "n1")[0]
	for job := range uint64(3) {
		f.probe(n, 0, job)
	}
	id := attemptOf(0, 0)
	f.bind(n, 0, id, f.request(n, 0, 0), sleepFor(time.Hour))
	n.until("it runs", func(o *owner) bool { return started(o) == 1 })
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if r := w.reported(id); r.Msg.Outcome != sched.Yielded {
		t.Errorf("report %s", sched.Describe(&r.Msg))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(f.got, func(it wire.Item) bool { return it.Msg.Kind == sched.GetTask && it.Msg.Job.Lo != 0 }); i >= 0 {
		t.Errorf("it sent %v", kinds(f.got))
	}
	if last := w.snapshots[len(w.snapshots)-1]; len(last.Slots) != 0 {
		t.Errorf("the last snapshot has %d slots", len(last.Slots))
	}
}

// TestRequestIsRepeated: a request that a frontend has dropped, because for a moment it
// counted the node as lost, is sent again; if both are answered, the second task is
// returned.
func TestRequestIsRepeated(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"sparrow", "peacock"} {
		t.Run(policy, func(t *testing.T) {
			w, f := newPeerWorld(t)
			n := w.under(policy, nil, "n1")[0]
			f.probe(n, 0, 1)
			seq := f.request(n, 0, 1)
			w.await("the same request, twice again", func() bool {
				asked := 0
				for i := range f.got {
					if m := &f.got[i].Msg; m.Kind == sched.GetTask && m.Job.Lo == 1 && m.Seq == seq {
						asked++
					}
				}
				return asked >= 3
			})
			n.look(func(o *owner) {
				if r := o.workers.Status()[0].Request; r == nil || r.Repeat < 4*4*sched.Time(n.cfg.Heartbeat) {
					t.Errorf("after two repeats the request is %+v", r)
				}
			})
			f.bind(n, 0, attemptOf(1, 0), seq, sleepFor(time.Hour))
			f.bind(n, 0, attemptOf(1, 1), seq, sleepFor(time.Hour))
			if r := w.reported(attemptOf(1, 1)); r.Msg.Outcome != sched.Yielded {
				t.Errorf("the second task is sent back as %s", sched.Describe(&r.Msg))
			}
			n.look(func(o *owner) {
				if r := o.workers.Status()[0].Request; r != nil || started(o) != 1 {
					t.Errorf("the request is %+v, %d attempts run", r, started(o))
				}
			})
		})
	}
}
