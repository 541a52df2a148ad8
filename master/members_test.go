package master_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// patient is the settings of a master that loses no node within a test.
func patient() time.Duration { return time.Minute }

func TestHello(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	n, f := daemontest.Node(t, "n1", m.Addr()), daemontest.Frontend(t, "f1", m.Addr())
	r := n.Register(wire.Hello{Slots: daemontest.Slots(3, 7)})
	if r.Epoch != 1 || r.Group != 0 || r.Sender.Name != "0" || r.Incarnation == 0 || len(r.Serves) != 1 {
		t.Errorf("a node is answered %+v", r)
	}
	if again := n.Register(wire.Hello{Slots: daemontest.Slots(3, 7)}); again.Incarnation != r.Incarnation {
		t.Errorf("its second hello, after a lost answer, is answered %+v", again)
	}
	if s := m.state(); s.Workers != 3 || len(s.Nodes) != 1 || !s.Nodes[0].Up || s.Nodes[0].Address != n.Address() {
		t.Errorf("the same node registered twice: %+v", s)
	}
	if r := f.Register(wire.Hello{}); len(r.Serves) != 1 || r.Serves[0] != "" {
		t.Errorf("a frontend learns that the group serves %q, want the built-in backends", r.Serves)
	}
	f.Register(wire.Hello{})
}

func TestHelloIsRefused(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	for _, c := range []struct {
		name  string
		peer  *daemontest.Peer
		set   func(*daemontest.Peer)
		words []string
	}{
		{"a node of another group", daemontest.Node(t, "n9", m.Addr()), func(p *daemontest.Peer) { p.Group = 4 }, []string{"master of group 0", "group 4", "n9"}},
		{"a frontend of another group", daemontest.Frontend(t, "f9", m.Addr()), func(p *daemontest.Peer) { p.Group = 4 }, []string{"group 4", "f9"}},
		{"a master", daemontest.Frontend(t, "1", m.Addr()), func(p *daemontest.Peer) { p.Ref.Role = sched.Master }, []string{"masters exchange no messages", "same policy"}},
	} {
		c.set(c.peer)
		r := c.peer.Hello(wire.Hello{Slots: daemontest.Slots(1, 1)})
		if r.Accepted {
			t.Errorf("%s was accepted", c.name)
		}
		for _, word := range c.words {
			if !strings.Contains(r.Problem, word) {
				t.Errorf("%s is answered %q, without %q", c.name, r.Problem, word)
			}
		}
	}
	if s := m.state(); s.Workers != 0 || len(s.Nodes) != 0 {
		t.Errorf("refused peers left %+v", s)
	}
}

// The live one of two daemons with one name keeps it, whatever its role.
func TestTwoWithOneName(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	for _, c := range []struct {
		name string
		make func(testing.TB, string, string) *daemontest.Peer
	}{{"n1", daemontest.Node}, {"f1", daemontest.Frontend}} {
		first, second := c.make(t, c.name, m.Addr()), c.make(t, c.name, m.Addr())
		h := wire.Hello{Slots: daemontest.Slots(1, 1)}
		first.Register(h)
		r := second.Hello(h)
		if r.Accepted || !strings.Contains(r.Problem, first.Address()) || !strings.Contains(r.Problem, second.Address()) || !strings.Contains(r.Problem, "another id") {
			t.Errorf("the second %s is answered %+v", c.name, r)
		}
	}
	if s := m.state(); s.Workers != 1 {
		t.Errorf("%d workers", s.Workers)
	}
}

// A node that is dead frees its name at once when nothing reaches it, long
// before it would be lost.
func TestSuccessorOfAnUnreachableNode(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	first := daemontest.Node(t, "n1", m.Addr())
	first.Register(wire.Hello{Slots: daemontest.Slots(2, 1)})
	first.Close()
	second := daemontest.Node(t, "n1", m.Addr())
	daemontest.Await(t, "the successor is accepted", func() bool { return second.Hello(wire.Hello{Slots: daemontest.Slots(5, 1)}).Accepted })
	m.await("the successor's slots", func(s api.MasterState) bool { return s.Workers == 5 && s.Nodes[0].Address == second.Address() })
}

// A node monitor that was restarted at its address voids what its former process
// ran.
func TestRestartedNode(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	first := daemontest.Node(t, "n1", m.Addr())
	first.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 1))
	first.AwaitGot(sched.Launch, 1)
	first.Close()
	second := daemontest.NodeAt(t, "n1", m.Addr(), first.Address())
	second.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	lost := f.AwaitGot(sched.AttemptLost, 1)[0].Msg
	if lost.Attempt != 1 || !strings.Contains(lost.Reason, "restarted") || !strings.Contains(lost.Reason, "n1") {
		t.Errorf("the frontend received %s", sched.Describe(&lost))
	}
	again := daemontest.Tasks(1, 1)
	again.Msg.Attempt, again.Msg.Head = 2, true
	f.Send(again)
	if l := second.AwaitGot(sched.Launch, 1)[0]; l.Msg.Attempt != 2 || l.JobName != "job" || l.User != "user" || l.SchedulerAddress != "127.0.0.1:2" {
		t.Errorf("the successor is to launch %+v", l)
	}
}

// Silence for LostAfter loses a node: its slots are removed and its attempts are reported
// to their frontend.
func TestSilentNodeIsLost(t *testing.T) {
	m := start(t, settings())
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(2, 1)})
	f.Send(daemontest.Tasks(1, 1))
	n.AwaitGot(sched.Launch, 1)
	if lost := f.AwaitGot(sched.AttemptLost, 1)[0].Msg; !strings.Contains(lost.Reason, "it was silent for 300ms") {
		t.Errorf("the frontend received %s", sched.Describe(&lost))
	}
	m.await("the node is gone", func(s api.MasterState) bool { return s.Workers == 0 && len(s.Nodes) == 0 && s.Lost == 1 })
	if r := n.Snapshot(daemontest.Slots(2, 1)...); r.Known || !strings.Contains(r.Problem, "n1") {
		t.Errorf("its next heartbeat is answered %+v", r)
	}
	n.Register(wire.Hello{Slots: daemontest.Slots(2, 2)})
	m.await("the node is back", func(s api.MasterState) bool { return s.Workers == 2 })
}

// A node that can call its master while nothing reaches it receives no task,
// however often it registers.
func TestUnreachableNodeGetsNothing(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = time.Second
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	good := daemontest.Node(t, "good", m.Addr())
	good.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	alive(t, good, func() []wire.Slot { return daemontest.Slots(1, 1) })
	bad := daemontest.Node(t, "bad", m.Addr())
	bad.Close()
	bad.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	alive(t, bad, func() []wire.Slot { return daemontest.Slots(1, 1) })
	m.await("the node is lost for being out of reach", func(s api.MasterState) bool { return len(s.Nodes) == 1 })
	bad.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	m.await("it is registered", func(s api.MasterState) bool { return len(s.Nodes) == 2 })
	for i := range uint64(3) {
		f.Send(daemontest.Tasks(i+1, 1))
	}
	good.AwaitGot(sched.Launch, 1)
	s := m.state()
	if s.Launches != 1 || s.QueuedShort != 2 || s.Nodes[0].ID != "bad" || s.Nodes[0].Up {
		t.Errorf("of three tasks for one reachable slot: %+v", s)
	}
}

// A node that cannot be reached for a moment receives no task meanwhile, and again afterwards.
func TestNodeOutOfReachForAMoment(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	n.Close()
	awaitServes(t, f)
	m.await("the node is shown as down", func(s api.MasterState) bool { return !s.Nodes[0].Up && s.Workers == 1 })
	f.Send(daemontest.Tasks(1, 1))
	if r := f.AwaitGot(sched.Returned, 1)[0].Msg; r.Full || r.Count != 1 {
		t.Errorf("the task comes back as %s", sched.Describe(&r))
	}
	n.Reopen()
	m.await("the node is up", func(s api.MasterState) bool { return s.Nodes[0].Up })
	f.Send(daemontest.Tasks(1, 1))
	n.AwaitGot(sched.Launch, 1)
}

// A node monitor that was restarted and has taken over attempts of its former process:
// attempts that its hello names are not reported lost, the others are. When the former
// process handed everything over in order, that is no loss.
func TestRestartedNodeGoesOn(t *testing.T) {
	for complete, outcome := range map[bool]sched.Outcome{true: sched.Yielded, false: sched.Unfinished} {
		t.Run(fmt.Sprintf("complete=%v", complete), func(t *testing.T) {
			cfg := settings()
			cfg.LostAfter = patient()
			m := start(t, cfg)
			f := daemontest.Frontend(t, "f1", m.Addr())
			f.Register(wire.Hello{})
			first := daemontest.Node(t, "n1", m.Addr())
			first.Register(wire.Hello{Slots: daemontest.Slots(2, 1)})
			f.Send(daemontest.Tasks(1, 2))
			runs := first.AwaitGot(sched.Launch, 2)[0]
			second := daemontest.Node(t, "n1", m.Addr()) // at another address, while the first one answers
			slots := daemontest.Slots(2, 1)
			at := &slots[runs.To.Slot]
			at.Running, at.Frontend, at.FrontendAddress, at.JobName, at.Seq = runs.Msg.AttemptID(), f.Ref, f.Address(), "job", 5<<40+1
			second.Register(wire.Hello{Slots: slots, Continues: []int64{7, first.Incarnation}, Complete: complete})
			daemontest.Await(t, "the frontend is asked about what goes on", func() bool {
				return slices.ContainsFunc(f.Got(sched.Holding), func(it wire.Item) bool { return it.Msg.AttemptID() == runs.Msg.AttemptID() })
			})
			lost := f.AwaitGot(sched.AttemptLost, 1)
			if len(lost) != 1 || lost[0].Msg.AttemptID() == runs.Msg.AttemptID() || lost[0].Msg.Outcome != outcome {
				t.Errorf("the frontend received %+v", lost)
			}
			m.await("one slot is busy", func(s api.MasterState) bool {
				return len(s.Nodes) == 1 && s.Nodes[0].Busy == 1 && s.Nodes[0].Address == second.Address()
			})
		})
	}
}
