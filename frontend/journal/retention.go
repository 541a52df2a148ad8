package journal

import (
	"errors"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// endedJobs reads what the store keeps of ended jobs.
type endedJobs struct {
	dir   string
	store backing
	keep  time.Duration
	now   func() time.Time
}

// expired returns the instant before which ended jobs are removed.
func (e *endedJobs) expired() int64 { return e.now().Add(-e.keep).UnixNano() }

// get returns what is kept of an ended job, nil when nothing is.
func (e *endedJobs) get(id sched.JobID) (*Ended, error) {
	v, err := e.store.Get(endedKey(nil, id))
	if err == nil && v == nil {
		return nil, nil
	}
	var ended *Ended
	if err == nil {
		ended, err = decodeEnded(v)
	}
	if err != nil {
		return nil, folderErr(e.dir, "looking up the ended job "+id.String(), err)
	}
	return ended, nil
}

const (
	// sweepEvery is the least time between two sweeps for expired jobs.
	sweepEvery = time.Second
	// sweepJobs bounds a sweep, so that a batch that carries one stays short. It
	// is above the rate at which jobs are accepted.
	sweepJobs = 20_000
)

var errSweepFull = errors.New("the sweep has reached its bound")

// sweep removes ended jobs whose retention is over. It needs no timer: a journal to
// which nothing is appended does not grow.
type sweep struct {
	jobs *endedJobs
	at   time.Time // of the last one
	from []byte    // the key at which the next one starts
}

// expire adds the removal of expired jobs to the batch, unless it did so a moment
// ago.
func (s *sweep) expire(b *store.Batch) error {
	now := s.jobs.now()
	if !s.at.IsZero() && now.Sub(s.at).Abs() < sweepEvery {
		return nil
	}
	s.at = now
	if len(s.from) == 0 {
		s.from = []byte{prefixExpiry}
	}
	end := expiryKey(nil, s.jobs.expired(), sched.JobID{})
	n := 0
	err := s.jobs.store.Scan(slices.Clone(s.from), end, func(key, _ []byte) error {
		if n == sweepJobs {
			return errSweepFull
		}
		n++
		s.from = append(append(s.from[:0], key...), 0)
		return s.remove(b, key)
	})
	if errors.Is(err, errSweepFull) {
		return nil
	}
	return err
}

// remove removes one expired job. A job of the same key that was accepted and
// ended since then has another instant, and stays.
func (s *sweep) remove(b *store.Batch, key []byte) error {
	at, id, ok := parseExpiry(key)
	if !ok {
		b.Delete(key)
		return nil
	}
	e, err := s.jobs.get(id)
	if err != nil {
		return err
	}
	if e != nil && max(e.At, 0) == at {
		b.Delete(endedKey(nil, id))
	}
	b.Delete(key)
	return nil
}
