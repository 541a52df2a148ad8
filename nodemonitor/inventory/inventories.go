package inventory

import (
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Every is the time between two inventories for a frontend for which this node holds
// something.
const Every = 5 * sched.Second

// Masterless is the time between two inventories while this node cannot reach its master:
// frontends place again what no node reports then. On a busy machine at least two of them
// reach a frontend in the four seconds for which it waits.
const Masterless = sched.Second

// Caller makes the calls.
type Caller interface {
	// Inventory calls the frontend at the address and then back, from a goroutine of its
	// own, once.
	Inventory(address string, v *wire.Inventory, back func(wire.InventoryReply, error))
}

// Attempt is one attempt that the node holds.
type Attempt struct {
	ID          sched.AttemptID
	Distributor sched.Addr // the frontend
	Address     string     // of the frontend as the launch names it, "" for none
	Slot        int32
}

// Config is what [Inventories] need.
type Config struct {
	Self *wire.Sender // this node
	// Held calls visit for every attempt that the node holds.
	Held func(visit func(*Attempt))
	// Frontend returns a frontend's name, and where it was reached last, "" when it never
	// was.
	Frontend func(distributor sched.Addr) (name, address string)
	Calls    Caller
	// Unwanted is called with attempts that their frontend does not want. It returns how many
	// were stopped, and the results of how many were forgotten.
	Unwanted func(distributor sched.Addr, attempts []sched.AttemptID) (stopped, forgotten int)
	// Restarted is called when an answer came from a process of a frontend that was not
	// heard of before.
	Restarted func(distributor sched.Addr)
	// NoMaster reports whether this node cannot reach its master.
	NoMaster func() bool
	Now      func() sched.Time
	// Post runs a function later on the goroutine that owns the inventories; it may be
	// called from any.
	Post    func(func())
	Log     *slog.Logger
	Metrics *Metrics
}

// Inventories are those for all frontends. They belong to one goroutine. Make them with
// [New].
type Inventories struct {
	cfg       Config
	frontends []*frontend // by distributor number
	next      sched.Time  // when all are due
	due       bool        // some are due now
	muted     bool        // no more calls
	alone     bool        // this node cannot reach its master
}

// frontend is a receiver of inventories.
type frontend struct {
	distributor sched.Addr
	processes   protocol.Incarnations // that were heard of under its name
	due         bool
	calling     bool
	paused      bool // after a failure
	failures    int  // calls without an answer since the last good one

	// The inventory that is being sent: the parts that are left; the call under way has the
	// first one.
	address string
	whole   wire.Inventory
	parts   [][]wire.SlotInventory

	asked   int64 // the process that has answered parts of it, 0 before the first answer
	refused bool  // parts of it were refused, and others sent nevertheless

	settled   wire.Inventory // the last that was answered completely: its Count and Hash
	settledBy int64          // the process that answered it
}

// New returns inventories for frontends that are not known yet. The first follow within
// the usual time after now, at an instant that spread chooses, so that nodes that start
// together do not list what they hold at the same time.
func New(cfg Config, now sched.Time, spread uint64) *Inventories {
	return &Inventories{cfg: cfg, next: now + sched.Time(spread%uint64(Every))} //nolint:gosec // below Every
}

// frontend returns the record of a distributor.
func (s *Inventories) frontend(distributor sched.Addr) *frontend {
	for len(s.frontends) <= int(distributor.ID) {
		s.frontends = append(s.frontends, &frontend{distributor: sched.Addr{Role: sched.Distributor, ID: int32(len(s.frontends))}}) //nolint:gosec // below the directory's limit
	}
	return s.frontends[distributor.ID]
}

// Seen records which process bears a frontend's name now, and reports whether it is another
// one than before; then its inventory is due. Late messages of an earlier process count for
// nothing.
func (s *Inventories) Seen(distributor sched.Addr, incarnation int64) (changed bool) {
	f := s.frontend(distributor)
	if !f.enter(incarnation) {
		return false
	}
	f.failures, f.paused = 0, false
	s.mark(f)
	return true
}

// Known reports whether a process that bears a frontend's name has been seen.
func (s *Inventories) Known(distributor sched.Addr) bool {
	return s.frontend(distributor).processes.Current() != 0
}

// enter records a process, and reports whether it is another one than before. 0 is that of no
// process: the answer of a frontend that does not state it.
func (f *frontend) enter(incarnation int64) (changed bool) {
	return incarnation != 0 && !f.processes.Superseded(incarnation) && f.processes.Enter(incarnation)
}

// Superseded reports whether another process took a frontend's name after this one had it.
func (s *Inventories) Superseded(distributor sched.Addr, incarnation int64) bool {
	return s.frontend(distributor).processes.Superseded(incarnation)
}

// Due has a frontend's inventory follow at once.
func (s *Inventories) Due(distributor sched.Addr) { s.mark(s.frontend(distributor)) }

// AllDue has the inventories for all frontends follow at once.
func (s *Inventories) AllDue() {
	for _, f := range s.frontends {
		f.paused = false
	}
	s.due, s.next = true, 0
}

func (s *Inventories) mark(f *frontend) { f.due, s.due = true, true }

// Mute ends all calls, for good.
func (s *Inventories) Mute() { s.muted = true }

// Flush begins what is due. It is called after each batch, and every heartbeat.
func (s *Inventories) Flush() {
	now := s.cfg.Now()
	alone := s.cfg.NoMaster()
	all := now >= s.next || (alone && !s.alone)
	s.alone = alone
	if all {
		s.next = now + Every
		if alone {
			s.next = now + Masterless
		}
	} else if !s.due {
		return
	}
	s.due = false
	if s.muted {
		return
	}
	held := s.held()
	for len(held) > len(s.frontends) {
		s.frontend(sched.Addr{Role: sched.Distributor, ID: int32(len(held) - 1)}) //nolint:gosec // below the directory's limit
	}
	for i, f := range s.frontends {
		switch {
		case !all && !f.due:
		case i >= len(held) || len(held[i].slots) == 0:
			f.due, f.settled = false, wire.Inventory{}
		case f.calling || f.paused:
			f.due = true // the answer, or the end of the pause, leads back here
		default:
			s.begin(f, &held[i])
		}
	}
}

// begin sends an inventory, or its digest.
func (s *Inventories) begin(f *frontend, h *holding) {
	name, address := s.cfg.Frontend(f.distributor)
	if address == "" {
		address = h.address
	}
	f.due = address != "" // without one the frontend's next message, or the next time, leads back here
	if address == "" {
		return
	}
	f.due, f.address, f.parts, f.asked, f.refused = false, address, cut(h.slots), 0, false
	f.whole = wire.Inventory{Node: s.cfg.Self.Ref.Name, Incarnation: s.cfg.Self.Incarnation, Address: s.cfg.Self.Address, Frontend: name}
	f.whole.Count, f.whole.Hash = h.count, h.hash
	if len(f.parts) > 1 && !s.alone && f.settled.Count == h.count && f.settled.Hash == h.hash && f.settledBy == f.processes.Current() {
		digest := f.whole
		digest.Digest = true
		s.call(f, &digest)
		return
	}
	s.sendPart(f)
}

// sendPart sends the first of the parts that are left.
func (s *Inventories) sendPart(f *frontend) {
	if s.muted {
		return
	}
	part := f.whole
	part.Slots, part.More = f.parts[0], len(f.parts) > 1
	s.call(f, &part)
}

func (s *Inventories) call(f *frontend, v *wire.Inventory) {
	f.calling = true
	s.cfg.Metrics.sent(v)
	s.cfg.Calls.Inventory(f.address, v, func(r wire.InventoryReply, err error) {
		s.cfg.Post(func() { s.answered(f, v, r, err) })
	})
}

// answered handles the answer to a call.
func (s *Inventories) answered(f *frontend, v *wire.Inventory, r wire.InventoryReply, err error) {
	f.calling = false
	switch {
	case s.muted:
		return
	case err != nil:
		if wait, busy := busyFor(err); !busy || !s.sendNext(f, v, wait) {
			s.failed(f, "error", err)
		}
		return
	case r.Frontend != v.Frontend:
		s.failed(f, "answered", r.Frontend)
		return
	}
	f.failures = 0
	s.refuse(f, v, r.Unwanted)
	if f.enter(r.Incarnation) {
		s.cfg.Restarted(f.distributor)
	}
	switch {
	case f.asked != 0 && f.asked != r.Incarnation: // it has not answered the parts before
		s.mark(f)
	case v.Digest && r.SendAll:
		s.sendPart(f)
	case v.More:
		f.parts, f.asked = f.parts[1:], r.Incarnation
		s.sendPart(f)
	case !v.Digest && f.refused:
		s.mark(f) // it has not answered the parts before
	case !v.Digest:
		f.settled, f.settledBy = f.whole, r.Incarnation
	}
	if !f.calling {
		f.parts, s.due = nil, s.due || f.due
	}
}

// failed pauses the calls to a frontend. One that does not answer for long is called as
// often as one that does.
func (s *Inventories) failed(f *frontend, key string, why any) {
	f.failures++
	f.parts, f.due, f.paused = nil, true, true
	if f.failures == 1 {
		s.cfg.Log.Info("what this node holds could not be listed to its frontend; it is tried again", "frontend", f.whole.Frontend, "address", f.address, key, why)
	}
	pause := time.Duration(Every)
	if f.failures <= quickFailures {
		pause = pauseAfter(f.failures)
	}
	time.AfterFunc(pause, func() {
		s.cfg.Post(func() {
			f.paused = false
			s.due = s.due || f.due
		})
	})
}

// refuse hands back the attempts that a frontend does not want, as far as the call listed
// them.
func (s *Inventories) refuse(f *frontend, v *wire.Inventory, unwanted []sched.AttemptID) {
	if len(unwanted) == 0 {
		return
	}
	listed := make(map[sched.AttemptID]bool, wire.MaxInventory)
	for i := range v.Slots {
		for _, id := range v.Slots[i].Attempts {
			listed[id] = true
		}
	}
	mine := unwanted[:0]
	for _, id := range unwanted {
		if listed[id] {
			mine = append(mine, id)
		}
	}
	stopped, forgotten := s.cfg.Unwanted(f.distributor, mine)
	s.cfg.Metrics.unwanted[stop].Add(float64(stopped))
	s.cfg.Metrics.unwanted[forget].Add(float64(forgotten))
}
