package nodemonitor

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestRollAgainstAHistory: who is listed, who was replaced, and who is nobody,
// against the plain history of each name.
func TestRollAgainstAHistory(t *testing.T) {
	names := []wire.Ref{{Role: sched.Worker, Name: "a"}, {Role: sched.Worker, Name: "b"}, {Role: sched.Distributor, Name: "a"}}
	rapid.Check(t, func(t *rapid.T) {
		r := newRoll()
		history := map[wire.Ref][]int64{}  // since the name was struck off last
		missed := map[wire.Ref]time.Time{} // since when frontends were not on the roll
		now := time.Unix(1, 0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			h := history[name]
			if rapid.Bool().Draw(t, "list") {
				incarnation := rapid.Int64Range(1, 30).Draw(t, "incarnation")
				same := len(h) > 0 && h[len(h)-1] == incarnation
				delete(missed, name)
				if changed := r.list(name, incarnation); changed == same {
					t.Fatalf("listing %v as %d after %v: changed is %v", name, incarnation, h, changed)
				}
				if !same {
					history[name] = append(h, incarnation)
				}
			} else {
				here := map[wire.Ref]bool{}
				for _, n := range names {
					if here[n] = n != name; here[n] {
						delete(missed, n)
					}
				}
				if _, before := missed[name]; !before {
					missed[name] = now
				}
				patience := time.Duration(rapid.IntRange(0, 2).Draw(t, "patience")) * time.Second
				left := len(h) > 0 && name.Role == sched.Distributor && now.Sub(missed[name]) < patience
				r.call(here, now)
				if gone, some := r.strike(now.Add(-patience)); len(gone) > 0 != (len(h) > 0 && !left) || some != left {
					t.Fatalf("struck off were %v, some are left: %v, %v had %v", gone, some, name, h)
				}
				if !left {
					delete(history, name)
					delete(missed, name)
				}
				now = now.Add(time.Second)
			}
			for _, n := range names {
				check(t, r, n, history[n])
			}
		}
	})
}

func check(t *rapid.T, r *roll, name wire.Ref, history []int64) {
	for incarnation := range int64(31) {
		last := len(history) - 1
		want := stranger
		switch {
		case last >= 0 && history[last] == incarnation:
			want = listed
		case last >= 0 && slices.Contains(history[max(0, last-formerKept):last], incarnation):
			want = replaced
		}
		if got := r.standing(name, incarnation); got != want {
			t.Fatalf("%v as %d is %d, want %d, after %v", name, incarnation, got, want, history)
		}
	}
}

// TestNodeRestarts: a node that comes back is another one to its peers, with other
// workers; what its former process still has on its way is ignored.
func TestNodeRestarts(t *testing.T) {
	w, _ := newRivals(t)
	list := w.under("hawk", func(c *Config) { c.Slots = 1 }, "n1", "n2")
	stays, leaves := list[0], list[1]
	stays.until("it knows both", func(o *owner) bool { return len(o.roll.members) == 2 })
	former := leaves.incarnation
	if err := leaves.stop(); err != nil {
		t.Fatal(err)
	}
	again := w.under("hawk", func(c *Config) { c.Slots = 1 }, "n2")[0]
	stays.until("it knows the new process", func(o *owner) bool {
		return o.roll.standing(again.ref, again.incarnation) == listed && len(o.roll.members) == 2 && o.roll.members[1].Worker.ID == 2
	})
	b := &wire.Batch{Sender: again.ref, Receiver: stays.ref, Incarnation: former, Sequence: 99, Items: []wire.Item{{From: again.ref, To: stays.ref, Msg: sched.Message{Kind: sched.Steal}}}}
	if r, err := stays.peer.Deliver(t.Context(), b); err != nil || r.Problem != "" || r.Sequence != 99 {
		t.Errorf("a batch of the former process was answered %+v, %v", r, err)
	}
	stays.look(func(o *owner) {
		at, _ := o.addrs.Find(again.ref)
		if at.ID != 2 {
			t.Errorf("the new worker is %v", at)
		}
	})
}
