package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// keepEnded is how many of a node's last attempts its master remembers after they
// ended: their reports may die with the node.
const keepEnded = 16

// ended holds the attempts that ended last at a node.
type ended struct {
	last [keepEnded]endedAttempt
	next int
}

type endedAttempt struct {
	id    sched.AttemptID // Attempt 0: none
	owner sched.Addr
}

func (e *ended) add(id sched.AttemptID, owner sched.Addr) {
	e.last[e.next] = endedAttempt{id, owner}
	e.next = (e.next + 1) % keepEnded
}

// each calls f for the attempts, the oldest first.
func (e *ended) each(f func(sched.AttemptID, sched.Addr)) {
	for i := range e.last {
		if a := &e.last[(e.next+i)%keepEnded]; a.id.Attempt > 0 {
			f(a.id, a.owner)
		}
	}
}
