package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master remembers of attempts after they ended. A node keeps every
// result until it is acknowledged, some milliseconds as a rule, and takes those
// that are not along when it dies: their tasks have to be tried again, or they
// would be owed for ever. An owner that is away for longer sends all it is owed
// again when it is back.
const (
	keepEnded     = 10 * sched.Second
	keepEndedMost = 4096 // of one slot; a slot that ends more in that time is taken at its word
)

// endedList holds the attempts that ended in a slot a short while ago, as far as
// the master knows, the oldest first.
type endedList struct{ list []endedAttempt }

type endedAttempt struct {
	id    sched.AttemptID
	owner sched.Addr
	at    sched.Time
}

func (l *endedList) add(now sched.Time, id sched.AttemptID, owner sched.Addr) {
	if len(l.list) == cap(l.list) { // only then, so that adding stays cheap
		l.trim(now)
	}
	l.list = append(l.list, endedAttempt{id, owner, now})
}

// trim forgets what is old, and what is too much.
func (l *endedList) trim(now sched.Time) {
	drop := max(0, len(l.list)-keepEndedMost+1)
	for drop < len(l.list) && now-l.list[drop].at > keepEnded {
		drop++
	}
	l.list = slices.Delete(l.list, 0, drop)
}

// remove takes an attempt out and gives its owner; false when it is not there.
func (l *endedList) remove(id sched.AttemptID) (sched.Addr, bool) {
	for i, e := range slices.Backward(l.list) {
		if e.id == id {
			l.list = slices.Delete(l.list, i, i+1)
			return e.owner, true
		}
	}
	return sched.Addr{}, false
}

// each calls f for the attempts that ended a short while before now, the oldest
// first.
func (l *endedList) each(now sched.Time, f func(sched.AttemptID, sched.Addr)) {
	l.trim(now)
	for i := range l.list {
		f(l.list[i].id, l.list[i].owner)
	}
}
