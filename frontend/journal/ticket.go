package journal

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// ticket is one Append in progress.
type ticket struct {
	ops     []op
	size    int
	lazy    bool // it may be acknowledged before it is on the disk
	accepts bool // it accepts a job
	patient bool // it has ends of tasks, of jobs that go on or were cancelled, for which nobody waits
	done    func(error)
}

// op is one record, encoded.
type op struct {
	kind Kind
	id   sched.JobID
	job  *liveJob // nil for AppAt and Stopped, and for a job that is not held
	data []byte
	key  []byte // AppAt, JobEnded: where data is stored
	at   int64  // JobEnded
	task int32  // Stopped
}

// opOverhead stands for the memory of an op besides its bytes.
const opOverhead = 96

// Append queues records and returns. It refuses, keeping nothing, when a bound
// is reached or the journal is broken or closed; otherwise done, which may be
// nil, is called once: with nil when all records are on the disk, or with the
// reason why they are not. done runs on the committer and must not block. The
// records are not used after the return.
func (j *Journal) Append(recs []Record, done func(error)) error {
	t := ticket{ops: make([]op, len(recs)), lazy: true, patient: len(recs) > 0, done: done}
	for i := range recs {
		t.accepts = t.accepts || recs[i].Kind == Accepted
		if err := t.encode(i, &recs[i], j.ended.age.now); err != nil {
			return err
		}
	}
	if t.accepts && j.Err() == nil { // a broken store may hold the locks that the check needs
		if err := j.space.check(j); err != nil {
			return err
		}
	}
	return j.queue.push(&t)
}

func (t *ticket) encode(i int, r *Record, age func() int64) error {
	o := &t.ops[i]
	o.kind, o.id, o.task = r.Kind, r.Job, r.First
	switch r.Kind {
	case Accepted:
		o.id, o.data = r.Submission.Job, encodeSubmission(r.Submission)
	case JobEnded:
		e := *r.Ended
		e.At = age()
		o.key, o.data, o.at = endedKey(nil, r.Job), encodeEnded(&e), e.At
	case AppAt:
		o.key, o.data = appKey(nil, r.App), []byte(r.Socket)
	case Placed, Moved, Reclassed, NewAttempt, NewAttempts, Lost, NotLost, TaskEnded, TaskReported, Cancelled, Met, Stopped:
		o.data = appendEvent(make([]byte, 0, 32), r)
	default:
		return kindErr(r.Kind)
	}
	t.lazy = t.lazy && (r.Kind == Placed || r.Kind == Moved || r.Kind == Reclassed)
	t.patient = t.patient && (r.Kind == TaskEnded || r.Kind == TaskReported || r.Kind == Stopped)
	t.size += len(o.data) + opOverhead
	return nil
}
