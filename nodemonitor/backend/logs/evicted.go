package logs

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mostEvicted bounds the remembered attempts whose logs made room for others.
const mostEvicted = 10_000

// evicted remembers the attempts whose logs were dropped last before their retention was over. A
// reader is told so.
type evicted struct {
	known map[sched.AttemptID]bool
	order []sched.AttemptID // as a ring, from next on
	next  int
}

func (e *evicted) add(id sched.AttemptID) {
	if e.known[id] {
		return
	}
	if e.known == nil {
		e.known = map[sched.AttemptID]bool{}
	}
	if len(e.order) < mostEvicted {
		e.order = append(e.order, id)
	} else {
		delete(e.known, e.order[e.next])
		e.order[e.next] = id
		e.next = (e.next + 1) % mostEvicted
	}
	e.known[id] = true
}

// latest returns the latest of the attempts at a task, 0 for none.
func (e *evicted) latest(job sched.JobID, task int32) (attempt int32) {
	for _, id := range e.order {
		if id.Job == job && id.Task == task {
			attempt = max(attempt, id.Attempt)
		}
	}
	return attempt
}

// whyGone returns why an attempt has no logs here, and whether they made room for others.
func (s *Store) whyGone(id sched.AttemptID) (what string, madeRoom bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evicted.known[id] {
		return fmt.Sprintf("its logs have been removed to make room: this node keeps %d bytes (log_limit) and %d ended attempts at most, and removes first from who has most", s.cfg.MaxBytes, s.cfg.MaxAttempts), true
	}
	return fmt.Sprintf("this node has no logs of it (they are kept for %v after the end, and for less to make room within log_limit)", s.cfg.Retention), false
}
