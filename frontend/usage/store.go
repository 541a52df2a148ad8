package usage

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

const (
	memtable  = 4 << 20     // bytes; the store holds a few of them in memory
	syncEvery = time.Minute // the first batch after it is synced, and all before it
)

// errStop ends a scan that has found what it looks for.
var errStop = errors.New("enough")

// rows are the jobs on the disk. One goroutine changes them; any may scan them until close.
type rows struct {
	disk   *store.Disk
	lock   *store.DirLock
	kept   int64 // jobs
	synced time.Time
	batch  store.Batch

	once   sync.Once
	broken chan struct{} // closed when the store has failed for good
	why    error         // read when broken is closed
}

// openRows opens the folder, or makes it. With an error the result is nil, unless the store failed
// for good: then it must not be opened again by this process.
func openRows(o Options) (r *rows, err error) {
	if err := store.MakeFolder(o.FS, o.Path); err != nil {
		return nil, err
	}
	r = &rows{broken: make(chan struct{})}
	if r.lock, err = store.Lock(o.FS, o.Path); err != nil {
		return nil, err
	}
	r.disk, err = store.Open(o.Path, r.lock, store.Options{Broken: r.fail, Logger: o.Log.With("folder", o.Path), MemtableBytes: memtable, FS: o.FS})
	if err == nil {
		if err = r.disk.Scan(nil, nil, func(_, _ []byte) error { r.kept++; return nil }); err != nil {
			err = errors.Join(err, r.disk.Close())
		}
	}
	switch {
	case r.err() != nil:
		return r, r.err()
	case err != nil:
		return nil, errors.Join(err, r.lock.Release())
	}
	return r, nil
}

// fail ends the use of the store. It may be called from any goroutine.
func (r *rows) fail(err error) {
	r.once.Do(func() {
		r.why = err
		close(r.broken)
	})
}

// err returns why the store has failed for good, nil while it works.
func (r *rows) err() error {
	select {
	case <-r.broken:
		return r.why
	default:
		return nil
	}
}

// close closes the store. One that has failed may hold the locks that this needs.
func (r *rows) close() error {
	if r.err() != nil {
		return nil //nolint:nilerr // it was reported when the store failed
	}
	return errors.Join(r.disk.Close(), r.lock.Release())
}

// apply appends the batch. A store that fails meanwhile may never return, or end the goroutine.
func (r *rows) apply() error {
	durable := time.Since(r.synced) >= syncEvery
	done := make(chan error, 1)
	go func() {
		err := store.ErrEnded
		defer func() { done <- err }()
		err = r.disk.Append(&r.batch, durable)
	}()
	select {
	case err := <-done:
		if err == nil && durable {
			r.synced = time.Now()
		}
		return err
	case <-r.broken:
		return r.why
	}
}

// put writes jobs. One that is there is written again, or left.
func (r *rows) put(batch []entry, again bool) error {
	if err := r.err(); err != nil {
		return err
	}
	changed, added := map[string]api.JobUsage{}, int64(0)
	for _, e := range batch {
		key := string(keyOf(e.job.Ended, e.job.Job, e.job.Submitted))
		had, found := changed[key]
		if !found {
			var err error
			if had, found, err = r.get([]byte(key)); err != nil {
				return err
			}
		}
		switch {
		case e.late != nil && found:
			changed[key] = e.late.addTo(had)
		case e.late != nil: // the job has been removed
		case !found:
			added++
			changed[key] = *e.job
		case again:
			changed[key] = merge(*e.job, had)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	r.batch.Reset()
	for key, j := range changed {
		r.batch.Set([]byte(key), encode(&j))
	}
	if err := r.apply(); err != nil {
		return err
	}
	r.kept += added
	return nil
}

// get returns the job under a key, and whether there is one.
func (r *rows) get(key []byte) (j api.JobUsage, found bool, err error) {
	value, err := r.disk.Get(key)
	if err != nil || value == nil {
		return j, false, err
	}
	var read row
	if err := read.decode(key, value); err != nil {
		return j, false, err
	}
	return read.usage(), true, nil
}

// addTo returns a job with what has become known of one of its attempts.
func (l *late) addTo(j api.JobUsage) api.JobUsage {
	j.LostSeconds += l.lost.Seconds()
	addWaits(&j, l.wait.Seconds(), l.wait.Seconds())
	return j
}

// addWaits adds the least and the greatest wait of tasks that have started.
func addWaits(j *api.JobUsage, least, longest float64) {
	if j.Started {
		least, longest = min(least, j.Wait), max(longest, j.LongestWait)
	}
	j.Started, j.Wait, j.LongestWait = true, least, longest
}

// merge returns a job that is written again. What has become known after its end is not forgotten.
func merge(j, had api.JobUsage) api.JobUsage {
	j.LostSeconds = max(j.LostSeconds, had.LostSeconds)
	if had.Started {
		addWaits(&j, had.Wait, had.LongestWait)
	}
	return j
}

// never is after every end.
const never = math.MaxInt64

// remove removes the oldest jobs, at most that many, of those that ended before an instant.
func (r *rows) remove(before, most int64) (removed int64, err error) {
	if err := r.err(); err != nil || most <= 0 {
		return 0, err
	}
	var first []byte
	end := keyFrom(before)
	err = r.disk.Scan(nil, end, func(key, _ []byte) error {
		switch removed {
		case most:
			end = slices.Clone(key)
			return errStop
		case 0:
			first = slices.Clone(key)
		}
		removed++
		return nil
	})
	if err != nil && !errors.Is(err, errStop) || removed == 0 {
		return 0, err
	}
	r.batch.Reset()
	r.batch.DeleteRange(first, end)
	if err := r.apply(); err != nil {
		return 0, err
	}
	r.kept -= removed
	return removed, nil
}
