package frontend

import (
	"fmt"
	"log/slog"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// applying is an owner whose core notes which slot of which process each number
// stood for when it was told of members.
type applying struct {
	*owner
	sched.DistributorCore // nil: only Step is called
	t                     *rapid.T
	told                  []map[int32]string
}

func newApplying(t *rapid.T) *applying {
	e := &applying{t: t}
	names := addrmap.New()
	e.owner = &owner{
		log: slog.New(slog.DiscardHandler), self: frontendRef("f"), incarnation: 1, plan: plan{Policy: sparrow.Policy(sparrow.Defaults())},
		core: e, clock: runloop.NewClock(), addrs: names, peers: newPeers(), mastersKnown: true, urge: func(...func()) error { return nil },
	}
	e.steps = runloop.NewStepper(func(sched.Addr, *sched.Action) {}, nil)
	e.peers.links = linkset.New(linkset.Options{Self: e.self, Codec: wire.NewCodec(names, e.clock.Now), Log: e.log})
	return e
}

func (e *applying) Step(_ sched.Time, _ sched.Addr, m *sched.Message, _ *sched.Actions) {
	if m.Kind != sched.Members {
		return
	}
	now := map[int32]string{}
	last := int32(-1)
	for _, w := range m.More.Members {
		if w.Worker.ID <= last {
			e.t.Fatalf("worker %d comes after %d", w.Worker.ID, last)
		}
		last = w.Worker.ID
		ref, ok := e.addrs.Ref(w.Worker)
		if !ok || e.peers.nodes[ref.Name] == nil {
			e.t.Fatalf("a member is worker %d, who is nobody", last)
		}
		now[last] = fmt.Sprintf("%v of %d", ref, e.peers.nodes[ref.Name].Incarnation)
	}
	e.told = append(e.told, now)
}

// Whatever memberships follow each other: the core ends with exactly the workers of the
// last one, and a number never passes from one slot's process to another's without
// having been away in between.
func TestMembersAgainstTheMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newApplying(t)
		for version := range rapid.Uint64Range(1, 12).Draw(t, "memberships") {
			m, want := drawMembership(t, version)
			e.applyMembership(m)
			got := e.told[len(e.told)-1]
			if len(got) != len(want) {
				t.Fatalf("the core was told of %v, the membership has %v", got, want)
			}
			for number, who := range want {
				if got[number] != who {
					t.Fatalf("worker %d is %s, the membership has %s", number, got[number], who)
				}
			}
			for i := range len(e.told) - 1 {
				for number, who := range e.told[i+1] {
					if before, was := e.told[i][number]; was && before != who {
						t.Fatalf("worker %d was %s and is %s at once", number, before, who)
					}
				}
			}
			e.told = e.told[len(e.told)-1:]
		}
	})
}

// drawMembership draws a membership of one master, and who each number stands for.
func drawMembership(t *rapid.T, version uint64) (wire.Membership, map[int32]string) {
	r := wire.Membership{Incarnation: 7, Version: version}
	numbers := rapid.Permutation([]int32{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "numbers")
	want := map[int32]string{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "nodes") {
		n := wire.MemberNode{Name: name, Address: rapid.SampledFrom([]string{"h:1", "h:2"}).Draw(t, "address"), Incarnation: rapid.Int64Range(1, 2).Draw(t, "incarnation")}
		if n.Address == "h:2" {
			n.Incarnation += 10 // another place is another process
		}
		for slot := range rapid.IntRange(0, 2).Draw(t, "slots") {
			if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
				n.Numbers = append(n.Numbers, 0)
				continue
			}
			n.Numbers = append(n.Numbers, numbers[0]+1)
			want[numbers[0]] = fmt.Sprintf("%v of %d", slotRef(name, slot), n.Incarnation)
			numbers = numbers[1:]
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r, want
}
