package nodes

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// successor is the process of a node that has taken over attempts of the one before it
// (docs/adr/0034-restart-grace.md). The slots of the former process leave, and those of the
// successor come with their attempts, as after a restart of the master; only the attempts
// that the successor names are not reported lost in between.
type successor struct {
	named    map[int32][]sched.AttemptID // by slot: attempts that run, wait, or have a kept result
	complete bool                        // it was handed everything in order
}

// continues reports whether the sender of a hello has taken over the attempts of a process.
func continues(h *wire.Hello, incarnation int64) bool {
	return h.Incarnation != incarnation && slices.Contains(h.Continues, incarnation)
}

func newSuccessor(h *wire.Hello) *successor {
	s := &successor{named: make(map[int32][]sched.AttemptID, len(h.Slots)), complete: h.Complete}
	for i := range h.Slots {
		slot := &h.Slots[i]
		ids := slices.Clone(slot.Kept)
		if slot.Running.Attempt > 0 {
			ids = append(ids, slot.Running)
		}
		for k := range slot.Held {
			ids = append(ids, slot.Held[k].ID)
		}
		s.named[slot.Slot] = ids
	}
	return s
}

// spare names, in the loss of a slot, the attempts that the successor has. When it was
// handed everything, the others never began, or their results are acknowledged: that is no
// loss.
func (s *successor) spare(lost *sched.Message, slot int32) {
	if s == nil {
		return
	}
	lost.Kept = s.named[slot]
	if s.complete {
		lost.Outcome = sched.Yielded
	}
}
