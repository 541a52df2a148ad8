package members_test

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world records the calls of members to links and workers.
type world struct {
	*members.Members
	mu      sync.Mutex // of the owner goroutine, whose part a test plays except while it sleeps
	linked  map[string]int64
	gone    []sched.Addr
	workers []int32
	addrs   *addrmap.Map
	told    []int // workers on each list
}

func (w *world) Add(peer wire.Ref, _ string, incarnation int64) { w.linked[peer.Name] = incarnation }
func (w *world) Remove(peer wire.Ref)                           { delete(w.linked, peer.Name) }
func (w *world) Forget(time.Duration, time.Time) []wire.Ref     { return nil }
func (w *world) FrontendGone(frontend sched.Addr)               { w.gone = append(w.gone, frontend) }

func (w *world) SetMembers(list []sched.Member) {
	w.workers = nil
	w.told = append(w.told, len(list))
	for _, m := range list {
		w.workers = append(w.workers, m.Worker.ID)
	}
}

// newWorld returns the members as node "self" has them, with a heartbeat of 100 ms.
func newWorld() *world { return newWorldOf(func(*members.Config) {}) }

// newWorldOf is newWorld with settings that configure changes.
func newWorldOf(configure func(*members.Config)) *world {
	w := &world{linked: map[string]int64{}, addrs: addrmap.NewNumbered()}
	c := members.Config{
		Node: wire.Ref{Role: sched.Worker, Name: "self"}, Policy: hawk.Policy(hawk.Defaults()), Heartbeat: sched.Second / 10,
		Addrs: w.addrs, Links: w, Workers: w, Clock: runloop.NewClock(),
		Post: func(do func()) { w.mu.Lock(); defer w.mu.Unlock(); do() }, Log: slog.New(slog.DiscardHandler),
	}
	configure(&c)
	w.Members = members.New(c)
	return w
}

// sleep lets time pass, in which due events happen.
func (w *world) sleep(d time.Duration) {
	w.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
}

func node(name string, incarnation int64, numbers ...int32) wire.MemberNode {
	return wire.MemberNode{Name: name, Incarnation: incarnation, Numbers: numbers}
}

func list(frontends int, nodes ...wire.MemberNode) *wire.Membership {
	m := &wire.Membership{Nodes: nodes}
	for range frontends {
		m.Frontends = append(m.Frontends, wire.MemberFrontend{Name: "f", Incarnation: 7})
	}
	return m
}

// Live workers are known in the order of their numbers; slots without one, and numbers
// that stand for another worker, are left out.
func TestWorkers(t *testing.T) {
	w := newWorld()
	for _, c := range []struct {
		list    *wire.Membership
		workers []int32
		highest int32
	}{
		{list(0, node("self", 1, 3), node("b", 1, 0, 2)), []int32{1, 2}, 3},
		{list(0, node("self", 1, 3), node("b", 2, 4), node("c", 1, 5)), []int32{2, 3, 4}, 5},
		{list(0, node("self", 1, 3)), []int32{2}, 5},
	} {
		w.Apply(c.list)
		if !slices.Equal(w.workers, c.workers) || w.Highest() != c.highest {
			t.Errorf("after %+v the workers are %v, the highest number %d; want %v, %d", c.list.Nodes, w.workers, w.Highest(), c.workers, c.highest)
		}
	}
	if len(w.linked) != 0 {
		t.Errorf("there are links to %v", w.linked)
	}
}

// A number that stands for another slot now, or for another process of its node, is first
// reported as gone, although no membership without it was read.
func TestNumberIsUsedAgain(t *testing.T) {
	for name, next := range map[string]wire.MemberNode{"another node": node("c", 1, 4), "another process": node("b", 2, 4)} {
		w := newWorld()
		w.Apply(list(0, node("self", 1, 3), node("b", 1, 4)))
		w.told = nil
		w.Apply(list(0, node("self", 1, 3), next))
		if !slices.Equal(w.told, []int{1, 2}) || !slices.Equal(w.workers, []int32{2, 3}) {
			t.Errorf("%s: the workers were told of %v workers, and are %v", name, w.told, w.workers)
		}
		if ref, _ := w.addrs.Ref(sched.Addr{Role: sched.Worker, ID: 3}); ref.Name != next.Name {
			t.Errorf("%s: number 3 stands for %v", name, ref)
		}
	}
}

// A node that is missing leaves at once, a frontend after ten heartbeats.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.mu.Lock()
		defer w.mu.Unlock()
		frontend := wire.Ref{Role: sched.Distributor, Name: "f"}
		w.Apply(list(1, node("b", 1, 1)))
		w.gone = nil
		w.Apply(list(0))
		if _, linked := w.linked["b"]; linked || w.linked["f"] != 7 || w.Sessions().Status(frontend, 7) != protocol.Current {
			t.Errorf("there are links to %v", w.linked)
		}
		w.sleep(time.Second / 2)
		w.Apply(list(1))
		w.Apply(list(0))
		w.sleep(time.Second - 1)
		if w.Sessions().Status(frontend, 7) != protocol.Current || len(w.gone) > 0 {
			t.Error("a frontend was missing for a moment, came back, and has left")
		}
		w.sleep(time.Nanosecond)
		if w.Sessions().Status(frontend, 7) != protocol.Unknown || len(w.gone) != 1 || len(w.linked) != 0 {
			t.Errorf("a second later: links to %v, gone %v", w.linked, w.gone)
		}
	})
}

// A node that refuses messages is excluded for a second, a frontend's requests are given
// up.
func TestPeerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Apply(list(1, node("b", 1, 1), node("c", 1, 2)))
		w.gone = nil
		for range 2 {
			w.PeerRefused(wire.Ref{Role: sched.Worker, Name: "b"})
		}
		if !slices.Equal(w.workers, []int32{1}) {
			t.Errorf("after a refusal the workers are %v", w.workers)
		}
		w.sleep(time.Second)
		if !slices.Equal(w.workers, []int32{0, 1}) {
			t.Errorf("a second later they are %v", w.workers)
		}
		w.PeerRefused(wire.Ref{Role: sched.Distributor, Name: "f"})
		if len(w.gone) != 1 {
			t.Errorf("gone are %v", w.gone)
		}
	})
}
