package usage

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// Bounds of what waits to be written, and for how long.
const (
	queued      = 32_768 // jobs
	batchJobs   = 2000
	batchEvery  = 100 * time.Millisecond
	expireEvery = time.Minute
)

// Options of a Keeper.
type Options struct {
	Path      string        // of the folder, which is made for the first job
	Frontend  string        // its name
	Retention time.Duration // 0: nothing is kept
	Limit     int           // jobs kept at most
	Log       *slog.Logger
	FS        store.FS // where the folder is; nil: the disk of this host
	// Refill calls add with the jobs that ended last, as far as the journal has them, at most that
	// many; nil: there are none.
	Refill func(most int, add func(*api.JobUsage)) error
}

// Keeper keeps the jobs of a frontend. Run is of one goroutine; the rest may be called by any.
type Keeper struct {
	opts     Options
	queue    chan entry
	flush    chan chan struct{}
	ended    chan struct{}          // closed when Run has returned
	rows     *rows                  // of the goroutine of Run; nil while there are none
	unopened int64                  // likewise; entries that were dropped because there are none
	problem  atomic.Pointer[string] // why nothing can be kept
	stats    stats

	reading sync.RWMutex // held by queries, and by Close
	shown   *rows        // guarded by reading; nil before the first job and after Close
}

// entry is a job that ended, or, where late is not nil, what has become known of one since.
type entry struct {
	job  *api.JobUsage
	late *late
}

// late is of an attempt that had a slot in vain: how long, and how long its job had waited when
// it started.
type late struct{ lost, wait time.Duration }

// stats are counted since the start.
type stats struct {
	kept             atomic.Int64
	noRoom, failed   atomic.Int64
	expired, removed atomic.Int64
	refilled         atomic.Int64 // of those that failed, entered from the journal since
}

// Stats are what a Keeper has done since its start.
type Stats struct {
	Kept             int64 // jobs in the history
	NoRoom, Failed   int64 // jobs dropped: the queue was full, they could not be written
	Expired, Removed int64 // jobs removed: their retention was over, there were more than the limit
}

// New returns a keeper. Run writes; Close must follow.
func New(o Options) *Keeper {
	if o.FS == nil {
		o.FS = store.HostFS()
	}
	return &Keeper{opts: o, queue: make(chan entry, queued), flush: make(chan chan struct{}), ended: make(chan struct{})}
}

// Add adds a job that ended, without waiting. A nil keeper keeps nothing.
func (k *Keeper) Add(j *api.JobUsage) { k.add(entry{job: j}) }

// AddLost adds to a job the time for which an attempt had a slot in vain, and how long the job had
// waited when that attempt started, which became known after the job's end. Of j the id and the
// instants of submission and end count.
func (k *Keeper) AddLost(j *api.JobUsage, lost, wait time.Duration) {
	k.add(entry{j, &late{lost, wait}})
}

func (k *Keeper) add(e entry) {
	if k == nil || k.opts.Retention <= 0 {
		return
	}
	select {
	case k.queue <- e:
	default:
		k.stats.noRoom.Add(1)
	}
}

// Stats may be called from anywhere.
func (k *Keeper) Stats() Stats {
	s := &k.stats
	return Stats{Kept: s.kept.Load(), NoRoom: s.noRoom.Load(), Failed: s.failed.Load(), Expired: s.expired.Load(), Removed: s.removed.Load()}
}

// Run writes until ctx is done. It is called once at most.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.ended)
	if k.opts.Retention <= 0 {
		return
	}
	if _, err := os.Stat(k.opts.Path); !errors.Is(err, fs.ErrNotExist) {
		k.open()
	}
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-k.queue:
			k.collect(ctx, e)
		case done := <-k.flush:
			k.writeAll()
			close(done)
		case <-expire.C:
			k.expire()
		}
	}
}

// collect gathers what comes within a moment and writes it as one batch: a write for
// each job would cost more than the job.
func (k *Keeper) collect(ctx context.Context, first entry) {
	batch := []entry{first}
	pause := time.NewTimer(batchEvery)
	defer pause.Stop()
	for len(batch) < batchJobs {
		select {
		case e := <-k.queue:
			batch = append(batch, e)
			continue
		case done := <-k.flush:
			k.write(batch)
			k.writeAll()
			close(done)
			return
		case <-ctx.Done():
		case <-pause.C:
		}
		break
	}
	k.write(batch)
}

// writeAll writes what waits now.
func (k *Keeper) writeAll() {
	for waiting := len(k.queue); waiting > 0; {
		batch := make([]entry, 0, min(waiting, batchJobs))
		for len(batch) < cap(batch) {
			batch = append(batch, <-k.queue)
		}
		waiting -= len(batch)
		k.write(batch)
	}
}

// write writes a batch, and removes the jobs beyond the limit.
func (k *Keeper) write(batch []entry) {
	if k.rows == nil && !k.open() {
		k.stats.failed.Add(int64(len(batch)))
		k.unopened += int64(len(batch))
		return
	}
	err := k.rows.put(batch, true)
	if err != nil {
		k.stats.failed.Add(int64(len(batch)))
	} else {
		var removed int64
		removed, err = k.rows.remove(never, k.rows.kept-int64(k.opts.Limit))
		k.stats.removed.Add(removed)
	}
	k.stats.kept.Store(k.rows.kept)
	k.unlessFailed("writing jobs that ended", err)
}

// expire removes jobs whose retention is over.
func (k *Keeper) expire() {
	if k.rows == nil {
		return
	}
	n, err := k.rows.remove(time.Now().Add(-k.opts.Retention).UnixMicro(), never)
	k.stats.expired.Add(n)
	k.stats.kept.Store(k.rows.kept)
	k.unlessFailed("removing jobs whose history_retention is over", err)
}

// unlessFailed reports an error of the store, once, and notes whether it has failed for good.
func (k *Keeper) unlessFailed(tried string, err error) {
	if err == nil {
		return
	}
	if k.rows.err() != nil {
		k.report(tried, err, "see to the disk and start the frontend again; if it fails again, move the folder away first: the history then begins with what the journal has")
		return
	}
	k.opts.Log.Warn("the history of jobs is not complete", "error", k.fault(tried, err, "see to the disk; scheduling goes on"))
}

// report reports why nothing can be kept, once for each reason.
func (k *Keeper) report(tried string, err error, next string) {
	text := k.fault(tried, err, next).Error()
	if before := k.problem.Swap(&text); before == nil || *before != text {
		k.opts.Log.Warn("the history of jobs is not kept", "error", text)
	}
}

// open opens the folder, which is made where there is none, and enters what it lacks. One that is
// damaged is put aside.
func (k *Keeper) open() bool {
	r, err := openRows(k.opts)
	if _, damaged := errors.AsType[*store.DamageError](err); damaged && r == nil {
		aside := k.opts.Path + ".damaged"
		k.opts.Log.Warn("the history of jobs is not complete", "error", k.fault("opening it", err, "nothing needs to be done: it is kept as "+aside+", and the history begins again with what the journal has"))
		if err = errors.Join(os.RemoveAll(aside), os.Rename(k.opts.Path, aside)); err == nil {
			r, err = openRows(k.opts)
		}
	}
	if k.rows = r; err != nil {
		next := "see to the disk; it is tried again with the next job that ends"
		if r != nil {
			next = "see to the disk and start the frontend again"
		}
		k.report("opening it", err, next)
		return false
	}
	k.reading.Lock()
	k.shown = r
	k.reading.Unlock()
	k.problem.Store(nil)
	k.refill()
	k.expire()
	return true
}

// refillMost bounds the jobs that are requested from the journal: all that can have waited to be
// written when the process was killed.
const refillMost = 100_000

// refill enters the jobs that the journal has and the store lacks: those that waited to be
// written when the process ended, or all where the folder is new.
func (k *Keeper) refill() {
	if k.opts.Refill == nil {
		return
	}
	var list []entry
	before := k.rows.kept
	err := k.opts.Refill(min(refillMost, k.opts.Limit), func(j *api.JobUsage) { list = append(list, entry{job: j}) })
	for err == nil && len(list) > 0 {
		n := min(len(list), batchJobs)
		err = k.rows.put(list[:n], false)
		list = list[n:]
	}
	k.stats.kept.Store(k.rows.kept)
	k.stats.refilled.Add(min(k.unopened, k.rows.kept-before))
	k.unopened = 0
	if err != nil {
		k.opts.Log.Warn("the history of jobs is not complete", "error", k.fault("entering what the journal has and it lacks", err, "nothing needs to be done: the last jobs before the restart may be missing in the history"))
	}
}

// Close writes what waits and closes the store. It is called when Run has returned.
func (k *Keeper) Close() error {
	k.writeAll()
	if k.rows == nil || k.rows.err() != nil {
		return nil // a query may be blocked in a store that has failed, with the lock
	}
	k.reading.Lock()
	defer k.reading.Unlock()
	k.shown = nil
	return k.rows.close()
}
