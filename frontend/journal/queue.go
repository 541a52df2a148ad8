package journal

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// ticket is one Append under way.
type ticket struct {
	ops  []op
	size int
	lazy bool // it may be acknowledged before it is on the disk
	done func(error)
}

// op is one record, encoded.
type op struct {
	kind Kind
	id   sched.JobID
	job  *liveJob // nil for AppAt, and for a job that is not held
	data []byte
	key  []byte // AppAt, JobEnded: where data is stored
	at   int64  // JobEnded
}

// opOverhead stands for the memory of an op besides its bytes.
const opOverhead = 96

// Append queues records and returns. It refuses, keeping nothing, when a bound
// is reached or the journal is broken or closed; otherwise done, which may be
// nil, is called once: with nil when all records are on the disk, or with the
// reason why they are not. done runs on the committer and must not block. The
// records are not kept after the return.
func (j *Journal) Append(recs []Record, done func(error)) error {
	t := ticket{ops: make([]op, len(recs)), lazy: true, done: done}
	accepts := false
	for i := range recs {
		accepts = accepts || recs[i].Kind == Accepted
		if err := t.encode(i, &recs[i]); err != nil {
			return err
		}
	}
	if accepts && j.Err() == nil { // a broken store may hold the locks that the check needs
		if err := j.space.check(j); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.refuse(&t, accepts); err != nil {
		return err
	}
	if err := j.resolve(&t); err != nil {
		return err
	}
	j.queue, j.queued = append(j.queue, t), j.queued+t.size
	j.wakeCommitter()
	return nil
}

func (t *ticket) encode(i int, r *Record) error {
	o := &t.ops[i]
	o.kind, o.id = r.Kind, r.Job
	switch r.Kind {
	case Accepted:
		o.id, o.data = r.Submission.Job, encodeSubmission(r.Submission)
	case JobEnded:
		o.key, o.data, o.at = endedKey(nil, r.Job), encodeEnded(r.Ended), r.Ended.At
	case AppAt:
		o.key, o.data = appKey(nil, r.App), []byte(r.Socket)
	case Placed, Moved, Reclassed, NewAttempt, TaskEnded, Cancelled:
		o.data = appendEvent(make([]byte, 0, 32), r)
	default:
		return &api.Error{Problem: api.Internal, Subject: "journal", What: fmt.Sprintf("a record of kind %d does not exist", r.Kind),
			Tried: "keeping it", Next: "report this as a fault of the frontend"}
	}
	t.lazy = t.lazy && (r.Kind == Placed || r.Kind == Moved || r.Kind == Reclassed)
	t.size += len(o.data) + opOverhead
	return nil
}

// refuse returns why nothing, or no new job, is accepted now.
func (j *Journal) refuse(t *ticket, accepts bool) error {
	limit, tried := 4*j.opts.MaxQueued, "keeping a record"
	if accepts {
		limit, tried = j.opts.MaxQueued, "accepting a job"
	}
	switch {
	case j.broken != nil:
		return j.broken
	case j.closed:
		return errClosed
	case j.queued > 0 && j.queued+t.size > limit:
		return busy(fmt.Sprintf("%d bytes wait to be written, the limit is %d", j.queued, limit), tried, "try again when the disk has caught up")
	}
	return nil
}

// resolve finds the jobs of the records and numbers new ones.
func (j *Journal) resolve(t *ticket) error {
	for i := range t.ops {
		o := &t.ops[i]
		if o.kind != Accepted {
			continue
		}
		if _, twice := j.live[o.id]; twice {
			j.unresolve(t.ops[:i])
			return &api.Error{Problem: api.Internal, Subject: "job " + o.id.String(), What: "it was accepted already",
				Tried: "accepting it again; nothing was changed", Next: "answer with the known job"}
		}
		o.job = &liveJob{seq: j.nextSeq}
		j.live[o.id] = o.job
		j.nextSeq++
	}
	for i := range t.ops {
		o := &t.ops[i]
		if o.kind == AppAt {
			continue
		}
		if job := j.live[o.id]; job != nil && !job.ending {
			o.job, job.ending = job, o.kind == JobEnded
		}
	}
	return nil
}

// unresolve forgets the jobs of an Append that is refused.
func (j *Journal) unresolve(ops []op) {
	for i := range ops {
		if ops[i].kind == Accepted {
			delete(j.live, ops[i].id)
		}
	}
}
