package journal

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	log   *slog.Logger
	told  sync.Once // that some of it is damaged
	met   chan met  // damage to be repaired, of size 1
	stuck bool      // the committer could not repair the index
}

// expired returns the age before which ended jobs are removed.
func (e *endedJobs) expired() int64 { return e.age.now() - int64(e.keep) }

// get returns what is kept of an ended job, nil when nothing is.
func (e *endedJobs) get(id sched.JobID) (*Ended, error) {
	ended, err := e.read(id)
	switch {
	case e.isDamage(err):
		return nil, damagedJobErr(id)
	case err != nil:
		return nil, folderErr(e.dir, "looking up the ended job "+id.String(), err)
	}
	return ended, nil
}

// read is get with the error of the store.
func (e *endedJobs) read(id sched.JobID) (*Ended, error) {
	v, err := e.store.Get(endedKey(nil, id))
	if err != nil || v == nil {
		return nil, err
	}
	ended, err := decodeEnded(v)
	if err != nil {
		return nil, &store.DamageError{Err: err}
	}
	return ended, nil
}

// isDamage reports whether an error is damage to what is kept of ended jobs, and logs the first such
// error. Nothing that is owed depends on these jobs, so the journal continues without them.
func (e *endedJobs) isDamage(err error) bool {
	d, ok := errors.AsType[*store.DamageError](err)
	if ok {
		e.told.Do(func() {
			what, _, _ := strings.Cut(d.Error(), "\n") // the store repeats itself on further lines
			e.log.Warn("some of what the journal keeps of ended jobs is damaged; unfinished jobs are not affected", "folder", e.dir, "file", d.File, "error", what)
		})
	}
	return ok
}

// meet has the committer repair damage that was met. It may be called from any goroutine.
func (e *endedJobs) meet(err error, merging bool) {
	if d, ok := errors.AsType[*store.DamageError](err); ok {
		select {
		case e.met <- met{d, merging}:
		default: // the store will meet it again, as the sweep will
		}
	}
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
	if s.jobs.isDamage(err) && !s.jobs.stuck { // of the index: the jobs behind it would never be forgotten
		s.jobs.meet(err, false)
	}
	if errors.Is(err, errSweepFull) || s.jobs.isDamage(err) {
		err = nil
	}
	return true, err
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
// accepted and ended since then has another instant, and stays. A job that is damaged is removed, or its key
// would be refused for ever: as a range, behind which the store does not look for the damaged value.
func (s *sweep) remove(b *store.Batch, key []byte, why *atomic.Uint64) error {
	at, id, ok := parseExpiry(key)
	if !ok {
		b.Delete(key)
		return nil
	}
	s.jobs.removed(why)
	e, err := s.jobs.read(id)
	switch ended := endedKey(nil, id); {
	case s.jobs.isDamage(err):
		b.DeleteRange(ended, append(slices.Clone(ended), 0))
	case err != nil:
		return folderErr(s.jobs.dir, "removing the ended job "+id.String(), err)
	case e != nil && max(e.At, 0) == at:
		b.Delete(ended)
	}
	b.Delete(key)
	return nil
}
