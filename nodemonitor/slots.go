package nodemonitor

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// addSlot makes the next slot, idle and general.
func (o *owner) addSlot() *slot {
	number := int32(len(o.slots)) //nolint:gosec // bounded by what registers
	s := &slot{
		number: number, addr: sched.Addr{Role: sched.Worker, ID: number},
		ref: wire.Ref{Role: sched.Worker, Name: o.self.Name, Slot: number},
	}
	s.core = o.newCore(sched.WorkerConfig{Self: s.addr, Seed: o.seed, Master: o.master})
	s.done = func(r backend.Result) { o.urge(event{kind: ended, slot: s, result: r}) }
	o.slots = append(o.slots, s)
	o.meter.slots[generalSlot][0]++
	return s
}

// live gives the slots there are, in the order of their numbers.
func (o *owner) live() []*slot {
	if !o.gaps {
		return o.slots
	}
	return slices.DeleteFunc(slices.Clone(o.slots), func(s *slot) bool { return s == nil })
}

// slotAdded makes the slot of a classic backend. The registry numbers slots as
// they come, and so do we.
func (o *owner) slotAdded(b app.Slot) {
	for len(o.slots) < int(b.Number) {
		o.slots, o.gaps = append(o.slots, nil), true
	}
	s := o.addSlot()
	s.classic, s.app = true, b.App
	if b.Reserved {
		o.step(s, sched.Addr{}, &sched.Message{Kind: sched.SetReserved, Reserved: true, Epoch: o.epoch, Seq: 1})
	}
	o.log.Info("a backend brought a slot", "slot", s.number, "application", b.App, "reserved", b.Reserved, "backend", b.Address)
	o.changed()
}

// slotGone takes a classic backend's slot away. What ran in the backend has ended
// by now; a task of a built-in backend is stopped.
func (o *owner) slotGone(b app.Slot, reason string) {
	s := o.slot(b.Number)
	if s == nil {
		return
	}
	o.log.Warn("a slot is gone with its backend", "slot", s.number, "application", b.App, "reason", reason)
	s.leaving = true
	if s.run == nil {
		o.removeSlot(s)
	} else {
		o.kill(s)
	}
	o.changed()
}

func (o *owner) removeSlot(s *slot) {
	o.meter.slots[s.kind()][0]--
	o.slots[s.number], o.gaps = nil, true
}

// servesChanged notes the applications with a resident backend: every slot of the
// node's own serves them beside the built-in backends.
func (o *owner) servesChanged(apps []string) {
	o.serves = append([]string{""}, apps...)
	o.log.Info("applications with a resident backend changed", "applications", fmt.Sprint(apps))
	o.changed()
}

// timeout gives a core the timer it asked for.
func (o *owner) timeout(self sched.Addr, token uint64) {
	if s := o.slots[self.ID]; s != nil {
		o.step(s, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: token})
	}
}
