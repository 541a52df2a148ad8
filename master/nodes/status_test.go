package nodes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// What users see of a node's slots: how many are busy and reserved, whose attempts run there, and of
// which class. Where the core knows more attempts than the node has reported, their class is not known
// yet; where it knows fewer, the slot is idle.
func TestStatusOfSlots(t *testing.T) {
	g := newGroup(pigeon.Policy())
	h := hello("a", 1, "h:1", 0, 1, 2, 3, 4)
	runs := func(slot int, c sched.Class, owner string) {
		h.Slots[slot].Running = sched.AttemptID{Job: sched.JobID{Lo: uint64(slot)}, Attempt: 1} //nolint:gosec // few
		h.Slots[slot].Class, h.Slots[slot].Owner = c, owner
	}
	runs(1, sched.Short, "bob")
	runs(2, sched.Long, "")
	runs(3, sched.Long, "alice")
	h.Slots[3].Held = []wire.Held{{ID: sched.AttemptID{Job: sched.JobID{Lo: 9}, Attempt: 1}, Owner: "bob"}}
	runs(4, sched.Short, "carol")
	if a, err := g.Hello(h); err != nil || a.Problem != "" {
		t.Fatal(a, err)
	}
	g.names = map[sched.JobID]string{{Lo: 2}: "train", {Lo: 9}: "suspended"}
	known := []int{0, sched.Unknown, 1, 2, 0} // attempts that the core knows, by worker
	list, idle, busy := g.Status(func(w sched.Addr) sched.WorkerView { return sched.WorkerView{Tasks: known[w.ID], Reserved: w.ID < 2} })
	if len(list) != 1 {
		t.Fatalf("%d nodes are shown", len(list))
	}
	n := list[0]
	if n.Slots != 5 || n.Busy != 3 || n.Reserved != 2 || !slices.Equal(n.Owners, []string{"alice", "bob"}) || n.SlotUse != "_-S1l-l0.-" {
		t.Errorf("%d slots, %d busy, %d reserved, owners %q, use %s", n.Slots, n.Busy, n.Reserved, n.Owners, n.SlotUse)
	}
	if want := []string{"", "", "train", "", ""}; !slices.Equal(n.SlotJobs, want) {
		t.Errorf("the jobs in the slots are %q, want %q", n.SlotJobs, want)
	}
	if want := ([sched.NumWorkerKinds]int{sched.General: 1, sched.Reserved: 1}); idle != want {
		t.Errorf("idle are %v, want %v", idle, want)
	}
	if want := ([sched.NumWorkerKinds]int{sched.General: 2, sched.Reserved: 1}); busy != want {
		t.Errorf("busy are %v, want %v", busy, want)
	}
	known[0] = 1
	if list, _, _ := g.Status(func(w sched.Addr) sched.WorkerView { return sched.WorkerView{Tasks: known[w.ID]} }); list[0].SlotUse != "b-s1l-l0.-" {
		t.Errorf("a task was launched at the first: %s", list[0].SlotUse)
	}
}

// A node shows the applications of all of its slots, and one without slots why it runs nothing.
func TestStatusOfBackends(t *testing.T) {
	g := newGroup(pigeon.Policy())
	h := hello("a", 1, "h:1", 0, 1, 2)
	h.Slots[1].Serves, h.Slots[2].Serves = []string{"etl"}, []string{"sql"}
	for _, hello := range []*wire.Hello{h, hello("b", 1, "h:2")} {
		if a, err := g.Hello(hello); err != nil || a.Problem != "" {
			t.Fatal(a, err)
		}
	}
	list, _, _ := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{} })
	if len(list) != 2 || !slices.Equal(list[0].Apps, []string{"", "etl", "sql"}) || list[0].Reason != "" {
		t.Errorf("with backends of two applications: %+v", list)
	}
	if len(list) != 2 || !strings.Contains(list[1].Reason, "no backend is registered") {
		t.Errorf("without slots: %+v", list)
	}
}

// Slots that are free are idle while their node takes tasks: not while it drains or cannot be reached.
func TestIdleSlots(t *testing.T) {
	for _, p := range []sched.Policy{pigeon.Policy(), sparrow.Policy(sparrow.Defaults())} {
		g := newGroup(p)
		h := hello("a", 1, "h:1", 0, 0, 0)
		h.Slots[0].Running = sched.AttemptID{Job: sched.JobID{Lo: 1}, Attempt: 1}
		if a, err := g.Hello(h); err != nil || a.Problem != "" {
			t.Fatal(a, err)
		}
		expect := func(when string, free int) {
			t.Helper()
			_, idle, busy := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{Tasks: sched.Unknown} })
			if idle[sched.General] != free || busy[sched.General] != 1 {
				t.Errorf("%s: %s: %v slots are idle and %v busy, want %d and 1", p.Name, when, idle, busy, free)
			}
			totals := g.View().Totals()
			if serving, unused := g.View().Serving(""); totals.Idle[sched.General] != free || unused[sched.General] != free || totals.Busy[sched.General] != 1 || (free > 0) != (serving == 3) {
				t.Errorf("%s: %s: the view is %+v; %d workers serve, %v of them idle", p.Name, when, totals, serving, unused)
			}
		}
		expect("up", 2)
		ref := wire.Ref{Role: sched.Worker, Name: "a"}
		for up, free := range map[link.Status]int{link.Down: 0, link.Up: 2} {
			g.LinkState(ref, link.State{Status: up, Err: errors.New("no answer")})
			expect(up.String(), free)
		}
		g.LinkState(ref, link.State{Status: link.Up})
		s := &wire.Snapshot{Sender: ref, Incarnation: 1, Slots: h.Slots}
		for i, draining := range []bool{true, false} {
			s.Sequence, s.Draining = uint64(i)+1, draining //nolint:gosec // 0 and 1
			g.Snapshot(s)
			expect(map[bool]string{true: "draining", false: "resumed"}[draining], map[bool]int{true: 0, false: 2}[draining])
		}
	}
}
