package nodes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A snapshot that is read after a later one of its node, as calls are that the node gave up while
// the master did not run, undoes nothing of what the later one reported.
func TestLateSnapshot(t *testing.T) {
	slots := func(n int32) (list []wire.Slot) {
		for slot := range n {
			list = append(list, wire.Slot{Slot: slot, Seq: 1, Serves: []string{""}})
		}
		return list
	}
	for _, c := range []struct {
		name        string
		first, last wire.Snapshot
	}{
		{"it stops in order", wire.Snapshot{Slots: slots(2)}, wire.Snapshot{Stopping: true}},
		{"it is being started again", wire.Snapshot{Slots: slots(2)}, wire.Snapshot{Slots: slots(2), Away: time.Minute}},
		{"it drains", wire.Snapshot{Slots: slots(2)}, wire.Snapshot{Slots: slots(2), Draining: true}},
		{"it takes tasks again", wire.Snapshot{Slots: slots(2), Draining: true}, wire.Snapshot{Slots: slots(2)}},
		{"it has another slot", wire.Snapshot{Slots: slots(2)}, wire.Snapshot{Slots: slots(3)}},
		{"it has one slot less", wire.Snapshot{Slots: slots(2)}, wire.Snapshot{Slots: slots(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(pigeon.Policy())
			if a, err := g.Hello(hello("a", 1, "h:1", 0, 0)); err != nil || a.Problem != "" {
				t.Fatalf("%+v, %v", a, err)
			}
			for i, s := range []*wire.Snapshot{&c.first, &c.last} {
				s.Sender, s.Incarnation, s.Sequence = wire.Ref{Role: sched.Worker, Name: "a"}, 1, uint64(i)+1 //nolint:gosec // 0 and 1
			}
			shown := func() string {
				list, _, _ := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{} })
				return fmt.Sprintf("%s, %q, %d slots", list[0].State, list[0].Reason, list[0].Slots)
			}
			if problem := g.Snapshot(&c.last); problem != "" {
				t.Fatal(problem)
			}
			want := shown()
			g.kinds()
			if problem := g.Snapshot(&c.first); problem != "" {
				t.Errorf("the late one is answered %q", problem)
			}
			if got := shown(); got != want {
				t.Errorf("the node is shown as %s, want %s", got, want)
			}
			if got := g.kinds(); len(got) > 0 {
				t.Errorf("the core received %v", got)
			}
			c.last.Sequence = 3
			if g.Snapshot(&c.last); shown() != want {
				t.Errorf("with its next one the node is shown as %s, want %s", shown(), want)
			}
		})
	}
}

// A hello that is read after a later snapshot of its node undoes nothing of it either; nor does a
// snapshot that was sent before the hello by which its node was registered.
func TestLateHello(t *testing.T) {
	for _, policy := range []sched.Policy{pigeon.Policy(), sparrow.Policy(sparrow.Defaults())} {
		t.Run(policy.Name, func(t *testing.T) {
			g := newGroup(policy)
			enter := func(sequence uint64, draining bool, slots int) {
				t.Helper()
				h := hello("a", 1, "h:1", make([]int32, slots)...)
				h.Sequence, h.Draining = sequence, draining
				if a, err := g.Hello(h); err != nil || a.Problem != "" {
					t.Fatalf("%+v, %v", a, err)
				}
			}
			check := func(what, state string, slots int) {
				t.Helper()
				list, _, _ := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{} })
				if list[0].State != state || list[0].Slots != slots {
					t.Errorf("%s: %+v, want %s with %d slots", what, list[0], state, slots)
				}
			}
			report := func(s wire.Snapshot) {
				t.Helper()
				s.Sender, s.Incarnation = wire.Ref{Role: sched.Worker, Name: "a"}, 1
				if problem := g.Snapshot(&s); problem != "" {
					t.Fatal(problem)
				}
			}
			enter(2, false, 2)
			check("registered", api.StateUp, 2)
			report(wire.Snapshot{Sequence: 1, Draining: true})
			check("after a snapshot that was sent before", api.StateUp, 2)
			report(wire.Snapshot{Sequence: 4, Draining: true})
			check("drained", api.StateDrained, 0)
			enter(3, false, 2)
			check("after a hello that was sent before", api.StateDrained, 0)
			enter(5, false, 2)
			check("after its next one", api.StateUp, map[bool]int{true: 2}[policy.SingleMaster()]) // else snapshots bring the slots
			enter(0, true, 2)
			check("by a build that does not count hellos", map[bool]string{true: api.StateDraining, false: api.StateDrained}[policy.SingleMaster()], map[bool]int{true: 2}[policy.SingleMaster()])
		})
	}
}

// A slot for which there is no number yet is left for the next snapshot, also one with kept results.
func TestSlotWithoutANumber(t *testing.T) {
	g := newGroup(pigeon.Policy())
	if a, err := g.Hello(hello("a", 1, "h:1", 0)); err != nil || a.Problem != "" {
		t.Fatalf("%+v, %v", a, err)
	}
	g.ReserveNumbers(addrmap.Limit)
	s := wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: 1, Sequence: 2, ListsKept: true, Slots: []wire.Slot{
		{Slot: 0, Seq: 1}, {Slot: 1, Seq: 1, Kept: []sched.AttemptID{{Job: sched.JobID{Lo: 1}, Attempt: 1}}},
	}}
	if problem := g.Snapshot(&s); problem != "" {
		t.Error(problem)
	}
	if list, _, _ := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{} }); list[0].Slots != 1 {
		t.Errorf("the node has %d slots, want 1", list[0].Slots)
	}
}
