package inventory

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rig is inventories whose calls the test answers. Posted functions run when the test has
// the owner goroutine's batch run.
type rig struct {
	*Inventories
	t         *testing.T
	now       sched.Time
	held      []Attempt
	address   string
	calls     []*call
	posted    chan func()
	unwanted  []sched.AttemptID
	restarted int
	alone     bool
}

type call struct {
	wire.Inventory
	address string
	back    func(wire.InventoryReply, error)
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, address: "there", posted: make(chan func(), 100), now: sched.Second}
	r.Inventories = New(Config{
		Self: &wire.Sender{Ref: wire.Ref{Role: sched.Worker, Name: "n"}},
		Held: func(visit func(*Attempt)) {
			for i := range r.held {
				visit(&r.held[i])
			}
		},
		Frontend: func(sched.Addr) (string, string) { return "f", r.address },
		Calls:    r, Now: func() sched.Time { return r.now }, Post: func(f func()) { r.posted <- f },
		Unwanted: func(_ sched.Addr, ids []sched.AttemptID) (int, int) {
			r.unwanted = append(r.unwanted, ids...)
			return len(ids), 0
		},
		Restarted: func(sched.Addr) { r.restarted++ }, NoMaster: func() bool { return r.alone },
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(telemetry.NewMetrics("test")),
	}, r.now, 0)
	r.Flush() // the first time, with nothing held
	return r
}

// Inventory implements Caller.
func (r *rig) Inventory(address string, v *wire.Inventory, back func(wire.InventoryReply, error)) {
	r.calls = append(r.calls, &call{*v, address, back})
}

// hold has the node hold so many attempts of the frontend, in two slots.
func (r *rig) hold(n int) {
	r.held = nil
	for i := range n {
		r.held = append(r.held, Attempt{ID: attempt(i), Distributor: sched.Addr{Role: sched.Distributor}, Slot: int32(i % 2)}) //nolint:gosec // small
	}
}

func attempt(i int) sched.AttemptID {
	return sched.AttemptID{Job: sched.JobID{Lo: 7}, Task: int32(i), Attempt: 1} //nolint:gosec // small
}

// only returns the one call that was made, and forgets it.
func (r *rig) only(parts int, digest, more bool) *call {
	r.t.Helper()
	if len(r.calls) != 1 {
		r.t.Fatalf("%d calls, want one", len(r.calls))
	}
	c := r.calls[0]
	r.calls = nil
	n := 0
	for _, s := range c.Slots {
		n += len(s.Attempts)
	}
	if n != parts || c.Digest != digest || c.More != more {
		r.t.Fatalf("a call of %d attempts, digest %v, more %v; want %d, %v, %v", n, c.Digest, c.More, parts, digest, more)
	}
	return c
}

// none checks that no call was made.
func (r *rig) none(when string) {
	r.t.Helper()
	if len(r.calls) > 0 {
		r.t.Fatalf("%d calls %s", len(r.calls), when)
	}
}

// answer answers a call and runs what that posts.
func (r *rig) answer(c *call, reply wire.InventoryReply, err error) {
	c.back(reply, err)
	(<-r.posted)()
	r.Flush()
}

func (r *rig) after(d sched.Time) {
	r.now += d
	r.Flush()
}

// ok is the answer of a process of the frontend.
func ok(process int64, unwanted ...sched.AttemptID) wire.InventoryReply {
	return wire.InventoryReply{Frontend: "f", Incarnation: process, Unwanted: unwanted}
}

// While nothing is wrong there is one message for each frontend and time, and none while
// nothing is held.
func TestOneMessageEachTime(t *testing.T) {
	r := newRig(t)
	r.after(Every)
	r.none("while nothing is held")
	r.hold(3)
	for range 3 {
		r.after(Every - 1)
		r.none("before the time")
		r.after(1)
		r.answer(r.only(3, false, false), ok(1), nil)
		r.none("after the answer")
	}
}

// What the frontend does not want is handed back, if the call listed it.
func TestUnwanted(t *testing.T) {
	r := newRig(t)
	r.hold(2)
	r.after(Every)
	c := r.only(2, false, false)
	r.hold(4)
	r.answer(c, ok(1, attempt(3), attempt(1)), nil)
	if !slices.Equal(r.unwanted, []sched.AttemptID{attempt(1)}) {
		t.Errorf("%v were handed back", r.unwanted)
	}
}

// A large inventory goes in parts; while it does not change, the next is its digest, and
// the frontend may ask for all of it.
func TestPartsAndDigest(t *testing.T) {
	r := newRig(t)
	const n = 2*wire.MaxInventory + 500
	r.hold(n)
	all := func() {
		t.Helper()
		r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
		r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
		r.answer(r.only(500, false, false), ok(1), nil)
		r.none("after the last part")
	}
	r.after(Every)
	all()
	r.after(Every)
	digest := r.only(0, true, false)
	if digest.Count != n || digest.Hash == 0 {
		t.Errorf("the digest is %+v", digest)
	}
	r.answer(digest, ok(1), nil)
	r.none("after the digest was confirmed")
	r.after(Every)
	send := ok(1)
	send.SendAll = true
	r.answer(r.only(0, true, false), send, nil)
	all()
	r.held[0].ID.Attempt++ // as many as before
	r.after(Every)
	all()
	// Another process of the frontend is sent all of it, from the first part on.
	r.after(Every)
	r.answer(r.only(0, true, false), wire.InventoryReply{Frontend: "f", Incarnation: 2, SendAll: true}, nil)
	r.answer(r.only(wire.MaxInventory, false, true), ok(2), nil)
	r.answer(r.only(wire.MaxInventory, false, true), ok(3), nil)
	r.answer(r.only(wire.MaxInventory, false, true), ok(3), nil)
	r.answer(r.only(wire.MaxInventory, false, true), ok(3), nil)
	r.answer(r.only(500, false, false), ok(3), nil)
	r.none("after the process has all of it")
	if r.restarted != 3 {
		t.Errorf("%d processes were heard of, want 3", r.restarted)
	}
}

// A frontend that does not know the node yet refuses each part as busy, and hears it
// nevertheless: it is told all parts, also after a digest, and all of them again until it has
// answered them.
func TestBusyFrontendHearsAllParts(t *testing.T) {
	r := newRig(t)
	r.hold(2*wire.MaxInventory + 500)
	refuse := func(c *call) {
		t.Helper()
		r.answer(c, wire.InventoryReply{}, &api.Error{Problem: api.Busy, RetryAfter: time.Millisecond})
		r.none("before the frontend may be asked again")
		(<-r.posted)()
		r.Flush()
	}
	r.after(Every)
	for range 2 { // from the beginning again after the last part
		r.AllDue() // begins none beside the one that is under way
		refuse(r.only(wire.MaxInventory, false, true))
		refuse(r.only(wire.MaxInventory, false, true))
		refuse(r.only(500, false, false))
	}
	refuse(r.only(wire.MaxInventory, false, true))
	r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
	r.answer(r.only(500, false, false), ok(1), nil)
	all := func() {
		t.Helper()
		r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
		r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
		r.answer(r.only(500, false, false), ok(1), nil)
		r.none("after the last part")
	}
	all() // it has not answered the first part before
	r.after(Every)
	refuse(r.only(0, true, false))
	all()
	r.after(Every)
	r.answer(r.only(0, true, false), ok(1), nil)
	r.none("after the digest was confirmed")
}

// No part follows one that was refused when the node stops, or when the frontend gave no answer.
func TestNoPartAfterFailure(t *testing.T) {
	r := newRig(t)
	r.hold(2 * wire.MaxInventory)
	r.after(Every)
	r.answer(r.only(wire.MaxInventory, false, true), wire.InventoryReply{}, errors.New("no answer"))
	r.none("in the pause")
	(<-r.posted)()
	r.Flush()
	r.answer(r.only(wire.MaxInventory, false, true), wire.InventoryReply{}, &api.Error{Problem: api.Busy})
	r.Mute()
	(<-r.posted)()
	r.none("after the last")
}

// A new process of a frontend has its inventory sent at once; late messages of the one
// before change nothing, and neither does what is heard of it a second time.
func TestSeen(t *testing.T) {
	r := newRig(t)
	r.hold(1)
	distributor := r.held[0].Distributor
	for i, c := range []struct {
		process int64
		due     bool
	}{{1, true}, {1, false}, {2, true}, {1, false}, {2, false}} {
		if r.Seen(distributor, c.process) != c.due {
			t.Fatalf("step %d: process %d changes something: %v", i, c.process, !c.due)
		}
		r.Flush()
		if c.due {
			r.answer(r.only(1, false, false), ok(c.process), nil)
		}
		r.none("in between")
	}
	r.AllDue()
	r.Flush()
	r.answer(r.only(1, false, false), ok(2), nil)
	r.none("after all were due")
}

// A node that cannot reach its master lists what it holds at once, and then every
// second, in full: its frontends may have to know from that list alone what still runs.
func TestNoMaster(t *testing.T) {
	r := newRig(t)
	r.hold(wire.MaxInventory + 1)
	listed := func() {
		t.Helper()
		r.answer(r.only(wire.MaxInventory, false, true), ok(1), nil)
		r.answer(r.only(1, false, false), ok(1), nil)
	}
	r.after(Every)
	listed()
	r.after(Every)
	r.answer(r.only(0, true, false), ok(1), nil)
	r.alone = true
	for range 3 {
		r.after(1)
		listed()
		r.after(Masterless - 2)
		r.none("too early")
		r.now++
	}
	r.alone = false
	r.after(1) // it was due
	r.answer(r.only(0, true, false), ok(1), nil)
	r.after(Every - 1)
	r.none("with its master again")
}

// A failure pauses the calls to a frontend, an answer in another's name counts as one, and
// word of a new process ends the pause.
func TestFailures(t *testing.T) {
	r := newRig(t)
	r.hold(1)
	r.after(Every)
	r.only(1, false, false).back(wire.InventoryReply{}, errors.New("no answer"))
	(<-r.posted)()
	r.Flush()
	r.none("in the pause")
	(<-r.posted)() // it ends
	r.Flush()
	c := r.only(1, false, false)
	c.back(wire.InventoryReply{Frontend: "g", Incarnation: 9, Unwanted: []sched.AttemptID{attempt(0)}}, nil)
	(<-r.posted)()
	r.Flush()
	if len(r.unwanted) > 0 {
		t.Error("another frontend's answer was applied")
	}
	r.Seen(r.held[0].Distributor, 2)
	r.Flush()
	r.answer(r.only(1, false, false), ok(2), nil)
	r.Mute()
	r.AllDue()
	r.Flush()
	r.none("after the last")
}
