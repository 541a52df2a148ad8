package journal

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Known is what the journal knows of a job id.
type Known struct {
	Live  bool   // accepted, perhaps not yet on the disk, and not ended
	Ended *Ended // ended within the retention
}

// Lookup tells whether a job is known. The id is derived from the job's key, so
// this is how a repeated submission is recognised. The zero Known is a job that
// was never accepted, or that ended longer ago than the retention.
func (j *Journal) Lookup(id sched.JobID) (Known, error) {
	j.mu.Lock()
	_, live := j.live[id]
	j.mu.Unlock()
	if live {
		return Known{Live: true}, nil
	}
	j.using.RLock()
	defer j.using.RUnlock()
	if j.gone {
		return Known{}, errClosed
	}
	e, err := j.readEnded(id)
	if err != nil || e == nil || e.At < j.expired() {
		return Known{}, err
	}
	return Known{Ended: e}, nil
}

// expired returns the instant before which ended jobs are forgotten.
func (j *Journal) expired() int64 { return j.opts.Now().Add(-j.opts.Retention).UnixNano() }

// readEnded returns what stays of a job, nil when nothing does.
func (j *Journal) readEnded(id sched.JobID) (*Ended, error) {
	v, closer, err := j.db.Get(endedKey(nil, id))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	var e *Ended
	if err == nil {
		e, err = decodeEnded(v)
		err = errors.Join(err, closer.Close())
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

// sweep is where the last sweep ended.
type sweep struct {
	at   time.Time
	from []byte
}

// expire adds to the batch the removal of jobs whose retention is over. It needs
// no timer: a journal to which nothing is appended does not grow.
func (j *Journal) expire(b *pebble.Batch) error {
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
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: s.from, UpperBound: end})
	if err != nil {
		return err
	}
	n := 0
	for ok := it.First(); ok && n < sweepJobs && err == nil; ok = it.Next() {
		n++
		err = j.forget(b, it.Key())
		s.from = append(append(s.from[:0], it.Key()...), 0)
	}
	return errors.Join(err, it.Error(), it.Close())
}

// forget removes one expired job. A job of the same key that was accepted and
// ended since has another instant, and stays.
func (j *Journal) forget(b *pebble.Batch, key []byte) error {
	at, id, ok := parseExpiry(key)
	if !ok {
		return b.Delete(key, nil)
	}
	e, err := j.readEnded(id)
	if err != nil {
		return err
	}
	if e != nil && max(e.At, 0) == at {
		if err := b.Delete(endedKey(nil, id), nil); err != nil {
			return err
		}
	}
	return b.Delete(key, nil)
}
