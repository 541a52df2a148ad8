package nodemonitor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestNumbers: workers have the numbers that the master assigns; a new master receives
// them, with what the workers hold.
func TestNumbers(t *testing.T) {
	w, f := newPeerWorld(t)
	w.next = 40
	n := w.under("sparrow", func(c *Config) { c.Memory, c.Host = 512, "rack-7" }, "n1")[0]
	n.look(func(o *owner) {
		for i, want := range []int32{40, 41} {
			if number := o.workers.Status()[i].Worker; number == nil || *number != want {
				t.Errorf("worker %d has number %v, want %d", i, number, want)
			}
		}
	})
	id := attemptOf(1, 0)
	f.probe(n, 1, 1)
	f.bind(n, 1, id, f.request(n, 1, 1), sleepFor(time.Hour))
	n.until("it runs", func(o *owner) bool { return started(o) == 1 })
	other := wire.MemberNode{Name: "other", Address: "127.0.0.1:1", Incarnation: 1, Numbers: []int32{61, 57}}
	w.update(func() {
		w.membership.Nodes, w.membership.Version = append(w.membership.Nodes, other), w.membership.Version+1
	})
	n.until("it knows another node", func(o *owner) bool { return o.members.Highest() == 61 })
	w.update(func() { w.remove("other") })
	w.update(func() { w.incarnation, w.epoch, w.next = 2000, 6, 100 })
	w.await("it introduces itself again", func() bool { return len(w.hellos) == 2 })
	w.mu.Lock()
	first, h := w.hellos[0], w.hellos[1]
	w.mu.Unlock()
	if first.Slots[0].Number != 0 || first.Memory != 512 || first.Host != "rack-7" {
		t.Errorf("the first hello is %+v", first)
	}
	if h.Slots[0].Number != 41 || h.Slots[1].Number != 42 || h.Slots[1].Running != id || h.Slots[1].Frontend != f.ref || h.Slots[1].Ran <= 0 || h.Highest != 61 {
		t.Errorf("the second hello is %+v", h)
	}
	n.until("it is registered", func(o *owner) bool { return epochOf(o) == 6 })
	n.look(func(o *owner) {
		if number := *o.workers.Status()[1].Worker; number != 41 || started(o) != 1 {
			t.Errorf("worker 1 has number %d, %d run", number, started(o))
		}
	})
}

// TestNumbersTaken: a node monitor whose workers' numbers were assigned to others ends,
// with that reason.
func TestNumbersTaken(t *testing.T) {
	w, _ := newPeerWorld(t)
	c := w.config(func(c *Config) { c.Policy = "eagle" })
	m, err := New(c, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	receive(t, m.Ready())
	w.update(func() { w.incarnation, w.taken = 2000, true })
	if err := receive(t, ended); err == nil || !strings.Contains(err.Error(), "worker 0 is another node's") || !strings.Contains(err.Error(), "start the node monitor again") {
		t.Errorf("it ended with %v", err)
	}
}

// TestNumbersRefused: a reply with impossible numbers is no registration.
func TestNumbersRefused(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []int32
		fault   string
	}{
		"good":           {[]int32{5, 3}, ""},
		"too few":        {[]int32{1}, "numbered 1 workers of 2"},
		"none":           {nil, "numbered 0 workers of 2"},
		"zero":           {[]int32{0, 1}, "worker 0 the number -1, which cannot be"},
		"twice":          {[]int32{4, 4}, "worker 1 the number 3, which cannot be"},
		"a former one's": {[]int32{8, 1}, ""}, // the slot that had it has left
		"beyond":         {[]int32{1, sched.MaxID + 1}, "which cannot be"},
		"another number": {[]int32{5, 4}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newPeerWorld(t)
			n, err := New(w.config(func(c *Config) { c.Policy = "sparrow" }), Deps{})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			n.owner.addrs.Set(wire.Ref{Role: sched.Worker, Name: "n9"}, 7)
			err = n.owner.workers.Registered(0, 0, c.numbers)
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Fatalf("numbers %v: %v", c.numbers, err)
			}
			if err != nil {
				return
			}
			if err := n.owner.workers.Registered(0, 0, slices.Clone(c.numbers)); err != nil {
				t.Errorf("the same again: %v", err)
			}
			c.numbers[1] += 9
			if err := n.owner.workers.Registered(0, 0, c.numbers); err == nil || !strings.Contains(err.Error(), "and it has") {
				t.Errorf("other numbers: %v", err)
			}
		})
	}
}

// TestSequenceAfterADrain: the sequence number of a slot never goes back, although a drained node
// gives the numbers of its workers back, and gets others when it is resumed.
func TestSequenceAfterADrain(t *testing.T) {
	w, _ := newPeerWorld(t)
	n := w.under("priority", nil, "n1")[0]
	id := attemptOf(1, 0)
	n.deliver(w.launch(0, 0, id, sleepFor(0)))
	w.reported(id)
	var before uint64
	n.until("the slot is idle again", func(o *owner) bool {
		before = o.workers.Status()[0].Seq
		return started(o) == 0 && before > 0
	})
	seq := func(what string, holds func(*owner) bool) {
		t.Helper()
		n.until(what, func(o *owner) bool {
			if now := o.workers.Status()[0].Seq; now < before {
				t.Errorf("%s: the sequence number went from %d to %d", what, before, now)
			}
			return holds(o)
		})
	}
	order := func(o wire.DrainOrder) {
		t.Helper()
		if _, err := n.peer.Drain(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	order(wire.DrainOrder{})
	seq("it is drained", func(o *owner) bool {
		_, drained := o.workers.Draining()
		return drained && o.workers.Status()[0].Worker == nil
	})
	order(wire.DrainOrder{Resume: true})
	seq("it has numbers again", func(o *owner) bool { return o.workers.Status()[0].Worker != nil })
}
