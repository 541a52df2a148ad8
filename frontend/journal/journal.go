package journal

import (
	"errors"
	"sync"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Journal is an open journal. Its methods may be called from any goroutine.
type Journal struct {
	dir   string
	opts  Options
	lock  *dirLock
	space space

	// reading is held by readers of the store, and by Close to end that.
	reading     sync.RWMutex
	store       backing // appended to by the committer alone
	storeClosed bool    // guarded by reading

	wake    chan struct{} // capacity 1: something is queued, or closed is set
	stopped chan struct{} // closed when the committer has ended

	mu       sync.Mutex
	live     map[sched.JobID]*liveJob
	queue    []ticket
	inflight []ticket // in the batch that is being written, not yet answered
	queued   int      // bytes in queue and inflight
	nextSeq  uint64   // of the next accepted job
	broken   error    // never unset
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

func newJournal(dir string, o Options, lock *dirLock) *Journal {
	return &Journal{
		dir: dir, opts: o, lock: lock, wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		live: make(map[sched.JobID]*liveJob), commit: committer{byJob: make(map[*liveJob]int), batch: new(store.Batch)},
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

// Close writes what is queued, answers every record, and releases the folder. It
// blocks until the committer has ended and may be called twice. A broken journal
// is left as it is, locked, until the process ends.
func (j *Journal) Close() error {
	j.mu.Lock()
	first := !j.closed
	j.closed = true
	broken := j.broken
	j.mu.Unlock()
	j.wakeCommitter()
	if broken != nil {
		return broken
	}
	<-j.stopped
	if err := j.Err(); err != nil || !first {
		return err
	}
	j.reading.Lock()
	defer j.reading.Unlock()
	j.storeClosed = true
	err := j.store.Close()
	if err == nil {
		err = j.commit.witness.acknowledge(j.commit.number, j.opts.Now())
	}
	return errors.Join(err, j.commit.witness.close(), j.lock.release())
}

func (j *Journal) wakeCommitter() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}
