package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Events come from three ordered sources: arrivals (ordered by the workload), messages
// (all have the same delay, so a ring keeps their order), and timers with the ends of
// tasks (a heap). The next event is the smallest (time, number) of the three heads.

// stamp orders events by time, then by the order in which they were created.
type stamp struct {
	at  sched.Time
	num uint64
}

func (a stamp) before(b stamp) bool {
	return a.at < b.at || (a.at == b.at && a.num < b.num)
}

// mail is a message in flight.
type mail struct {
	stamp
	from, to sched.Addr
	msg      sched.Message
}

// ring is a queue of mail that grows as needed.
type ring struct {
	buf         []mail
	first, size int
}

func (r *ring) push() *mail {
	if r.size == len(r.buf) {
		grown := make([]mail, max(64, 2*len(r.buf)))
		n := copy(grown, r.buf[r.first:])
		copy(grown[n:], r.buf[:r.first])
		r.buf, r.first = grown, 0
	}
	m := &r.buf[(r.first+r.size)&(len(r.buf)-1)]
	r.size++
	return m
}

func (r *ring) head() *mail { return &r.buf[r.first] }

func (r *ring) pop() {
	r.buf[r.first].msg = sched.Message{}
	r.first = (r.first + 1) & (len(r.buf) - 1)
	r.size--
}

// alarm is a core's timer, the end of a task at a worker or, with faults, a function
// call.
type alarm struct {
	stamp
	core    sched.Addr
	token   uint64 // of the timer; the index of a call
	run     int32  // index of the run that ends, isTimer or isCall
	version uint32 // of the run; the alarm is void if it has a newer one
}

// Values of alarm.run other than an index.
const (
	isTimer int32 = -1
	isCall  int32 = -2
)

// calls holds functions that are due at an instant, by the index in their alarm.
type calls struct {
	list []func()
	free []uint64
}

func (c *calls) add(f func()) uint64 {
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free, c.list[i] = c.free[:n-1], f
		return i
	}
	c.list = append(c.list, f)
	return uint64(len(c.list) - 1)
}

func (c *calls) take(i uint64) func() {
	f := c.list[i]
	c.list[i] = nil
	c.free = append(c.free, i)
	return f
}

// heap is a binary heap of alarms.
type heap []alarm

func (h *heap) push(a alarm) {
	s := append(*h, a)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s[i].before(s[up].stamp) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
	*h = s
}

func (h *heap) pop() alarm {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		least, l := i, 2*i+1
		if l < last && s[l].before(s[least].stamp) {
			least = l
		}
		if l+1 < last && s[l+1].before(s[least].stamp) {
			least = l + 1
		}
		if least == i {
			break
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
	*h = s
	return top
}
