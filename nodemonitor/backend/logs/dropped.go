package logs

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mostDropped bounds the attempts of which it is remembered that their logs made room for others.
const mostDropped = 10_000

// dropped remembers the attempts whose logs were dropped last before their retention was over. A
// reader is told so.
type dropped struct {
	known map[sched.AttemptID]bool
	order []sched.AttemptID // as a ring, from next on
	next  int
}

func (d *dropped) add(id sched.AttemptID) {
	if d.known[id] {
		return
	}
	if d.known == nil {
		d.known = map[sched.AttemptID]bool{}
	}
	if len(d.order) < mostDropped {
		d.order = append(d.order, id)
	} else {
		delete(d.known, d.order[d.next])
		d.order[d.next] = id
		d.next = (d.next + 1) % mostDropped
	}
	d.known[id] = true
}

// madeRoom returns that the logs of an attempt made room for others, "" when that is not known.
func (s *Store) madeRoom(id sched.AttemptID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dropped.known[id] {
		return ""
	}
	return fmt.Sprintf("its logs have been removed to make room: this node keeps %d bytes (log_limit) and %d ended attempts at most", s.cfg.MaxBytes, s.cfg.MaxAttempts)
}
