// Package ended is what a master remembers of attempts after they ended. A node
// keeps every result until it is acknowledged, some milliseconds as a rule, and takes
// those that are not along when it dies: their tasks have to be tried again, or they
// would be owed for ever. An owner that is away for longer sends all it is owed again
// when it is back.
package ended

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Bounds of a list.
const (
	Keep = 10 * sched.Second // how long an end is remembered
	most = 4096              // a place where more ends in that time is taken at its word
)

// List holds the attempts that ended in one place, a slot or a node, a short while
// ago, as far as the master knows, the oldest first. The zero value is empty.
type List struct{ list []attempt }

type attempt struct {
	id    sched.AttemptID
	owner sched.Addr
	at    sched.Time
}

// Add notes that the owner's attempt ended.
func (l *List) Add(now sched.Time, id sched.AttemptID, owner sched.Addr) {
	if len(l.list) == cap(l.list) { // only then, so that adding stays cheap
		l.trim(now)
	}
	l.list = append(l.list, attempt{id, owner, now})
}

// trim forgets what is old, and what is too much.
func (l *List) trim(now sched.Time) {
	drop := max(0, len(l.list)-most+1)
	for drop < len(l.list) && now-l.list[drop].at > Keep {
		drop++
	}
	l.list = slices.Delete(l.list, 0, drop)
}

// Remove takes an attempt out and returns its owner; false when it is not there.
func (l *List) Remove(id sched.AttemptID) (sched.Addr, bool) {
	for i, e := range slices.Backward(l.list) {
		if e.id == id {
			l.list = slices.Delete(l.list, i, i+1)
			return e.owner, true
		}
	}
	return sched.Addr{}, false
}

// Each calls f for the attempts that ended a short while before now, the oldest
// first.
func (l *List) Each(now sched.Time, f func(sched.AttemptID, sched.Addr)) {
	l.trim(now)
	for i := range l.list {
		f(l.list[i].id, l.list[i].owner)
	}
}
