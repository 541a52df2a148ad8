package journal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Journal is an open journal. Its methods may be called from any goroutine.
type Journal struct {
	dir  string
	opts Options
	db   *pebble.DB // written by the committer alone
	lock *dirLock
	room room

	// using is held by whoever reads the store, and by Close to end that.
	using sync.RWMutex
	gone  bool // guarded by using: the store is closed

	wake    chan struct{} // capacity 1: something is queued, or closed is set
	stopped chan struct{} // closed when the committer is gone
	ended   chan struct{} // closed when the journal breaks

	mu       sync.Mutex
	live     map[sched.JobID]*liveJob
	queue    []ticket
	inflight []ticket // taken by the committer, not yet told
	queued   int      // bytes in queue and inflight
	nextSeq  uint64
	broken   error // sticks
	closed   bool

	commit committer // touched by the committer alone
}

// liveJob is what the journal remembers of a job that it holds on the disk.
type liveJob struct {
	seq     uint64 // never changes
	bundles uint32 // written by the committer: bundles of records on the disk
	stored  bool   // written by the committer: the submission is on the disk
	ending  bool   // guarded by mu: its JobEnded is queued
}

// ticket is one Append under way.
type ticket struct {
	ops  []op
	size int
	lazy bool // nothing in it needs the disk
	done func(error)
}

// op is one record, encoded.
type op struct {
	kind Kind
	id   sched.JobID
	job  *liveJob // nil for AppAt
	data []byte
	key  []byte // AppAt, JobEnded: where data goes
	at   int64  // JobEnded
}

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
		if err := j.room.check(j); err != nil {
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
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return nil
}

// opOverhead stands for the memory of an op besides its bytes.
const opOverhead = 96

func (t *ticket) encode(i int, r *Record) error {
	o := &t.ops[i]
	o.kind, o.id = r.Kind, r.Job
	switch r.Kind {
	case Accepted:
		o.id, o.data = r.Submission.Job, encodeSubmission(r.Submission)
	case JobEnded:
		o.key, o.data, o.at = endedKey(nil, r.Job), encodeEnded(nil, r.Ended), r.Ended.At
	case AppAt:
		o.key, o.data = appKey(nil, r.App), []byte(r.Socket)
	case Placed, Moved, Reclassed, NewAttempt, TaskEnded, Cancelled:
		o.data = encodeEvent(make([]byte, 0, 32), r)
	default:
		return &api.Error{Problem: api.Internal, Subject: "journal", What: fmt.Sprintf("a record of kind %d does not exist", r.Kind),
			Tried: "keeping it", Next: "report this as a fault of the frontend"}
	}
	t.lazy = t.lazy && (r.Kind == Placed || r.Kind == Moved || r.Kind == Reclassed)
	t.size += len(o.data) + opOverhead
	return nil
}

// refuse returns why nothing, or no new job, is taken now.
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

func (j *Journal) unresolve(ops []op) {
	for i := range ops {
		if ops[i].kind == Accepted {
			delete(j.live, ops[i].id)
		}
	}
}

// Unfinished returns how many jobs are accepted and have not ended.
func (j *Journal) Unfinished() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.live)
}

// Err returns why the journal is broken, nil while it works.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken
}

// DiskBytes returns what the journal takes on the disk, 0 when it is closed.
func (j *Journal) DiskBytes() uint64 {
	j.using.RLock()
	defer j.using.RUnlock()
	if j.gone {
		return 0
	}
	return j.db.Metrics().DiskSpaceUsage()
}

// Close writes what is queued, tells everybody, and lets the folder go. It
// blocks until the committer is gone and may be called twice. A broken journal
// is left as it is, locked, until the process ends.
func (j *Journal) Close() error {
	j.mu.Lock()
	first := !j.closed
	j.closed = true
	broken := j.broken
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
	if broken != nil {
		return broken
	}
	<-j.stopped
	if err := j.Err(); err != nil || !first {
		return err
	}
	j.using.Lock()
	defer j.using.Unlock()
	j.gone = true
	return errors.Join(j.db.Close(), j.lock.release())
}

// roomEvery is how old the answer to "is there room" may be.
const roomEvery = time.Second

// room knows whether the disk has room for new jobs.
type room struct {
	mu   sync.Mutex
	at   time.Time
	full error
}

func (r *room) check(j *Journal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := j.opts.Now()
	if !r.at.IsZero() && now.Sub(r.at).Abs() < roomEvery {
		return r.full
	}
	r.at, r.full = now, nil
	if used := j.DiskBytes(); used > j.opts.MaxBytes {
		r.full = busy(fmt.Sprintf("it takes %d bytes in %s, the limit is %d", used, j.dir, j.opts.MaxBytes), "accepting a job", "wait until jobs have ended, or raise the limit")
	}
	if u, err := j.opts.fs.GetDiskUsage(j.dir); err == nil && u.AvailBytes < j.opts.MinFree {
		r.full = busy(fmt.Sprintf("%d bytes are free on the disk of %s, %d must stay free for the ends of accepted jobs", u.AvailBytes, j.dir, j.opts.MinFree),
			"accepting a job", "make room on the disk")
	}
	return r.full
}
