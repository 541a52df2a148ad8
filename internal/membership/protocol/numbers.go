package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// ClaimWait is how long a master that follows another one leaves new slots without
// numbers, so that workers numbered by its predecessor claim their numbers first.
const ClaimWait = sched.Second

// Rest is how long a number is assigned to no other slot after its slot has left.
type Rest struct {
	// Ended: the process has ended. Longer than any call, link or long poll between daemons
	// takes, so that no message about the former slot is in transit, and every follower has
	// read a membership without it.
	Ended sched.Time
	// Lost: the process may live where this master does not reach it.
	Lost sched.Time
}

// DefaultRest is the rest of numbers in daemons.
var DefaultRest = Rest{Ended: 30 * sched.Second, Lost: 120 * sched.Second}

// Numbers are the numbers of the workers of a cluster, under policies in which all
// daemons know a worker by the same one. A new slot gets the lowest free number:
//
//	          Assign                Release              rest is over
//	free ────────────────▶ assigned ────────▶ resting ────────────────▶ free
//	  unassigned by this master,       ▲ claim  │
//	  yet stated by a peer ──▶ resting └────────┘ by the slot that had it
type Numbers struct {
	limit   int32
	rest    Rest
	of      map[Holder]int32
	numbers []number   // dense from 0
	follows bool       // there was a master before this one
	until   sched.Time // new slots wait for claims, where it follows another one
}

// number is the state of one number.
type number struct {
	holder   Holder // that has it, or had it last; none where an earlier master assigned it
	assigned bool
	ended    bool       // the holder's process has ended
	presumed bool       // assigned before this master knew of an earlier one
	left     sched.Time // when the holder left, a peer stated the number, or it was presumed free
}

// Holder is a slot of one process of a node.
type Holder struct {
	Node        string
	Incarnation int64
	Slot        int32
}

// Claim is a slot as its node announces it.
type Claim struct {
	Slot   int32
	Number int32 // plus one, from an earlier master; 0: none yet
}

// Assignment is the answer to a node's claims. Without a number for each of them it has
// the reason.
type Assignment struct {
	Numbers   []int32    // plus one, in the order of the claims
	Conflicts []int32    // the claims, plus one, that another slot has
	Wait      sched.Time // until new slots get numbers
	New       int        // slots without a number
	Exhausted bool       // there are not enough numbers left
}

// NewNumbers returns a table of numbers below the limit with none assigned.
func NewNumbers(limit int32, rest Rest) *Numbers {
	return &Numbers{limit: limit, rest: rest, of: map[Holder]int32{}}
}

// FollowsAnother records that there was a master before this one.
func (n *Numbers) FollowsAnother(now sched.Time) {
	if !n.follows {
		n.follows, n.until = true, now+ClaimWait
	}
}

// Reserve records a number, plus one, that an earlier master assigned to a peer. The process
// that had it, or one below, may be dead or not back yet: they rest.
func (n *Numbers) Reserve(highest int32, now sched.Time) {
	if highest > n.next() && highest <= n.limit {
		n.FollowsAnother(now)
		n.extend(highest, now)
	}
}

// next is above all numbers that were assigned, claimed or stated.
func (n *Numbers) next() int32 { return int32(len(n.numbers)) } //nolint:gosec // at most the limit

func (n *Numbers) extend(next int32, now sched.Time) {
	for n.next() < next {
		n.numbers = append(n.numbers, number{left: now})
	}
}

// Assign numbers the slots of a node: each keeps the number that it has or claims, the
// others get new ones. A node that has claimed numbers of other slots gets none at all,
// and neither does one that has to wait; what it claims rests meanwhile.
func (n *Numbers) Assign(node string, incarnation int64, claims []Claim, now sched.Time) (a Assignment) {
	claimed := make(map[int32]bool, len(claims))
	for _, c := range claims {
		h := Holder{node, incarnation, c.Slot}
		if c.Number == 0 {
			if _, known := n.of[h]; !known {
				a.New++
			}
			continue
		}
		if claimed[c.Number] || !n.mayClaim(h, c.Number-1, now) {
			a.Conflicts = append(a.Conflicts, c.Number)
		}
		claimed[c.Number] = true
	}
	switch {
	case len(a.Conflicts) > 0:
		return a
	case a.New > 0 && n.follows && now < n.until:
		a.Wait = n.until - now
		return a
	}
	for _, c := range claims { // before the others, which may be assigned what these have left
		h := Holder{node, incarnation, c.Slot}
		if id, known := n.of[h]; known || c.Number > 0 {
			if !known {
				id = c.Number - 1
			}
			n.assign(h, id)
		}
	}
	missing := 0 // not a.New: a slot may have claimed what another one had before
	for _, c := range claims {
		if _, known := n.of[Holder{node, incarnation, c.Slot}]; !known {
			missing++
		}
	}
	free := n.free(missing, now)
	if len(free) < missing {
		a.Exhausted = true
		return a
	}
	a.Numbers = make([]int32, len(claims))
	for i, c := range claims {
		h := Holder{node, incarnation, c.Slot}
		id, known := n.of[h]
		if !known {
			id, free = free[0], free[1:]
			n.assign(h, id)
			n.numbers[id].presumed, n.numbers[id].left = !n.follows, now
		}
		a.Numbers[i] = id + 1
	}
	return a
}

// mayClaim reports whether a slot has the number from an earlier master, or had it before
// it was lost; another slot may have it or have had it last, or the slot another number.
func (n *Numbers) mayClaim(h Holder, id int32, now sched.Time) bool {
	if mine, known := n.of[h]; known {
		return mine == id
	}
	if id < 0 || id >= n.limit {
		return false
	}
	if id < n.next() {
		if p := &n.numbers[id]; p.assigned || (p.holder != (Holder{}) && !n.rested(p, now)) {
			return false
		}
	}
	n.FollowsAnother(now)
	n.extend(id+1, now)
	return true
}

func (n *Numbers) assign(h Holder, id int32) {
	p := &n.numbers[id]
	if p.assigned && p.holder == h {
		return
	}
	if p.holder != h {
		delete(n.of, p.holder)
	}
	*p = number{holder: h, assigned: true}
	n.of[h] = id
}

// rested reports whether a number that is not assigned is free.
func (n *Numbers) rested(p *number, now sched.Time) bool {
	rest := n.rest.Lost
	if p.ended {
		rest = n.rest.Ended
	}
	return now-p.left >= rest
}

// free returns the lowest free numbers, up to the given count. When there are not enough
// below the limit, those of lost processes rest no longer than those of ended ones: a process
// that still lives where this master does not reach it is then refused, and started again.
func (n *Numbers) free(count int, now sched.Time) (list []int32) {
	for id := range n.numbers {
		if len(list) == count {
			return list
		}
		if p := &n.numbers[id]; !p.assigned && n.rested(p, now) {
			list = append(list, int32(id)) //nolint:gosec // below the limit
		}
	}
	if missing := count - len(list); missing <= int(n.limit-n.next()) {
		for range missing {
			list = append(list, n.next())
			n.extend(n.next()+1, now)
		}
		return list
	}
	for id := range n.numbers {
		if p := &n.numbers[id]; len(list) < count && !p.assigned && !n.rested(p, now) && now-p.left >= n.rest.Ended {
			list = append(list, int32(id)) //nolint:gosec // below the limit
		}
	}
	return list
}

// Release takes back the number of a slot that has left, after the process has ended or
// was lost.
func (n *Numbers) Release(id int32, ended bool, now sched.Time) {
	if id >= 0 && id < n.next() && n.numbers[id].assigned {
		p := &n.numbers[id]
		p.assigned, p.ended, p.presumed, p.left = false, ended, false, now
	}
}

// ReleaseAll takes back all numbers of a process, which was refused or has left.
func (n *Numbers) ReleaseAll(node string, incarnation int64, ended bool, now sched.Time) {
	for id := range n.numbers {
		if h := n.numbers[id].holder; h.Incarnation == incarnation && h.Node == node {
			n.Release(int32(id), ended, now) //nolint:gosec // below the limit
		}
	}
}

// Ended records that every process of a node but one has ended.
func (n *Numbers) Ended(node string, but int64) {
	for id := range n.numbers {
		if p := &n.numbers[id]; !p.assigned && p.holder.Node == node && p.holder.Incarnation != but {
			p.ended = true
		}
	}
}
