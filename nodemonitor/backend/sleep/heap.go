package sleep

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// sleeper is one attempt. A suspended one is out of the heap (at is -1) and due
// holds what is left of its sleep instead of an instant.
type sleeper struct {
	due     time.Duration // since the backend's base
	seq     uint64        // orders equal due times
	at      int           // position in the heap, -1 outside
	id      sched.AttemptID
	started time.Time
	done    func(backend.Result)
}

// queue is a binary heap of sleepers, the first due on top. Each sleeper has
// its position, so that a kill costs a logarithm and no search.
type queue []*sleeper

func (s *sleeper) before(o *sleeper) bool {
	return s.due < o.due || s.due == o.due && s.seq < o.seq
}

func (q *queue) push(s *sleeper) {
	s.at = len(*q)
	*q = append(*q, s)
	q.up(s.at)
}

// remove removes the sleeper at position i.
func (q *queue) remove(i int) *sleeper {
	h := *q
	last := len(h) - 1
	out := h[i]
	h[i] = h[last]
	h[i].at = i
	h[last] = nil
	*q = h[:last]
	if i < last {
		q.down(i)
		q.up(i)
	}
	out.at = -1
	return out
}

func (q *queue) up(i int) {
	h := *q
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (q *queue) down(i int) {
	h := *q
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if second := first + 1; second < len(h) && h[second].before(h[first]) {
			first = second
		}
		if !h[first].before(h[i]) {
			return
		}
		h.swap(i, first)
		i = first
	}
}

func (q queue) swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// valid reports whether every sleeper has its position and none is before its parent.
// Tests call it after every step.
func (q queue) valid() bool {
	for i, s := range q {
		if s.at != i || i > 0 && s.before(q[(i-1)/2]) {
			return false
		}
	}
	return true
}
