package nodemonitor

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxReason bounds the reason of a result, which a backend may have written.
const maxReason = 4096

// result is how an attempt ended, kept until its frontend has acknowledged it.
type result struct {
	id       sched.AttemptID
	outcome  sched.Outcome
	slot     int32
	reason   string
	tail     []byte
	trace    api.Trace // of the span "running"
	elapsed  time.Duration
	exit     int // status of a process
	started  time.Time
	finished time.Time

	owner      *frontend
	sentAt     sched.Time
	list       *list // the one it is in
	prev, next int32
}

func (r *result) bytes() int64 { return int64(len(r.reason) + len(r.tail)) }

// list is a doubly linked list of results by their places in the table.
type list struct {
	first, last int32 // meaningless while n is 0
	n           int
}

// results is every kept result. The table and its free places are reused, so
// keeping one allocates nothing in the long run.
//
// Invariant: index has exactly the places of table that are in a list.
type results struct {
	limit    int
	maxBytes int64
	bytes    int64
	table    []result
	free     []int32
	index    map[sched.AttemptID]int32
}

func newResults(limit int, maxBytes int64) *results {
	return &results{limit: limit, maxBytes: maxBytes, index: map[sched.AttemptID]int32{}}
}

// room reports whether one more attempt may start beside those that run: its
// result must find a place.
func (k *results) room(running int) bool {
	return len(k.index)+running < k.limit && k.bytes < k.maxBytes
}

// fullness returns what there is no room for.
func (k *results) fullness(node string) string {
	return fmt.Sprintf("node %q keeps %d results (%d bytes) that their frontends have not acknowledged, its limit (max_results, max_result_bytes)",
		node, len(k.index), k.bytes)
}

// keep adds a result to the list; false when the attempt has one already, which
// stays.
func (k *results) keep(r result, l *list) bool {
	if _, known := k.index[r.id]; known {
		return false
	}
	if len(r.reason) > maxReason {
		r.reason = r.reason[:maxReason] + "..."
	}
	place := int32(len(k.table)) //nolint:gosec // below the limit and the slots
	if n := len(k.free); n > 0 {
		place = k.free[n-1]
		k.free = k.free[:n-1]
		k.table[place] = r
	} else {
		k.table = append(k.table, r)
	}
	k.index[r.id] = place
	k.bytes += r.bytes()
	k.push(place, l)
	return true
}

// drop forgets the result of an attempt; false when there is none.
func (k *results) drop(id sched.AttemptID) bool {
	place, ok := k.index[id]
	if !ok {
		return false
	}
	k.unlink(place)
	k.bytes -= k.table[place].bytes()
	k.table[place] = result{}
	k.free = append(k.free, place)
	delete(k.index, id)
	return true
}

// dropJob forgets the results of a job in the lists.
func (k *results) dropJob(job sched.JobID, lists ...*list) (dropped int) {
	for _, l := range lists {
		for place, n := l.first, l.n; n > 0; n-- {
			r := &k.table[place]
			place = r.next
			if r.id.Job == job && k.drop(r.id) {
				dropped++
			}
		}
	}
	return dropped
}

// move puts a result at the end of another list, or of its own.
func (k *results) move(place int32, to *list) {
	k.unlink(place)
	k.push(place, to)
}

func (k *results) push(place int32, l *list) {
	r := &k.table[place]
	r.list, r.prev, r.next = l, l.last, 0
	if l.n == 0 {
		l.first = place
	} else {
		k.table[l.last].next = place
	}
	l.last = place
	l.n++
}

func (k *results) unlink(place int32) {
	r := &k.table[place]
	l := r.list
	if place == l.first {
		l.first = r.next
	} else {
		k.table[r.prev].next = r.next
	}
	if place == l.last {
		l.last = r.prev
	} else {
		k.table[r.next].prev = r.prev
	}
	l.n--
}

// item writes the report of a result.
func (k *results) item(r *result, node wire.Ref, it *wire.Item) {
	it.From, it.To = node, r.owner.ref
	it.From.Slot = r.slot
	m := &it.Msg
	m.Kind, m.Job, m.First, m.Attempt = sched.Report, r.id.Job, r.id.Task, r.id.Attempt
	m.Outcome, m.Reason = r.outcome, r.reason
	it.Elapsed, it.Started, it.Finished = r.elapsed, r.started, r.finished
	it.Tail, it.Exit, it.Trace = r.tail, r.exit, r.trace
}
