package journal

import (
	"fmt"
	"slices"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// queue holds the tickets between Append and the committer, and the jobs that are
// live once these tickets are written. Its methods may be called from any
// goroutine, except next and written, which the committer alone calls.
type queue struct {
	dir   string
	limit int           // of bytes, for new jobs; four times as many for other records
	wake  chan struct{} // capacity 1: something is waiting, or closed is set
	gone  chan struct{} // closed when the journal is broken

	mu       sync.Mutex
	live     map[sched.JobID]*liveJob
	waiting  []ticket
	urgent   int      // how many of them are not patient
	inflight []ticket // in the batch that is being written, not yet answered
	buffer   []ticket // the memory of inflight, reused
	bytes    int      // in waiting and inflight
	nextSeq  uint64   // of the next accepted job
	broken   error    // never unset
	closed   bool
}

// liveJob is what the journal remembers of a job that it holds on the disk.
type liveJob struct {
	seq     uint64 // never changes
	bundles uint32 // written by the committer: bundles of records on the disk
	stored  bool   // written by the committer: the submission is on the disk
	ending  bool   // guarded by the queue's mu: its JobEnded is queued
}

func newQueue(dir string, limit int) *queue {
	return &queue{dir: dir, limit: limit, wake: make(chan struct{}, 1), gone: make(chan struct{}), live: make(map[sched.JobID]*liveJob)}
}

// push queues a ticket, or returns why it is refused.
func (q *queue) push(t *ticket) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refuse(t); err != nil {
		return err
	}
	if err := q.resolve(t); err != nil {
		return err
	}
	q.waiting, q.bytes = append(q.waiting, *t), q.bytes+t.size
	if !t.patient {
		q.urgent++
	}
	q.signal()
	return nil
}

// refuse returns why nothing, or no new job, is accepted now.
func (q *queue) refuse(t *ticket) error {
	limit, tried := 4*q.limit, "keeping a record"
	if t.accepts {
		limit, tried = q.limit, "accepting a job"
	}
	switch {
	case q.broken != nil:
		return q.broken
	case q.closed:
		return errClosed
	case q.bytes > 0 && q.bytes+t.size > limit:
		return busy(fmt.Sprintf("%d bytes wait to be written, the limit is %d", q.bytes, limit), tried, "try again when the disk has caught up")
	}
	return nil
}

// resolve finds the jobs of the records and numbers new ones.
func (q *queue) resolve(t *ticket) error {
	for i := range t.ops {
		o := &t.ops[i]
		if o.kind != Accepted {
			continue
		}
		if _, twice := q.live[o.id]; twice {
			for _, earlier := range t.ops[:i] {
				if earlier.kind == Accepted {
					delete(q.live, earlier.id)
				}
			}
			return acceptedTwiceErr(o.id)
		}
		o.job = &liveJob{seq: q.nextSeq}
		q.live[o.id] = o.job
		q.nextSeq++
	}
	for i := range t.ops {
		o := &t.ops[i]
		if o.kind == AppAt || o.kind == Stopped {
			continue
		}
		if job := q.live[o.id]; job != nil && !job.ending {
			o.job, job.ending = job, o.kind == JobEnded
		}
	}
	return nil
}

// next moves what the next batch holds from waiting to inflight and returns it, empty when there
// is nothing to write. With hold it leaves what may wait longer, and reports whether there is any.
func (q *queue) next(hold bool) (tickets []ticket, held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.broken != nil || len(q.waiting) == 0 {
		return nil, false
	}
	if hold && q.urgent == 0 && q.bytes < batchBytes && !q.closed {
		return nil, true
	}
	n, size := 0, 0
	for n < len(q.waiting) && (n == 0 || size+q.waiting[n].size <= batchBytes) {
		size += q.waiting[n].size
		if !q.waiting[n].patient {
			q.urgent--
		}
		n++
	}
	q.buffer = append(q.buffer[:0], q.waiting[:n]...)
	q.inflight = q.buffer
	q.waiting = slices.Delete(q.waiting, 0, n)
	return q.inflight, false
}

// written removes the tickets of a batch that is written, and the jobs that ended
// in it. It returns false when the journal broke meanwhile: fail has answered the
// tickets then.
func (q *queue) written(tickets []ticket, ended []op) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.broken != nil {
		return false
	}
	q.inflight = nil
	for i := range tickets {
		q.bytes -= tickets[i].size
	}
	for i := range ended {
		delete(q.live, ended[i].id)
	}
	return true
}

// fail breaks the journal for good and answers every ticket with the reason. The
// store may call it from any of its goroutines, while the committer is blocked in
// an append.
func (q *queue) fail(err error) { q.end(brokenErr(q.dir, err)) }

// end breaks the journal with the reason that every caller gets.
func (q *queue) end(reason error) {
	q.mu.Lock()
	if q.broken != nil {
		q.mu.Unlock()
		return
	}
	q.broken = reason
	close(q.gone)
	broken := q.broken
	tickets := slices.Concat(q.inflight, q.waiting)
	q.inflight, q.waiting, q.urgent, q.bytes = nil, nil, 0, 0
	q.mu.Unlock()
	answer(tickets, broken)
}

// answer calls what the callers of Append passed.
func answer(tickets []ticket, err error) {
	for i := range tickets {
		if done := tickets[i].done; done != nil {
			done(err)
		}
	}
}

// err returns why the journal is broken, nil while it works.
func (q *queue) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.broken
}

// finished reports whether the committer has nothing more to do.
func (q *queue) finished() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.broken != nil || q.closed && len(q.waiting) == 0
}

// close refuses every ticket from now on. It reports whether this was the first
// call, and why the journal is broken.
func (q *queue) close() (first bool, broken error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first, q.closed = !q.closed, true
	q.signal()
	return first, q.broken
}

func (q *queue) isLive(id sched.JobID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.live[id] != nil
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
