package master

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// claimWait is how long a master that follows another one leaves new slots without
// numbers, so that those that have some from its predecessor claim them first.
const claimWait = time.Second

// maxSlot bounds the slots of a node: lists are made by slot.
const maxSlot = 1 << 16

// numbers gives the workers of a cluster their numbers, under policies in which all
// daemons know a worker by the same one: dense from 0, and each to one slot of one
// process of a node for as long as this master lives. It belongs to the owner.
type numbers struct {
	holders map[int32]holder
	of      map[holder]int32
	next    int32     // above all that were given or claimed
	until   time.Time // new slots wait for claims; zero: nobody told of an earlier master
}

// holder is a slot of one process of a node.
type holder struct {
	node        string
	incarnation int64
	slot        int32
}

func newNumbers() *numbers { return &numbers{holders: map[int32]holder{}, of: map[holder]int32{}} }

// followed notes that there was a master before this one.
func (s *numbers) followed(now time.Time) {
	if s.until.IsZero() {
		s.until = now.Add(claimWait)
	}
}

// heard notes a number, plus one, that a peer knows from an earlier master. Whose it
// was may be dead or not back yet: nobody else gets it, nor any below.
func (s *numbers) heard(highest int32, now time.Time) {
	if highest > s.next && highest <= addrmap.Limit {
		s.followed(now)
		s.next = highest
	}
}

// settle returns a node's slots their numbers, plus one each: those that they have or
// claim, and new ones for the others. conflicts are the claims that another slot
// has. The error is worth another try.
func (s *numbers) settle(h *wire.Hello, now time.Time) (given, conflicts []int32, err error) {
	fresh := 0
	s.heard(h.Highest, now)
	for i := range h.Slots {
		claim, who := h.Slots[i].Number, holderOf(h, i)
		if claim == 0 {
			if _, known := s.of[who]; !known {
				fresh++
			}
			continue
		}
		if !s.claim(who, claim-1, now) {
			conflicts = append(conflicts, claim)
		}
	}
	if len(conflicts) > 0 {
		return nil, conflicts, nil
	}
	switch wait := s.until.Sub(now); {
	case fresh > 0 && wait > 0:
		return nil, nil, &api.Error{
			Problem: api.Busy, What: "this master follows another one and gives out no numbers yet, since workers may claim those that they had",
			Subject: fmt.Sprintf("%d slots of %s without a number", fresh, h.Sender), Next: "say hello again", RetryAfter: wait,
		}
	case int(s.next)+fresh > addrmap.Limit:
		return nil, nil, &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("too many slots have come and gone: there are %d numbers", addrmap.Limit),
			Subject: h.Sender.String(), Next: "restart the master", RetryAfter: time.Minute,
		}
	}
	given = make([]int32, len(h.Slots))
	for i := range h.Slots {
		given[i] = s.number(holderOf(h, i)) + 1
	}
	return given, nil, nil
}

// claim returns a slot the number that it has from an earlier master; false when
// another slot has it, or the slot another number.
func (s *numbers) claim(who holder, number int32, now time.Time) bool {
	old, taken := s.holders[number]
	mine, known := s.of[who]
	switch {
	case taken || known:
		return taken && known && old == who && mine == number
	case number >= addrmap.Limit:
		return false
	}
	s.followed(now)
	s.holders[number], s.of[who] = who, number
	s.next = max(s.next, number+1)
	return true
}

// number returns the slot's number, a new one if it has none.
func (s *numbers) number(who holder) int32 {
	n, known := s.of[who]
	if !known {
		n = s.next
		s.next++
		s.holders[n], s.of[who] = who, n
	}
	return n
}

func holderOf(h *wire.Hello, i int) holder {
	return holder{h.Sender.Name, h.Incarnation, h.Slots[i].Slot}
}
