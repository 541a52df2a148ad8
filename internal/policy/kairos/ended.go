package kairos

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a master remembers of attempts after they ended: a node keeps a result
// until it is acknowledged, and takes it along when it dies before that. The
// bounds are those of Pigeon's master.
const (
	keepEnded     = 10 * sched.Second
	keepEndedMost = 4096 // of one node
)

// ended holds the attempts that ended at a node a short while ago, the oldest
// first.
type ended struct{ list []endedAttempt }

type endedAttempt struct {
	id    sched.AttemptID
	owner sched.Addr
	at    sched.Time
}

func (e *ended) add(now sched.Time, id sched.AttemptID, owner sched.Addr) {
	if len(e.list) == cap(e.list) { // only then, so that adding stays cheap
		e.trim(now)
	}
	e.list = append(e.list, endedAttempt{id, owner, now})
}

// trim forgets what is old, and what is too much.
func (e *ended) trim(now sched.Time) {
	drop := max(0, len(e.list)-keepEndedMost+1)
	for drop < len(e.list) && now-e.list[drop].at > keepEnded {
		drop++
	}
	e.list = slices.Delete(e.list, 0, drop)
}

// each calls f for what ended a short while before now, the oldest first.
func (e *ended) each(now sched.Time, f func(sched.AttemptID, sched.Addr)) {
	e.trim(now)
	for i := range e.list {
		f(e.list[i].id, e.list[i].owner)
	}
}
