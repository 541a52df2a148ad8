package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// ClaimWait is how long a master that follows another one leaves new slots without
// numbers, so that workers numbered by its predecessor claim their numbers first.
const ClaimWait = sched.Second

// Numbers are the numbers of the workers of a cluster, under policies in which all
// daemons know a worker by the same one: dense from 0, and each assigned to one slot of
// one process of a node for as long as this master lives.
type Numbers struct {
	limit   int32
	holders map[int32]Holder
	of      map[Holder]int32
	next    int32      // above all that were assigned or claimed
	follows bool       // there was a master before this one
	until   sched.Time // new slots wait for claims, where it follows another one
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
func NewNumbers(limit int32) *Numbers {
	return &Numbers{limit: limit, holders: map[int32]Holder{}, of: map[Holder]int32{}}
}

// FollowsAnother records that there was a master before this one.
func (n *Numbers) FollowsAnother(now sched.Time) {
	if !n.follows {
		n.follows, n.until = true, now+ClaimWait
	}
}

// Reserve records a number, plus one, that an earlier master assigned to a peer. The process
// that had it may be dead or not back yet: no other one gets it, nor any below.
func (n *Numbers) Reserve(highest int32, now sched.Time) {
	if highest > n.next && highest <= n.limit {
		n.FollowsAnother(now)
		n.next = highest
	}
}

// Assign numbers the slots of a node: each keeps the number that it has or claims, the
// others get new ones. A node that has claimed what other slots have gets none at all.
func (n *Numbers) Assign(node string, incarnation int64, claims []Claim, now sched.Time) (a Assignment) {
	for _, c := range claims {
		h := Holder{node, incarnation, c.Slot}
		if c.Number == 0 {
			if _, known := n.of[h]; !known {
				a.New++
			}
		} else if !n.claim(h, c.Number-1, now) {
			a.Conflicts = append(a.Conflicts, c.Number)
		}
	}
	switch {
	case len(a.Conflicts) > 0:
		return a
	case a.New > 0 && n.follows && now < n.until:
		a.Wait = n.until - now
		return a
	case a.New > int(n.limit-n.next):
		a.Exhausted = true
		return a
	}
	a.Numbers = make([]int32, len(claims))
	for i, c := range claims {
		a.Numbers[i] = n.number(Holder{node, incarnation, c.Slot}) + 1
	}
	return a
}

// claim assigns a slot the number that it has from an earlier master; false when another
// slot has it, or the slot another number.
func (n *Numbers) claim(h Holder, number int32, now sched.Time) bool {
	holder, taken := n.holders[number]
	mine, known := n.of[h]
	switch {
	case taken || known:
		return taken && known && holder == h && mine == number
	case number < 0 || number >= n.limit:
		return false
	}
	n.FollowsAnother(now)
	n.holders[number], n.of[h] = h, number
	n.next = max(n.next, number+1)
	return true
}

// number returns the slot's number, a new one if it has none.
func (n *Numbers) number(h Holder) int32 {
	number, known := n.of[h]
	if !known {
		number = n.next
		n.next++
		n.holders[number], n.of[h] = h, number
	}
	return number
}
