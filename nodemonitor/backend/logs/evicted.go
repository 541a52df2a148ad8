package logs

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mostEvicted bounds the attempts of which it is remembered that their logs made room for others.
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

// madeRoom returns that the logs of an attempt made room for others, "" when that is not known.
func (s *Store) madeRoom(id sched.AttemptID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.evicted.known[id] {
		return ""
	}
	return fmt.Sprintf("its logs have been removed to make room: this node keeps %d bytes (log_limit) and %d ended attempts at most", s.cfg.MaxBytes, s.cfg.MaxAttempts)
}
