package journal

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
)

// The retention is measured by the journal's own age: how long processes have had it open,
// by their monotonic clocks. A wall clock that jumps changes nothing, and what a journal
// holds does not age while it is closed. So an ended job and its key are known for at least
// the retention, and longer by the time that the frontend was down, or that a killed process
// had been open since its last record.
//
// Ages begin at the wall clock of the journal's first opening, because the journals of
// earlier programs have instants of that clock.

// age is the age of an open journal.
type age struct {
	before  int64 // at its opening
	elapsed func() time.Duration
}

// now returns the age, in nanoseconds.
func (a *age) now() int64 { return a.before + int64(a.elapsed()) }

// elapsedSince returns how long ago it was called, by the clock that now reads.
func elapsedSince(now func() time.Time) func() time.Duration {
	opened := now()
	return func() time.Duration { return now().Sub(opened) } // monotonic with time.Now
}

// endedCount is how many ended jobs are kept, and how many were forgotten, by reason.
type endedCount struct {
	kept                atomic.Int64
	expired, overLimits atomic.Uint64
}

const endedMeta = "ended"

// saveAge adds the age and the count of the ended jobs to a batch.
func (c *committer) saveAge() {
	c.savedAge = c.sweep.jobs.age.now()
	v := binary.BigEndian.AppendUint64(nil, uint64(c.savedAge))                          //nolint:gosec // an age
	v = binary.BigEndian.AppendUint64(v, uint64(max(c.sweep.jobs.count.kept.Load(), 0))) //nolint:gosec // not negative
	c.batch.Set(metaKey(endedMeta), v)
}

// saveLastAge saves the age when the journal is closed and a while has passed since it was
// saved.
func (c *committer) saveLastAge() error {
	if c.sweep.jobs.age.now()-c.savedAge < int64(time.Second) {
		return nil
	}
	c.batch.Reset()
	c.saveAge()
	return c.appendBatch(false)
}

// loadAge reads the age and the count of the ended jobs of a journal at its opening. One of
// an earlier program has none: its age is that of its last ended job.
func (e *endedJobs) loadAge(now time.Time) error {
	e.age.before = now.UnixNano()
	v, err := e.store.Get(metaKey(endedMeta))
	switch {
	case err != nil:
		return err
	case len(v) == 16:
		e.age.before = int64(binary.BigEndian.Uint64(v))          //nolint:gosec // as it was written
		e.count.kept.Store(int64(binary.BigEndian.Uint64(v[8:]))) //nolint:gosec // as it was written
		return nil
	case v != nil:
		return fmt.Errorf("the age of the journal is not 16 bytes long")
	}
	return e.store.Scan([]byte{prefixExpiry}, []byte{prefixExpiry + 1}, func(key, _ []byte) error {
		if at, _, ok := parseExpiry(key); ok {
			e.age.before = at
			e.count.kept.Add(1)
		}
		return nil
	})
}

// EndedJobs returns how many ended jobs the journal keeps.
func (j *Journal) EndedJobs() int64 { return j.ended.count.kept.Load() }

// Forgotten returns how many ended jobs were forgotten since the opening, because their
// retention was over and because there were too many.
func (j *Journal) Forgotten() (expired, tooMany uint64) {
	return j.ended.count.expired.Load(), j.ended.count.overLimits.Load()
}

// add is called for each job that ends in a batch.
func (e *endedJobs) add() { e.count.kept.Add(1) }

// removed counts a job that is forgotten.
func (e *endedJobs) removed(why *atomic.Uint64) {
	e.count.kept.Add(-1)
	why.Add(1)
}
