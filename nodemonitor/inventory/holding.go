package inventory

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// holding is what the node holds of one frontend.
type holding struct {
	address string
	slots   []wire.SlotInventory
	bySlot  map[int32]int // index in slots
	count   int
	hash    int64
}

// held returns what the node holds, by the frontend's number.
func (s *Inventories) held() (list []holding) {
	s.cfg.Held(func(a *Attempt) {
		if a.Distributor.Role != sched.Distributor || a.Distributor.ID < 0 {
			return
		}
		for len(list) <= int(a.Distributor.ID) {
			list = append(list, holding{})
		}
		list[a.Distributor.ID].add(a)
	})
	return list
}

func (h *holding) add(a *Attempt) {
	if h.address == "" {
		h.address = a.Address
	}
	at, known := h.bySlot[a.Slot]
	if !known {
		if h.bySlot == nil {
			h.bySlot = map[int32]int{}
		}
		at = len(h.slots)
		h.bySlot[a.Slot] = at
		h.slots = append(h.slots, wire.SlotInventory{Slot: a.Slot})
	}
	h.slots[at].Attempts = append(h.slots[at].Attempts, a.ID)
	h.count++
	h.hash += hash(a) // a sum, because the order of the attempts does not count
}

// hash returns a hash of an attempt and its slot.
func hash(a *Attempt) int64 {
	h := uint64(14695981039346656037)
	for _, v := range [...]uint64{a.ID.Job.Hi, a.ID.Job.Lo, uint64(a.ID.Task)<<32 | uint64(a.ID.Attempt), uint64(a.Slot)} { //nolint:gosec // never negative
		h = (h ^ v) * 1099511628211
		h ^= h >> 29
	}
	return int64(h) //nolint:gosec // a bit pattern
}

// cut cuts an inventory into parts that one message may list.
func cut(slots []wire.SlotInventory) (parts [][]wire.SlotInventory) {
	var part []wire.SlotInventory
	room := wire.MaxInventory
	for _, s := range slots {
		for left := s.Attempts; len(left) > 0; {
			n := min(room, len(left))
			part = append(part, wire.SlotInventory{Slot: s.Slot, Attempts: left[:n]})
			left = left[n:]
			if room -= n; room == 0 {
				parts, part, room = append(parts, part), nil, wire.MaxInventory
			}
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}
