package master_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A snapshot repairs an idle notice that was lost, takes new slots in and withdrawn
// ones out, and learns what slots serve.
func TestSnapshotRepairs(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 2))
	n.AwaitGot(sched.Launch, 1)

	busy := daemontest.Slots(1, 2)
	busy[0].Running = sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 1}, Task: 0, Attempt: 1}
	n.Snapshot(busy...)
	if got := n.Got(sched.Launch); len(got) != 1 {
		t.Fatalf("a busy slot got %d launches", len(got))
	}
	// Its idle notice is lost; the snapshot replaces it.
	n.Snapshot(daemontest.Slots(1, 3)...)
	if second := n.AwaitGot(sched.Launch, 2)[1].Msg; second.First != 1 || second.Seq != 3 {
		t.Errorf("the repaired slot received %s", sched.Describe(&second))
	}
	// A snapshot older than the launch does not count.
	n.Snapshot(daemontest.Slots(1, 3)...)
	if s := m.state(); s.BusyGeneral != 1 || s.IdleGeneral != 0 {
		t.Errorf("an outdated snapshot freed a slot: %+v", s)
	}

	more := daemontest.Slots(3, 4)
	more[1].Serves = []string{"x", "", "x"}
	n.Snapshot(more...)
	if s := m.state(); s.Workers != 3 {
		t.Errorf("two slots came: %+v", s)
	}
	awaitServes(t, f, "", "x")
	n.Snapshot(daemontest.Slots(2, 4)...)
	if s := m.state(); s.Workers != 2 {
		t.Errorf("a slot was withdrawn: %+v", s)
	}
	awaitServes(t, f, "")
}

// A slot that is withdrawn while it runs an attempt loses it.
func TestWithdrawnBusySlot(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	f.Send(daemontest.Tasks(1, 1))
	n.AwaitGot(sched.Launch, 1)
	n.Snapshot()
	if lost := f.AwaitGot(sched.AttemptLost, 1)[0].Msg; lost.First != 0 || lost.Attempt != 1 {
		t.Errorf("lost %s", sched.Describe(&lost))
	}
	m.await("no slot", func(s api.MasterState) bool { return s.Workers == 0 })
}

// A slot named twice is one slot.
func TestSlotNamedTwice(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: append(daemontest.Slots(2, 1), daemontest.Slots(2, 1)...)})
	if s := m.state(); s.Workers != 2 {
		t.Errorf("%d workers", s.Workers)
	}
}

// Slots that name nothing serve what their node serves.
func TestNodeServesForItsSlots(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	n := daemontest.Node(t, "n1", m.Addr())
	r := n.Register(wire.Hello{Slots: []wire.Slot{{Slot: 0, Seq: 1}}, Serves: []string{"app", ""}})
	if len(r.Serves) != 2 || r.Serves[1] != "app" {
		t.Errorf("the group serves %q", r.Serves)
	}
}

// A result that does not reach its frontend is lost with its node, however long ago the
// attempt ended: here the master has not even seen it run.
func TestKeptResultsAreLost(t *testing.T) {
	for _, policy := range []string{"pigeon", "hawk", "kairos"} {
		t.Run(policy, func(t *testing.T) {
			cfg := settings()
			cfg.Policy, cfg.LostAfter = policy, patient()
			m := start(t, cfg)
			f := daemontest.Frontend(t, "f1", m.Addr())
			f.Register(wire.Hello{})
			n := daemontest.Node(t, "n1", m.Addr())
			n.Register(wire.Hello{Slots: daemontest.Slots(2, 1)})
			id := sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: 1}, Task: 3, Attempt: 7}
			slots := daemontest.Slots(2, 1)
			slots[1].Kept = []sched.AttemptID{id}
			s := &wire.Snapshot{Sender: n.Ref, Incarnation: n.Incarnation, Slots: slots, ListsKept: true}
			if r, err := n.Master().Snapshot(t.Context(), s); err != nil || !r.Known {
				t.Fatalf("answered %+v, %v", r, err)
			}
			n.Snapshot() // it stops
			if lost := f.AwaitGot(sched.AttemptLost, 1)[0].Msg; lost.AttemptID() != id {
				t.Errorf("lost %s", sched.Describe(&lost))
			}
		})
	}
}
