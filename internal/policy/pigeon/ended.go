package pigeon

import "github.com/pigeon-sched/pigeon/internal/sched"

// keepEnded is how many of a slot's last attempts its master remembers after
// they ended. A node keeps every result until it is acknowledged, some
// milliseconds as a rule, and takes those that are not along when it dies.
const keepEnded = 16

// endedRing holds the attempts that ended last in a slot, as far as the master
// knows: their reports may never have arrived.
type endedRing struct {
	last [keepEnded]endedAttempt
	next int
}

type endedAttempt struct {
	id    sched.AttemptID // Attempt 0: none
	owner sched.Addr
}

func (r *endedRing) add(id sched.AttemptID, owner sched.Addr) {
	r.last[r.next] = endedAttempt{id, owner}
	r.next = (r.next + 1) % keepEnded
}

// remove takes an attempt out and gives its owner; false when it is not there.
func (r *endedRing) remove(id sched.AttemptID) (sched.Addr, bool) {
	for i := range r.last {
		if e := &r.last[i]; e.id == id {
			owner := e.owner
			*e = endedAttempt{}
			return owner, true
		}
	}
	return sched.Addr{}, false
}

// each calls f for the attempts, the oldest first.
func (r *endedRing) each(f func(sched.AttemptID, sched.Addr)) {
	for i := range r.last {
		if e := &r.last[(r.next+i)%keepEnded]; e.id.Attempt > 0 {
			f(e.id, e.owner)
		}
	}
}
