package results

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxReason bounds the reason of a result, which a backend may have written.
const maxReason = 4096

// Result is how an attempt ended.
type Result struct {
	ID        sched.AttemptID
	Outcome   sched.Outcome
	Slot      int32
	Reason    string
	Tail      []byte    // end of stderr
	Trace     api.Trace // of the span "running"
	Elapsed   time.Duration
	Suspended time.Duration // for how much of that it was suspended
	Exit      int           // status of a process
	Code      string        // of a failure
	Together  uint8         // how many attempts were lost with their guard, this one included; 255 for more, 0 for another end
	Started   time.Time
	Finished  time.Time
	Secret    int64 // of the attempt's launch
}

func (r *Result) bytes() int64 { return int64(len(r.Reason) + len(r.Tail)) }

// entry is a kept result.
type entry struct {
	Result
	number      int64 // of the result: another run of its attempt has another one
	distributor *frontend
	keptAt      sched.Time // since when it is kept
	sentAt      sched.Time
	list        *list // the one it is in; nil in a free place
	prev, next  int32
}

// list is a doubly linked list of entries by their places in the table.
type list struct {
	first, last int32 // meaningless while n is 0
	n           int
}

// store is every kept result. The table and its free places are reused, so keeping
// one allocates nothing in the long run.
//
// Invariant: index has exactly the places of table that are in a list.
type store struct {
	limit    int
	maxBytes int64
	bytes    int64
	number   int64 // of the result that was last kept
	table    []entry
	free     []int32
	index    map[sched.AttemptID]int32
}

func newStore(limit int, maxBytes, number int64) *store {
	return &store{limit: limit, maxBytes: maxBytes, number: number, index: map[sched.AttemptID]int32{}}
}

// keep adds a result of a frontend's to the list; false when the attempt has one
// already, which stays.
func (s *store) keep(r Result, now sched.Time, distributor *frontend, l *list) bool {
	if _, known := s.index[r.ID]; known {
		return false
	}
	r.Reason = api.Clip(r.Reason, maxReason)
	place := int32(len(s.table)) //nolint:gosec // below the limit and the slots
	s.number++
	e := entry{Result: r, number: s.number, distributor: distributor, keptAt: now}
	if n := len(s.free); n > 0 {
		place = s.free[n-1]
		s.free = s.free[:n-1]
		s.table[place] = e
	} else {
		s.table = append(s.table, e)
	}
	s.index[r.ID] = place
	s.bytes += r.bytes()
	if distributor != nil {
		distributor.bytes += r.bytes()
	}
	s.push(place, l)
	return true
}

// drop forgets the result of an attempt; false when there is none.
func (s *store) drop(id sched.AttemptID) bool {
	place, ok := s.index[id]
	if !ok {
		return false
	}
	s.unlink(place)
	e := &s.table[place]
	s.bytes -= e.bytes()
	if e.distributor != nil {
		e.distributor.bytes -= e.bytes()
	}
	*e = entry{}
	s.free = append(s.free, place)
	delete(s.index, id)
	return true
}

// keeps reports whether a distributor's result is kept, by its number; a later one of the same
// attempt may be kept although that one is not.
func (s *store) keeps(id sched.AttemptID, number int64, distributor *frontend) bool {
	place, ok := s.index[id]
	return ok && s.table[place].distributor == distributor && s.table[place].number == number
}

// move puts a result at the end of a list.
func (s *store) move(place int32, to *list) {
	s.unlink(place)
	s.push(place, to)
}

func (s *store) push(place int32, l *list) {
	e := &s.table[place]
	e.list, e.prev, e.next = l, l.last, 0
	if l.n == 0 {
		l.first = place
	} else {
		s.table[l.last].next = place
	}
	l.last = place
	l.n++
}

func (s *store) unlink(place int32) {
	e := &s.table[place]
	l := e.list
	if place == l.first {
		l.first = e.next
	} else {
		s.table[e.prev].next = e.next
	}
	if place == l.last {
		l.last = e.prev
	} else {
		s.table[e.next].prev = e.prev
	}
	l.n--
}

// item writes the report of a result.
func (e *entry) item(node wire.Ref, it *wire.Item) {
	it.From, it.To = node, e.distributor.ref
	it.From.Slot = e.Slot
	m := &it.Msg
	m.Kind, m.Job, m.First, m.Attempt = sched.Report, e.ID.Job, e.ID.Task, e.ID.Attempt
	m.Outcome, m.Reason, m.Losses = e.Outcome, e.Reason, e.Together
	it.Elapsed, it.Suspended, it.Started, it.Finished = e.Elapsed, e.Suspended, e.Started, e.Finished
	it.Tail, it.Exit, it.Code, it.Trace, it.ResultNumber = e.Tail, e.Exit, e.Code, e.Trace, e.number
	it.Secret = e.Secret
}
