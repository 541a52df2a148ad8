package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxKeptTold bounds the kept results named in a hello. A master that was not
// told of one may launch its attempt again; the node answers with the result.
const maxKeptTold = 50_000

// introduce describes the node for its registration.
func (o *owner) introduce(c Config) *wire.Hello {
	h := &wire.Hello{
		Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch, EpochOf: o.epochOf, Address: o.address, Group: c.Group,
		Slots: o.slots(true), Serves: o.serves, Memory: c.memory(), Host: c.host(o.address),
	}
	if o.roll != nil {
		h.Highest = o.roll.highest
	}
	return h
}

// snapshot describes the slots for a heartbeat.
func (o *owner) snapshot() *wire.Snapshot {
	return &wire.Snapshot{Sender: o.self, Incarnation: o.incarnation, Epoch: o.epoch, Slots: o.slots(false)}
}

func (o *owner) slots(kept bool) []wire.Slot {
	if o.stopping {
		return nil
	}
	slots := make([]wire.Slot, 0, len(o.workers))
	at := make([]int, len(o.workers))
	for i, w := range o.workers {
		at[i] = -1
		if w != nil && !w.leaving {
			at[i] = len(slots)
			slots = append(slots, o.describe(w))
		}
	}
	if kept {
		o.nameKept(slots, at)
	}
	return slots
}

// nameKept adds the attempts that ended here and are not acknowledged, each to
// its slot, or to the first when that is gone.
func (o *owner) nameKept(slots []wire.Slot, at []int) {
	if len(slots) == 0 {
		return
	}
	told := 0
	o.results.EachKept(func(r *results.Result) bool {
		if told++; told > maxKeptTold {
			return false
		}
		s := &slots[max(0, at[r.Slot])]
		s.Kept = append(s.Kept, r.ID)
		return true
	})
}

// renew forgets what waits for a master that is gone.
func (o *owner) renew() {
	clear(o.forMaster)
	o.forMaster = o.forMaster[:0]
}
