// Package ended is a master's record of attempts that ended a short while ago. A node
// keeps every result until it is acknowledged, normally for some milliseconds. When it
// dies, the results not yet acknowledged are lost with it, and their tasks must be tried
// again, or they would be owed forever. A distributor that is away for longer sends all its
// unfinished tasks again when it returns.
package ended

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Bounds of a list.
const (
	Keep = 10 * sched.Second // how long an end is remembered
	most = 4096              // attempts kept per place; beyond that the oldest are taken for acknowledged
)

// List holds the attempts that by the master's knowledge ended in one place, a slot
// or a node, a short while ago, the oldest first. The zero value is empty.
type List struct{ list []attempt }

type attempt struct {
	id          sched.AttemptID
	distributor sched.Addr
	at          sched.Time
	launch      uint64
}

// Add records that the distributor's attempt ended. The launch is the number that it named, as
// the place counts them; 0 when that is not known.
func (l *List) Add(now sched.Time, id sched.AttemptID, distributor sched.Addr, launch uint64) {
	if n := len(l.list); n == cap(l.list) { // trimming at every call would cost more than it saves
		l.trim(now)
		if n = len(l.list); n == cap(l.list) {
			l.list = append(make([]attempt, 0, min(max(8, 2*n), most)), l.list...)
		}
	}
	l.list = append(l.list, attempt{id, distributor, now, launch})
}

// trim drops the attempts that are older than Keep or exceed most.
func (l *List) trim(now sched.Time) {
	drop := max(0, len(l.list)-most+1)
	for drop < len(l.list) && now-l.list[drop].at > Keep {
		drop++
	}
	l.list = slices.Delete(l.list, 0, drop)
}

// Keep records that results of these attempts are still kept there: they count as ended
// now. One that is not in the list was of a distributor that is not known.
func (l *List) Keep(now sched.Time, kept []sched.AttemptID) {
	if len(kept) == 0 {
		return
	}
	distributors := make(map[sched.AttemptID]sched.Addr, len(kept))
	for _, id := range kept {
		distributors[id] = sched.Addr{Role: sched.Distributor, ID: sched.Everyone}
	}
	l.list = slices.DeleteFunc(l.list, func(e attempt) bool {
		_, again := distributors[e.id]
		if again {
			distributors[e.id] = e.distributor
		}
		return again
	})
	for _, id := range kept {
		if distributor, once := distributors[id]; once {
			delete(distributors, id)
			l.Add(now, id, distributor, 0)
		}
	}
}

// Refused removes an attempt that never ran, as its place refused it, and returns its
// distributor. It returns false when the attempt is not in the list, or the refusal names a
// number before the attempt's launch: then it is about a former launch of the attempt to the
// place, which came twice and was refused twice.
func (l *List) Refused(id sched.AttemptID, number uint64) (sched.Addr, bool) {
	for i, e := range slices.Backward(l.list) {
		if e.id == id {
			if number < e.launch {
				return sched.Addr{}, false
			}
			l.list = slices.Delete(l.list, i, i+1)
			return e.distributor, true
		}
	}
	return sched.Addr{}, false
}

// Each calls f for all attempts of the list, the oldest first. It is for a place that is
// lost. How long ago they ended does not count then: a master that was itself paused
// meanwhile would take results for acknowledged that were lost with the place.
// Distributors ignore the loss of an attempt whose result they have.
func (l *List) Each(f func(sched.AttemptID, sched.Addr)) {
	for i := range l.list {
		f(l.list[i].id, l.list[i].distributor)
	}
}

// recent calls f for the attempts that ended a short while before now, the oldest first.
func (l *List) recent(now sched.Time, f func(sched.AttemptID)) {
	for i := range l.list {
		if now-l.list[i].at <= Keep {
			f(l.list[i].id)
		}
	}
}

// All calls f for every attempt in the list, and changes nothing.
func (l *List) All(f func(sched.AttemptID)) {
	for i := range l.list {
		f(l.list[i].id)
	}
}
