package nodemonitor

import (
	"errors"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/roster"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// event is one entry of the owner's inbox.
type event struct {
	kind   eventKind
	slot   *slot          // ended
	result backend.Result // ended
	batch  *wire.Batch    // delivered, acknowledged
	at     time.Time      // delivered: when it came
	do     func()         // called: anything rare
}

type eventKind uint8

const (
	called       eventKind = iota
	delivered              // messages of the master
	ended                  // an attempt's end
	acknowledged           // results that a frontend has journaled
)

// owner is everything that only the owner goroutine touches.
type owner struct {
	log         *slog.Logger
	self        wire.Ref // the node
	address     string   // where it serves other daemons
	incarnation int64
	master      sched.Addr
	masterRef   wire.Ref
	heartbeat   sched.Time
	seed        uint64
	clock       runloop.Clock
	roster      *roster.Roster
	urge        func(event)
	newCore     newCore
	steps       *runloop.Stepper
	timers      *runloop.Timers
	backends    map[api.Backend]backend.Backend
	toMaster    sender    // by Thrift, in order
	notices     publisher // nil without NATS
	reports     reporter  // by Thrift
	changed     func()    // has a snapshot sent at once
	meter       *meter
	spans       *spans

	now       sched.Time // of the batch being handled
	slots     []*slot    // by number; nil where a backend's is gone
	gaps      bool       // some are nil
	serves    []string   // by the node's own slots; replaced, never changed
	runs      map[sched.AttemptID]*slot
	results   *results
	frontends []*frontend // by distributor number
	dirty     []*frontend // with fresh results
	idles     []wire.Item // to publish after the batch
	forMaster []wire.Item // to send by Thrift after the batch, in order
	scratch   []wire.Item
	message   sched.Message // being stepped
	epoch     uint64        // highest seen of a master of this group
	full      bool          // results have no room: launches are refused
	stopping  bool
	settled   chan struct{} // closed when the last calls have been answered
	silent    bool          // no more calls
}

// sender is a link to the master.
type sender interface {
	Send(items ...wire.Item) error
}

// handle is the owner goroutine's work: everything that came since the last time.
func (o *owner) handle(batch []event) {
	o.now = o.clock.Now()
	for i := range batch {
		e := &batch[i]
		switch e.kind {
		case called:
			e.do()
		case delivered:
			o.delivered(e.batch, e.at)
		case ended:
			o.ended(e.slot, &e.result)
		case acknowledged:
			o.acknowledged(e.batch.Acknowledged)
			o.heardFrom(e.batch)
		}
	}
	o.flush()
}

// flush sends what the batch decided: reports before idle notices, so that a node
// that dies in between has rather told a result than asked for work.
func (o *owner) flush() {
	if o.full {
		o.release()
	}
	o.report()
	o.tellIdle()
	o.sendMaster()
	o.meter.publish(o)
}

// sendMaster sends what goes by Thrift. What a full link does not take is sent
// with a later batch; what was meant for a master that is gone means nothing to
// its successor, which is told everything when this node registers.
func (o *owner) sendMaster() {
	if len(o.forMaster) == 0 {
		return
	}
	err := o.toMaster.Send(o.forMaster...)
	if err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		return
	}
	clear(o.forMaster)
	o.forMaster = o.forMaster[:0]
}

// delivered steps the messages of the master.
func (o *owner) delivered(b *wire.Batch, at time.Time) {
	o.epoch = max(o.epoch, b.Epoch)
	for i := range b.Items {
		it := &b.Items[i]
		s := o.slot(it.To.Slot)
		switch {
		case it.Msg.Kind == sched.Launch && s == nil:
			o.refuseMissing(it)
		case s == nil:
			o.meter.ignored.Inc()
		case it.Msg.Kind == sched.Launch:
			o.launch(s, it, at)
		case it.Msg.Kind == sched.Kill || it.Msg.Kind == sched.SetReserved:
			o.step(s, o.master, &it.Msg)
		default:
			o.meter.ignored.Inc()
		}
	}
}

// slot gives the slot of that number, nil when there is none now.
func (o *owner) slot(number int32) *slot {
	if number < 0 || int(number) >= len(o.slots) || o.slots[number] == nil || o.slots[number].leaving {
		return nil
	}
	return o.slots[number]
}

// step gives a slot's core a message and keeps count of the slots by state.
func (o *owner) step(s *slot, from sched.Addr, m *sched.Message) {
	_, busy := s.core.Running()
	o.meter.slots[s.kind()][index(busy)]--
	o.steps.Step(s.core, s.addr, o.clock.Now(), from, m)
	_, busy = s.core.Running()
	o.meter.slots[s.kind()][index(busy)]++
}

func index(busy bool) int {
	if busy {
		return 1
	}
	return 0
}

// act carries out one action of a slot's core.
func (o *owner) act(self sched.Addr, a *sched.Action) {
	s := o.slots[self.ID]
	switch a.Kind {
	case sched.Send:
		o.send(s, a)
	case sched.Timer:
		o.timers.Set(self, a.At, a.Token)
	case sched.Start:
		o.start(s)
	case sched.Stop:
		o.kill(s)
	case sched.Suspend, sched.Resume:
		o.hold(s, a.Kind)
	}
}

func (o *owner) send(s *slot, a *sched.Action) {
	switch a.Msg.Kind {
	case sched.Report:
		o.reported(s, a)
	case sched.Idle:
		o.idle(s, a.Msg.Seq)
	case sched.Refused:
		o.refused(s, &a.Msg)
	default:
		o.forMaster = append(o.forMaster, wire.Item{From: s.ref, To: o.masterRef, Msg: a.Msg})
	}
}

// idle tells the master that the slot is free: by a notice, or by Thrift behind
// the refusal that it belongs to. After a refusal of the shell's the slot is held
// back, or the master would offer the same task again at once.
func (o *owner) idle(s *slot, seq uint64) {
	it := wire.Item{From: s.ref, To: o.masterRef, Msg: sched.Message{Kind: sched.Idle, Seq: seq}}
	switch {
	case o.stopping:
	case s.refusal != "":
		s.held = true
	case s.refused || o.notices == nil:
		o.forMaster = append(o.forMaster, it)
	default:
		o.idles = append(o.idles, it)
	}
}

// tellIdle publishes the idle notices of a batch as one message.
func (o *owner) tellIdle() {
	if len(o.idles) == 0 {
		return
	}
	b := o.batch(o.masterRef, o.idles)
	if err := o.notices.Idle(b); err != nil {
		o.meter.unpublished.Add(float64(len(o.idles)))
		o.forMaster = append(o.forMaster, o.idles...)
	}
	o.meter.idles.Add(float64(len(o.idles)))
	clear(o.idles)
	o.idles = o.idles[:0]
}

// batch puts items into an envelope.
func (o *owner) batch(to wire.Ref, items []wire.Item) *wire.Batch {
	return &wire.Batch{
		Sender: o.self, Receiver: to.Daemon(), Address: o.address, Incarnation: o.incarnation, Items: items,
	}
}
