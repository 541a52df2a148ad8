package link_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// reported is what a set reported of its links.
type reported struct {
	mu      sync.Mutex
	states  []link.Status
	refused []string
}

func (h *reported) last() link.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.states) == 0 {
		return link.Up
	}
	return h.states[len(h.states)-1]
}

func (h *reported) refusals() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.refused)
}

// newSet returns the ways of a master; the test is their owner.
func newSet(t *testing.T) (*link.Set, *reported) {
	t.Helper()
	h := &reported{}
	m := link.NewSet(link.SetOptions{
		Self: addrmap.MasterRef(0), Address: "127.0.0.1:1", Incarnation: 77, Codec: daemontest.Codec(), Log: daemontest.Log(t),
		Epoch: func() uint64 { return 5 },
		OnState: func(_ wire.Ref, s link.State) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.states = append(h.states, s.Status)
		},
		OnRefused: func(peer wire.Ref, n int, why error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.refused = append(h.refused, peer.Name+": "+why.Error())
		},
	})
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return m, h
}

// noMaster is the address of a master that the peers of these tests never call.
const noMaster = "127.0.0.1:1"

// launchOf returns a launch of a task for a slot of the peer.
func launchOf(p wire.Ref, task int32) *wire.Item {
	p.Slot = task % 3
	return &wire.Item{From: addrmap.MasterRef(0), To: p, Msg: sched.Message{Kind: sched.Launch, Job: sched.JobID{Lo: 1}, First: task, Attempt: 1}}
}

func tasksOf(items []wire.Item) (list []int32) {
	for i := range items {
		list = append(list, items[i].Msg.First)
	}
	return list
}

// Messages queued for a peer arrive there, in order, with the slot that they are
// for; those for one peer do not go to another.
func TestOrder(t *testing.T) {
	m, _ := newSet(t)
	a, b := daemontest.Node(t, "a", noMaster), daemontest.Node(t, "b", noMaster)
	for _, p := range []*daemontest.Peer{a, b} {
		m.Add(p.Ref, p.Address(), p.Incarnation)
	}
	for task := range int32(100) {
		if !m.Queue(launchOf(a.Ref, 2*task)) || !m.Queue(launchOf(b.Ref, 2*task+1)) {
			t.Fatal("a known peer's message was not taken")
		}
		if task%7 == 0 {
			m.Flush()
		}
	}
	m.Flush()
	for k, p := range []*daemontest.Peer{a, b} {
		got := p.AwaitGot(sched.Launch, 100)
		for i := range got {
			if want := int32(2*i + k); got[i].Msg.First != want || got[i].To.Slot != want%3 || got[i].From != addrmap.MasterRef(0) {
				t.Fatalf("%s got %v", p.Ref, tasksOf(got))
			}
		}
		if p.Epoch() != 5 {
			t.Errorf("a batch of epoch %d", p.Epoch())
		}
	}
}

// Nothing is queued for a peer that was not added, or was removed since.
func TestStrangers(t *testing.T) {
	m, _ := newSet(t)
	p := daemontest.Node(t, "a", noMaster)
	if _, known := m.Incarnation(p.Ref); known || m.Queue(launchOf(p.Ref, 1)) || m.Up(p.Ref) || m.Open(p.Ref) == nil {
		t.Error("a stranger is known")
	}
	m.Remove(p.Ref)
	m.Reset(p.Ref)
	m.Flush()
	m.Add(p.Ref, p.Address(), p.Incarnation)
	if now, known := m.Incarnation(p.Ref); !known || now != p.Incarnation || !m.Up(p.Ref) {
		t.Errorf("a peer that was met: %d, %v", now, known)
	}
	if !m.Queue(launchOf(p.Ref, 1)) {
		t.Error("its message was not taken")
	}
	m.Remove(p.Ref) // with what was queued
	if _, known := m.Incarnation(p.Ref); known || m.Queue(launchOf(p.Ref, 2)) || m.Up(p.Ref) {
		t.Error("a forgotten peer is known")
	}
	m.Flush()
	m.Add(p.Ref, p.Address(), p.Incarnation)
	m.Queue(launchOf(p.Ref, 3))
	m.Flush()
	if got := tasksOf(p.AwaitGot(sched.Launch, 1)); !slices.Equal(got, []int32{3}) {
		t.Errorf("it got %v, want what was queued since it was added again", got)
	}
}

// A peer that was lost and is added again as the same process gets what is queued
// for it then: its batches are not taken for repeats of the earlier ones.
func TestLostAndFound(t *testing.T) {
	m, _ := newSet(t)
	p := daemontest.Node(t, "a", noMaster)
	for task := range int32(5) {
		m.Add(p.Ref, p.Address(), p.Incarnation)
		m.Queue(launchOf(p.Ref, task))
		m.Flush()
		p.AwaitGot(sched.Launch, int(task)+1)
		m.Remove(p.Ref)
	}
	m.Add(p.Ref, p.Address(), p.Incarnation)
	m.Queue(launchOf(p.Ref, 5))
	m.Reset(p.Ref)
	m.Queue(launchOf(p.Ref, 6))
	m.Flush()
	if got := tasksOf(p.AwaitGot(sched.Launch, 6)); !slices.Equal(got, []int32{0, 1, 2, 3, 4, 6}) {
		t.Errorf("it got %v", got)
	}
}

// Messages for a process do not reach its successor, at its address or at another,
// whether they were queued or in transit.
func TestSuccessor(t *testing.T) {
	for _, moved := range []bool{false, true} {
		m, h := newSet(t)
		first := daemontest.Node(t, "a", noMaster)
		m.Add(first.Ref, first.Address(), first.Incarnation)
		if err := m.Open(first.Ref); err != nil {
			t.Fatal(err)
		}
		first.Close()
		m.Queue(launchOf(first.Ref, 1))
		m.Flush()
		daemontest.Await(t, "the way is down", func() bool { return h.last() == link.Down && !m.Up(first.Ref) })
		m.Queue(launchOf(first.Ref, 2)) // not flushed yet

		at := "127.0.0.1:0"
		if !moved {
			at = first.Address()
		}
		second := daemontest.NodeAt(t, "a", noMaster, at)
		m.Add(second.Ref, second.Address(), second.Incarnation)
		m.Queue(launchOf(second.Ref, 3))
		m.Flush()
		if got := tasksOf(second.AwaitGot(sched.Launch, 1)); !slices.Equal(got, []int32{3}) {
			t.Errorf("moved %v: the successor got %v", moved, got)
		}
		daemontest.Await(t, "the way is up", func() bool { return m.Up(second.Ref) })
		if now, known := m.Incarnation(first.Ref); !known || now != second.Incarnation {
			t.Errorf("moved %v: the set knows incarnation %d", moved, now)
		}
	}
}

// Another process answers at a peer's address before it was met: what was meant for
// its predecessor is dropped, except for the batch that found it out, and what is
// queued once it was added arrives.
func TestSuccessorNotMetYet(t *testing.T) {
	m, _ := newSet(t)
	first := daemontest.Node(t, "a", noMaster)
	m.Add(first.Ref, first.Address(), first.Incarnation)
	m.Queue(launchOf(first.Ref, 1))
	m.Flush()
	first.AwaitGot(sched.Launch, 1)
	first.Close()
	second := daemontest.NodeAt(t, "a", noMaster, first.Address())
	for task := range int32(20) {
		m.Queue(launchOf(first.Ref, 10+task))
		m.Flush()
	}
	m.Add(second.Ref, second.Address(), second.Incarnation)
	m.Queue(launchOf(second.Ref, 50))
	m.Flush()
	second.AwaitGot(sched.Launch, 1)
	daemontest.Await(t, "what is meant for the successor comes", func() bool {
		got := tasksOf(second.Got(sched.Launch))
		return got[len(got)-1] == 50
	})
}

// OnRefused is called for messages that a peer will never take, and for an invalid address.
func TestRefusals(t *testing.T) {
	m, h := newSet(t)
	p := daemontest.Node(t, "a", noMaster)
	no := "it does not like it"
	p.Refuse.Store(&no)
	m.Add(p.Ref, p.Address(), p.Incarnation)
	m.Queue(launchOf(p.Ref, 1))
	m.Flush()
	daemontest.Await(t, "the refusal is reported", func() bool { return len(h.refusals()) == 1 })

	m.Add(wire.Ref{Role: sched.Worker, Name: "b"}, "no address", 1)
	m.Queue(launchOf(wire.Ref{Role: sched.Worker, Name: "b"}, 1))
	m.Flush()
	if got := h.refusals(); len(got) != 2 || !strings.Contains(got[0], no) || !strings.Contains(got[1], "no address") {
		t.Errorf("got was %q", got)
	}
}

// A set that keeps few connections reaches all its peers, in order.
func TestFewConnections(t *testing.T) {
	m := link.NewSet(link.SetOptions{
		Self: addrmap.MasterRef(0), Address: "127.0.0.1:1", Incarnation: 77, Codec: daemontest.Codec(), Log: daemontest.Log(t), Probe: -1, MaxOpen: 2,
	})
	t.Cleanup(func() { _ = m.Close() }) // it only closes connections
	var peers []*daemontest.Peer
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		p := daemontest.Node(t, name, noMaster)
		m.Add(p.Ref, p.Address(), p.Incarnation)
		peers = append(peers, p)
	}
	for task := range int32(20) {
		for _, p := range peers {
			m.Queue(launchOf(p.Ref, task))
		}
		m.Flush()
		if task%5 == 0 {
			peers[0].AwaitGot(sched.Launch, int(task)+1) // so that some find a connection at rest, others one in use
		}
	}
	for _, p := range peers {
		if got := tasksOf(p.AwaitGot(sched.Launch, 20)); len(got) != 20 || !slices.IsSorted(got) {
			t.Errorf("%s got %v", p.Ref, got)
		}
	}
}

// Nothing is taken after Close.
func TestClosed(t *testing.T) {
	m, _ := newSet(t)
	p := daemontest.Node(t, "a", noMaster)
	m.Add(p.Ref, p.Address(), p.Incarnation)
	if err := m.Open(p.Ref); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m.Queue(launchOf(p.Ref, 1)) {
		t.Error("a closed set takes messages")
	}
}

// 10,000 names that come and go leave no link, no goroutine and no name.
func TestForget(t *testing.T) {
	s, _ := newSet(t)
	before := runtime.NumGoroutine()
	for i := range 10_000 {
		peer := wire.Ref{Role: sched.Worker, Name: fmt.Sprint("n", i)}
		s.Add(peer, noMaster, 1)
		if err := s.Open(peer); err != nil {
			t.Fatal(err)
		}
		s.Remove(peer)
		if i%100 == 99 {
			if len(s.Forget(time.Hour, time.Now())) != 0 || len(s.Forget(0, time.Now())) != 100 || s.Len() != 0 {
				t.Fatalf("after %d names %d are known", i+1, s.Len())
			}
		}
	}
	if now := runtime.NumGoroutine(); now > before+10 {
		t.Errorf("%d goroutines, before %d", now, before)
	}
}

// A peer that was forgotten and returns as the same process takes what is sent to it: the
// new link does not number its batches from 1 again.
func TestForgottenPeerReturns(t *testing.T) {
	s, _ := newSet(t)
	p := daemontest.Node(t, "n1", noMaster)
	for round := range 3 {
		s.Add(p.Ref, p.Address(), p.Incarnation)
		for task := range int32(4) {
			s.Queue(launchOf(p.Ref, task))
			s.Flush()
			p.AwaitGot(sched.Launch, 4*round+int(task)+1)
		}
		s.Remove(p.Ref)
		if got := s.Forget(0, time.Now()); len(got) != 1 {
			t.Fatal("the peer is not forgotten")
		}
	}
}
