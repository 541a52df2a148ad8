package dispatch

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// applying is a dispatcher whose core notes which slot of which process each number
// stood for when members were stepped.
type applying struct {
	*Dispatcher
	sched.DistributorCore // nil: only Step is called
	t                     fataler
	stepped               []map[int32]string
	resent                int // members that were to be probed again
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func newApplying(t fataler) *applying {
	e := &applying{t: t}
	names := addrmap.NewNumbered()
	clock := runloop.NewClock()
	d, err := New(Options{
		Self: frontendRef("f"), Policy: sparrow.Policy(sparrow.Defaults()), Core: e, Masters: []string{"127.0.0.1:1"}, MasterLost: time.Minute,
		Addrs: names, Clock: clock, Codec: wire.NewCodec(names, clock.Now), Log: slog.New(slog.DiscardHandler),
		Life: daemon.New("frontend", slog.New(slog.DiscardHandler)), Loop: runloop.New(1, func([]func()) {}), Events: events.New(events.Options{Limit: 10, Bytes: 1 << 20}),
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	d.process.Incarnation, d.process.Inbox = 1, link.NewInbox(frontendRef("f"), 1)
	d.peers.openLinks()
	e.Dispatcher = d
	return e
}

func (e *applying) Step(_ sched.Time, _ sched.Addr, m *sched.Message, _ *sched.Actions) {
	if m.Kind != sched.Members {
		return
	}
	if m.Resent {
		e.resent++
	}
	now := map[int32]string{}
	last := int32(-1)
	for _, w := range m.More.Members {
		if w.Worker.ID <= last {
			e.t.Fatalf("worker %d comes after %d", w.Worker.ID, last)
		}
		last = w.Worker.ID
		ref, ok := e.opts.Addrs.Ref(w.Worker)
		if !ok || e.peers.nodes[ref.Name] == nil {
			e.t.Fatalf("a member is worker %d, which has no slot", last)
		}
		now[last] = fmt.Sprintf("%v of %d", ref, e.peers.nodes[ref.Name].Incarnation)
	}
	e.stepped = append(e.stepped, now)
}

// Whatever memberships follow each other, the core ends with exactly the workers of the last
// one, and a number never passes from one slot's process to another's without being absent
// in between.
func TestMembersAgainstTheMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newApplying(t)
		for version := range rapid.Uint64Range(1, 12).Draw(t, "memberships") {
			m, want := drawMembership(t, version)
			e.applyMembership(m)
			got := e.stepped[len(e.stepped)-1]
			if len(got) != len(want) {
				t.Fatalf("the core has %v, the membership has %v", got, want)
			}
			for number, slot := range want {
				if got[number] != slot {
					t.Fatalf("worker %d is %s, the membership has %s", number, got[number], slot)
				}
			}
			for i := range len(e.stepped) - 1 {
				for number, slot := range e.stepped[i+1] {
					if before, was := e.stepped[i][number]; was && before != slot {
						t.Fatalf("worker %d was %s and is %s at once", number, before, slot)
					}
				}
			}
			e.stepped = e.stepped[len(e.stepped)-1:]
		}
	})
}

// drawMembership draws a membership of one master, and the slot of each number.
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

// A frontend whose master was silent for a while, whatever the membership is now, probes
// again for its reservations: others may have missed it on the membership.
func TestSilentMaster(t *testing.T) {
	e := newApplying(t)
	e.applyMembership(wire.Membership{Incarnation: 7, Version: 1, Frontends: []wire.MemberFrontend{{Name: "f", Incarnation: 1}}})
	m := e.masters.list[0]
	m.incarnation, m.up = 7, true
	for _, c := range []struct {
		silence time.Duration
		resent  int
	}{{0, 0}, {silentFor / 2, 0}, {time.Hour, 1}, {0, 1}} {
		m.lastHeard = time.Now().Add(-c.silence)
		e.masters.helloAnswered(m, wire.HelloReply{Accepted: true, Incarnation: 7}, nil)
		if e.resent != c.resent {
			t.Errorf("after a silence of %v the members were resent %d times, want %d", c.silence, e.resent, c.resent)
		}
	}
}

// A frontend that did not run for a while does not count that as the silence of its masters:
// it gives up a master only when hellos have failed for long enough while it ran.
func TestOwnPauseIsNotTheMastersSilence(t *testing.T) {
	e := newApplying(t)
	e.opts.MasterLost = 5 * time.Second
	m := e.masters.list[0]
	m.up, m.contact = true, protocol.NewContact(e.opts.Clock.Now())
	for i, c := range []struct {
		after time.Duration
		up    bool
	}{{time.Second, true}, {time.Second, true}, {time.Minute, true}, {time.Second / 2, true}, {time.Second, false}} {
		e.opts.Clock = e.opts.Clock.Ahead(sched.Time(c.after))
		e.masters.helloAnswered(m, wire.HelloReply{}, errors.New("no answer"))
		if m.up != c.up {
			t.Errorf("after %d hellos without an answer the master is up: %v", i+1, m.up)
		}
	}
}
