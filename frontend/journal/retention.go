package journal

import (
	"errors"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Known is the state of a job id in the journal.
type Known struct {
	Live  bool   // accepted, perhaps not yet on the disk, and not ended
	Ended *Ended // ended within the retention
}

// Lookup returns whether a job is known. The id is derived from the job's key, so
// this is how a repeated submission is recognised. The zero Known is a job that
// was never accepted, or that ended longer ago than the retention.
func (j *Journal) Lookup(id sched.JobID) (Known, error) {
	j.mu.Lock()
	_, live := j.live[id]
	j.mu.Unlock()
	if live {
		return Known{Live: true}, nil
	}
	j.reading.RLock()
	defer j.reading.RUnlock()
	if j.storeClosed {
		return Known{}, errClosed
	}
	e, err := j.readEnded(id)
	if err != nil || e == nil || e.At < j.expired() {
		return Known{}, err
	}
	return Known{Ended: e}, nil
}

// expired returns the instant before which ended jobs are removed.
func (j *Journal) expired() int64 { return j.opts.Now().Add(-j.opts.Retention).UnixNano() }

// readEnded returns what is kept of an ended job, nil when nothing is.
func (j *Journal) readEnded(id sched.JobID) (*Ended, error) {
	v, err := j.store.Get(endedKey(nil, id))
	if err == nil && v == nil {
		return nil, nil
	}
	var e *Ended
	if err == nil {
		e, err = decodeEnded(v)
	}
	if err != nil {
		return nil, folderErr(j.dir, "looking up the ended job "+id.String(), err)
	}
	return e, nil
}

const (
	// sweepEvery is the least time between two sweeps for expired jobs.
	sweepEvery = time.Second
	// sweepJobs bounds a sweep, so that a batch that carries one stays short. It
	// is above the rate at which jobs are accepted.
	sweepJobs = 20_000
)

var errSweepFull = errors.New("the sweep has reached its bound")

// sweep is where the last sweep ended.
type sweep struct {
	at   time.Time
	from []byte
}

// expire adds to the batch the removal of jobs whose retention is over. It needs
// no timer: a journal to which nothing is appended does not grow.
func (j *Journal) expire(b *store.Batch) error {
	s := &j.commit.sweep
	now := j.opts.Now()
	if !s.at.IsZero() && now.Sub(s.at).Abs() < sweepEvery {
		return nil
	}
	s.at = now
	if len(s.from) == 0 {
		s.from = []byte{prefixExpiry}
	}
	end := expiryKey(nil, j.expired(), sched.JobID{})
	n := 0
	err := j.store.Scan(slices.Clone(s.from), end, func(key, _ []byte) error {
		if n == sweepJobs {
			return errSweepFull
		}
		n++
		s.from = append(append(s.from[:0], key...), 0)
		return j.remove(b, key)
	})
	if errors.Is(err, errSweepFull) {
		return nil
	}
	return err
}

// remove removes one expired job. A job of the same key that was accepted and
// ended since has another instant, and stays.
func (j *Journal) remove(b *store.Batch, key []byte) error {
	at, id, ok := parseExpiry(key)
	if !ok {
		b.Delete(key)
		return nil
	}
	e, err := j.readEnded(id)
	if err != nil {
		return err
	}
	if e != nil && max(e.At, 0) == at {
		b.Delete(endedKey(nil, id))
	}
	b.Delete(key)
	return nil
}
