package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// probing is a frontend under sparrow whose job of n tasks has been probed for at
// one node.
func probing(t *testing.T, tasks int, numbers ...int32) (*publisher, *frontOf, *daemontest.Peer) {
	t.Helper()
	k := newPublisher(t)
	f := k.frontend("sparrow")
	n := nodeOfFrontend(t, f, "first")
	k.enters(n, numbers...)
	daemontest.Await(t, "its workers are known", func() bool { return f.Members() == len(numbers) })
	(&world{t: t}).submit(f, sleeps("job", tasks, time.Hour))
	n.AwaitGot(sched.Probe, 2*tasks)
	return k, f, n
}

// The tasks and reservations of a lost node are tried again elsewhere, and no task is lost.
func TestNodeLost(t *testing.T) {
	k, f, n := probing(t, 3, 0, 1)
	deliver(n, f, 1, taskRequest(f, "job", 0, 1))
	n.AwaitGot(sched.Launch, 1)
	other := nodeOfFrontend(t, f, "other")
	k.enters(other, 2)
	daemontest.Await(t, "the other is known", func() bool { return f.Members() == 3 })
	k.leaves(n)
	other.AwaitGot(sched.Probe, 2)
	for seq := range uint64(3) {
		deliver(other, f, seq+1, taskRequest(f, "job", 0, seq+1))
		l := other.AwaitGot(sched.Launch, int(seq)+1)[seq].Msg
		want := int32(1)
		if l.First == 0 {
			want = 2
		}
		if l.Attempt != want {
			t.Errorf("launched %s, want attempt %d", sched.Describe(&l), want)
		}
	}
	sendReport(t, n, f, "job", 0, 1, sched.Done) // the lost one ran to its end after all
	if kill := other.AwaitGot(sched.Kill, 1)[0].Msg; kill.First != 0 || kill.Attempt != 2 {
		t.Errorf("killed is %s", sched.Describe(&kill))
	}
	sendReport(t, other, f, "job", 1, 1, sched.Done)
	sendReport(t, other, f, "job", 2, 1, sched.Done)
	if s := (&world{t: t}).done(f, "job"); s.Attempts != 4 {
		t.Errorf("%+v", s)
	}
}

// A restarted node may have workers with the same numbers. The tasks of its former process
// are lost all the same, and messages of that process are ignored.
func TestNodeRestarted(t *testing.T) {
	k, f, n := probing(t, 1, 0)
	deliver(n, f, 1, taskRequest(f, "job", 0, 1))
	n.AwaitGot(sched.Launch, 1)
	next := nodeOfFrontend(t, f, "first") // with an incarnation of its own
	k.enters(next, 0)
	next.AwaitGot(sched.Probe, 1)
	if !deliver(n, f, 2, taskRequest(f, "job", 0, 9)) {
		t.Error("a batch of the former process is not accepted, so it is repeated forever")
	}
	daemontest.Await(t, "it is ignored", func() bool { return f.Ignored(t) == 1 })
	deliver(next, f, 1, taskRequest(f, "job", 0, 1))
	if l := next.AwaitGot(sched.Launch, 1)[0].Msg; l.Attempt != 2 {
		t.Errorf("launched %s", sched.Describe(&l))
	}
}

// Slots that are added, removed or renumbered do not affect the other slots of their node.
func TestSlotNumbersChange(t *testing.T) {
	t.Parallel()
	k, f, n := probing(t, 2, 5, 6)
	deliver(n, f, 1, taskRequest(f, "job", 0, 1), taskRequest(f, "job", 1, 2))
	n.AwaitGot(sched.Launch, 2)
	probes := len(n.Got(sched.Probe))
	k.enters(n, 5, 9, 7)
	daemontest.Await(t, "its new slots are known", func() bool { return f.Members() == 3 })
	n.AwaitGot(sched.Probe, probes+2)
	if s := f.state(t, "job"); s.Attempts != 3 || s.Running != 1 {
		t.Errorf("one of two slots got another number: %+v", s)
	}
	deliver(n, f, 2, taskRequest(f, "job", 2, 1))
	if l := n.AwaitGot(sched.Launch, 3)[2]; l.To.Slot != 2 || l.Msg.First != 1 || l.Msg.Attempt != 2 {
		t.Errorf("launched %s at slot %d", sched.Describe(&l.Msg), l.To.Slot)
	}
	k.enters(n, 5, -1, 7)
	daemontest.Await(t, "a slot was removed", func() bool { return f.Members() == 2 })
	if s := f.state(t, "job"); s.Attempts != 3 || s.Running != 2 {
		t.Errorf("an idle slot was removed: %+v", s)
	}
	daemontest.Await(t, "the master learns of the highest number there was", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.highest == 10
	})
}

// A peer that is not on the membership yet must retry, and is accepted once it is listed.
func TestUnknownPeer(t *testing.T) {
	k, f, _ := probing(t, 1, 0)
	n := nodeOfFrontend(t, f, "early")
	_, err := n.Master().Deliver(t.Context(), &wire.Batch{Sender: n.Ref, Receiver: wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}, Incarnation: n.Incarnation, Sequence: 1})
	if e := asAPI(err); e == nil || e.Problem != api.Busy || e.Next == "" || e.RetryAfter == 0 {
		t.Errorf("a peer off the membership is answered %v", err)
	}
	k.enters(n, 1)
	daemontest.Await(t, "it is accepted", func() bool { return deliver(n, f, 1, taskRequest(f, "job", 0, 1)) })
	n.AwaitGot(sched.Launch, 1)
}

// The call of a node that is not on the membership yet lasts until what it lists is heard, so that
// no more of that waits than there are calls.
func TestUnknownNodeIsHeard(t *testing.T) {
	_, f, _ := probing(t, 1, 0)
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	f.Hold(release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := held(f, sched.AttemptID{Job: f.JobID("job"), Attempt: 1})
	v.Node = "early"
	if _, err := f.Frontend.Inventory(ctx, v); !strings.Contains(fmt.Sprint(err), "did not come in time") {
		t.Errorf("before it was heard: %v", err)
	}
	let()
	_, err := f.Frontend.Inventory(t.Context(), v)
	if e := asAPI(err); e == nil || e.Problem != api.Busy || e.RetryAfter != time.Millisecond {
		t.Errorf("when it was heard: %v", err)
	}
}

// The membership of a new master is empty at first. Peers that register there in time do
// not count as lost, and reservations that were dropped meanwhile are probed for again.
func TestPublisherRestarted(t *testing.T) {
	t.Parallel()
	k, f, n := probing(t, 2, 0, 1)
	gone := nodeOfFrontend(t, f, "gone")
	k.enters(gone, 2)
	daemontest.Await(t, "both are known", func() bool { return f.Members() == 3 })
	deliver(n, f, 1, taskRequest(f, "job", 0, 1))
	n.AwaitGot(sched.Launch, 1)
	probes := len(n.Got(sched.Probe)) + len(gone.Got(sched.Probe))
	k.restart()
	daemontest.Await(t, "the new master's membership has come", func() bool { return f.MembershipOf() == k.incarnation() })
	if f.Members() != 3 {
		t.Errorf("%d workers are left at the first membership of a new master", f.Members())
	}
	k.enters(n, 0, 1)
	daemontest.Await(t, "the unbound task is probed for again", func() bool { return len(n.Got(sched.Probe))+len(gone.Got(sched.Probe)) > probes })
	if s := f.state(t, "job"); s.Attempts != 2 || s.Running != 1 {
		t.Errorf("with a new master: %+v", s)
	}
	daemontest.Await(t, "the node that did not register is lost", func() bool { return f.Members() == 2 })
	if s := f.state(t, "job"); s.Attempts != 2 || s.Running != 1 {
		t.Errorf("a moment later: %+v", s)
	}
}

// A frontend that was off the membership probes again when it is back.
func TestOffTheMembership(t *testing.T) {
	t.Parallel()
	k, f, n := probing(t, 1, 0)
	probes := len(n.Got(sched.Probe))
	k.mu.Lock()
	k.deaf = true
	k.changeLocked(func(r *wire.Membership) { r.Frontends = nil })
	k.deaf = false
	k.mu.Unlock() // its next hello enters it again
	n.AwaitGot(sched.Probe, probes+2)
	if s := f.state(t, "job"); s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
}

// A frontend whose master did not answer for a while probes again, although the
// membership has not changed: others may have missed it there.
func TestSilentMaster(t *testing.T) {
	t.Parallel()
	k, f, n := probing(t, 1, 0)
	probes := len(n.Got(sched.Probe))
	k.setSilent(true)
	time.Sleep(3250 * time.Millisecond) // package dispatch calls a master silent after 3 s
	if got := len(n.Got(sched.Probe)); got != probes {
		t.Errorf("%d probes were sent while the master was silent", got-probes)
	}
	k.setSilent(false)
	n.AwaitGot(sched.Probe, probes+2)
	if s := f.state(t, "job"); s.Attempts != 1 {
		t.Errorf("%+v", s)
	}
}

// A node that refuses messages counts as lost, and soon after as new.
func TestNodeRefusesMessages(t *testing.T) {
	t.Parallel()
	k, f, n := probing(t, 1, 0)
	why := "it cannot read this"
	n.Refuse.Store(&why)
	deliver(n, f, 1, taskRequest(f, "job", 0, 1))
	daemontest.Await(t, "it is no member", func() bool { return f.Members() == 0 })
	n.Refuse.Store(nil)
	n.AwaitGot(sched.Probe, 3)
	deliver(n, f, 2, taskRequest(f, "job", 0, 2))
	if l := n.AwaitGot(sched.Launch, 1)[0].Msg; l.Attempt != 2 {
		t.Errorf("launched %s", sched.Describe(&l))
	}
	_ = k
}

// A number that two slots have is used once; nodes without a name or numbers are ignored.
func TestInvalidMembership(t *testing.T) {
	k := newPublisher(t)
	f := k.frontend("sparrow")
	n, other := nodeOfFrontend(t, f, "n"), nodeOfFrontend(t, f, "other")
	k.change(func(r *wire.Membership) {
		r.Nodes = []wire.MemberNode{
			{Name: "n", Address: n.Address(), Incarnation: n.Incarnation, Numbers: []int32{1, 1, -7, 1 << 30, 2}},
			{Name: "other", Address: other.Address(), Incarnation: other.Incarnation, Numbers: []int32{2, 3}},
			{Name: "", Address: "x", Numbers: []int32{9}}, {Name: "bare", Address: "no address"},
		}
	})
	daemontest.Await(t, "three workers are known", func() bool { return f.Members() == 3 })
	(&world{t: t}).submit(f, sleeps("job", 3, 0))
	n.AwaitGot(sched.Probe, 2)
	other.AwaitGot(sched.Probe, 2)
}

// A restarted frontend does not try the tasks again that a node holds which is not on the
// membership yet, although it refuses the node's inventory: it may be the master that is late.
func TestHeldByUnknownNode(t *testing.T) {
	t.Parallel()
	k, f, first := probing(t, 2, 0)
	f = (&world{t: t, masters: []string{k.address}}).restartFrontend(f)
	other := nodeOfFrontend(t, f, "other")
	v := held(f, sched.AttemptID{Job: f.JobID("job"), Task: 0, Attempt: 1})
	v.Node, v.Incarnation = other.Ref.Name, other.Incarnation
	_, err := other.Master().Inventory(t.Context(), v)
	if e := asAPI(err); e == nil || e.Problem != api.Busy || e.RetryAfter == 0 {
		t.Errorf("the inventory of a node off the membership is answered %v", err)
	}
	k.enters(first, 0)
	first.AwaitGot(sched.Probe, 4+2) // for task 1, which nobody holds
	if s := f.state(t, "job"); s.Attempts != 3 {
		t.Errorf("one of two tasks is tried again, the other was held: %+v", s)
	}
}

// The same of a node that holds more than one message lists.
func TestManyHeldByUnknownNode(t *testing.T) {
	t.Parallel()
	const tasks = 2*wire.MaxInventory + 2
	k, f, first := probing(t, tasks, 0)
	f = (&world{t: t, masters: []string{k.address}}).restartFrontend(f)
	other := nodeOfFrontend(t, f, "other")
	heard := make(chan int, 100) // attempts of the calls that were refused
	listing := listingOf(t, f, other, heard)
	for i := range int32(tasks - 1) {
		listing.held = append(listing.held, sched.AttemptID{Job: f.JobID("job"), Task: i, Attempt: 1})
	}
	for left := tasks - 1; left > 0; {
		left -= listing.await(heard)
	}
	k.enters(first, 0)
	first.AwaitGot(sched.Probe, 2*tasks+2) // for the last task, which nobody holds
	if s := f.state(t, "job"); s.Attempts != tasks+1 {
		t.Errorf("one of %d tasks is tried again, the others were held: %+v", tasks, s)
	}
}
