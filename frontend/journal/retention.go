package journal

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// endedJobs reads what the store keeps of ended jobs.
type endedJobs struct {
	dir   string
	store backing
	keep  time.Duration
	most  int64
	age   age
	count endedCount
	fail  func(error) // breaks the journal

	replica *replica.Store // nil for a journal in a folder
}

// expired returns the age before which ended jobs are removed.
func (e *endedJobs) expired() int64 { return e.age.now() - int64(e.keep) }

// get returns what is kept of an ended job, nil when nothing is.
func (e *endedJobs) get(id sched.JobID) (*Ended, error) {
	ended, err := e.read(id)
	if err != nil {
		return nil, e.fault("looking up an ended job", err)
	}
	return ended, nil
}

// read is get with the error of the store.
func (e *endedJobs) read(id sched.JobID) (*Ended, error) {
	v, err := e.store.Get(endedKey(nil, id))
	if err != nil {
		return nil, fmt.Errorf("the ended job %s: %w", id, err)
	}
	if len(v) == 0 { // 0: earlier versions kept that of a job that was damaged
		return nil, nil
	}
	ended, err := decodeEnded(v)
	if err != nil {
		return nil, fmt.Errorf("the ended job %s: %w", id, &store.DamageError{Err: err})
	}
	return ended, nil
}

// fault returns the error of a read. One that is damage breaks the journal: a key of which nothing can be
// read could be accepted a second time.
func (e *endedJobs) fault(tried string, err error) error {
	if _, ok := errors.AsType[*store.DamageError](err); !ok {
		return folderErr(e.dir, tried, err)
	}
	broken := e.damaged(tried, err, nameSome(firstJobs(e.store)))
	e.fail(broken)
	return broken
}

// damaged returns why the journal breaks at damage that is met at work. unfinished says which jobs an
// empty journal would lose.
func (e *endedJobs) damaged(tried string, err error, unfinished string) error {
	broken := damageOf(e.dir, err, unfinished)
	if e.replica != nil && e.replica.Damaged() {
		broken = damagedCopyErr(e.dir, err)
	}
	broken.Tried = tried + "; nothing is acknowledged since"
	return broken
}

const (
	// sweepEvery is the least time between two sweeps for expired jobs.
	sweepEvery = time.Second
	// sweepJobs bounds a sweep, so that a batch that carries one stays short. It
	// is above the rate at which jobs are accepted.
	sweepJobs = 20_000
)

// neverTooMany is how long after its end a job is kept even if there are too many, so that
// its submission can be repeated.
const neverTooMany = 10 * time.Second

var errSweepFull = errors.New("the sweep has reached its bound")

// sweep removes ended jobs whose retention is over, and the oldest when there are too many.
// It needs no timer: a journal to which nothing is appended does not grow.
type sweep struct {
	jobs *endedJobs
	done bool   // at least one sweep
	at   int64  // age at the last one
	from []byte // the key at which the next one starts
}

// expire adds the removal of jobs to the batch, unless it did so a moment ago. It reports
// whether it looked for any.
func (s *sweep) expire(b *store.Batch) (bool, error) {
	now := s.jobs.age.now()
	if s.done && now-s.at < int64(sweepEvery) {
		return false, nil
	}
	s.done, s.at = true, now
	if len(s.from) == 0 {
		s.from = []byte{prefixExpiry}
	}
	n := 0
	err := s.removeBefore(b, s.jobs.expired(), &n, sweepJobs, &s.jobs.count.expired)
	if more := s.jobs.count.kept.Load() - s.jobs.most; err == nil && more > 0 {
		err = s.removeBefore(b, now-int64(neverTooMany), &n, min(n+int(more), sweepJobs), &s.jobs.count.overLimits)
	}
	if err != nil && !errors.Is(err, errSweepFull) {
		return true, s.jobs.fault("removing jobs whose retention is over", err)
	}
	return true, nil
}

// removeBefore removes the jobs that ended before an age, the oldest first, until n has
// grown to limit.
func (s *sweep) removeBefore(b *store.Batch, before int64, n *int, limit int, why *atomic.Uint64) error {
	return s.jobs.store.Scan(slices.Clone(s.from), expiryKey(nil, before, sched.JobID{}), func(key, _ []byte) error {
		if *n >= limit {
			return errSweepFull
		}
		*n++
		s.from = append(append(s.from[:0], key...), 0)
		return s.remove(b, key, why)
	})
}

// remove removes one expired job, or where a task of one was stopped. A job of the same key that was
// accepted and ended since then has another instant, and stays.
func (s *sweep) remove(b *store.Batch, key []byte, why *atomic.Uint64) error {
	at, id, ok := parseExpiry(key)
	if !ok {
		b.Delete(key)
		return nil
	}
	s.jobs.removed(why)
	e, err := s.jobs.read(id)
	if err != nil {
		return err
	}
	if e != nil && max(e.At, 0) == at {
		b.Delete(endedKey(nil, id))
	}
	b.Delete(key)
	return nil
}
