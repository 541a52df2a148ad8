package usage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
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
	Path      string        // of the file, which is made for the first job
	Frontend  string        // its name
	Retention time.Duration // 0: nothing is kept
	Limit     int           // jobs kept at most
	Log       *slog.Logger
	// Refill calls add with the jobs that ended last, as far as the journal has them, at most that
	// many; nil: there are none.
	Refill func(most int, add func(*api.JobUsage)) error
}

// Keeper keeps the jobs of a frontend. Add and AddLost are called by one goroutine, History by
// any.
type Keeper struct {
	opts     Options
	queue    chan entry
	flush    chan chan struct{}
	ended    chan struct{} // closed when Run has returned
	store    *store        // of the goroutine of Run; nil while there is no file
	unfilled chan struct{} // likewise; closed while the file has jobs that are not summed up, else nil
	unopened int64         // likewise; entries that were dropped because there is no file
	readers  atomic.Pointer[readers]
	problem  atomic.Pointer[string] // why nothing can be kept
	stats    stats
}

// entry is a job that ended, or, where late is not nil, what has become known of one since.
type entry struct {
	job  *api.JobUsage
	late *late
}

// late is of an attempt that had a slot in vain: for how long, and how long its job had waited when
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
	Kept             int64 // jobs in the file
	NoRoom, Failed   int64 // jobs dropped: the queue was full, they could not be written
	Expired, Removed int64 // jobs removed: their retention was over, there were more than the limit
}

// New returns a keeper. Run writes; Close must follow.
func New(o Options) *Keeper {
	return &Keeper{opts: o, queue: make(chan entry, queued), flush: make(chan chan struct{}), ended: make(chan struct{})}
}

// Add adds a job that ended, without waiting. A nil keeper keeps nothing.
func (k *Keeper) Add(j *api.JobUsage) { k.add(entry{job: j}) }

// AddLost adds to a job the time for which an attempt had a slot in vain, and how long the job had
// waited when that attempt started, which became known after the job's end.
func (k *Keeper) AddLost(job string, submitted float64, lost, wait time.Duration) {
	k.add(entry{&api.JobUsage{Job: job, Submitted: submitted}, &late{lost, wait}})
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
		case <-k.unfilled:
			k.fill()
		}
	}
}

// fill sums up, between the jobs that end, a day of a file that was written without sums.
func (k *Keeper) fill() {
	more, err := k.store.fill()
	if err != nil {
		k.failed("summing up the jobs that it has", err, "see to the disk; 'pigeon history' reads these jobs one by one until the frontend starts again")
	} else if !more {
		k.opts.Log.Info("the history of jobs is summed up", "file", k.opts.Path)
	}
	if err != nil || !more {
		k.unfilled = nil
	}
}

// collect gathers what comes within a moment and writes it as one batch: a write to the file for
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
	if k.store == nil && !k.open() {
		k.stats.failed.Add(int64(len(batch)))
		k.unopened += int64(len(batch))
		return
	}
	removed, err := k.store.write(batch, k.opts.Limit)
	k.stats.kept.Store(k.store.kept)
	if err != nil {
		k.stats.failed.Add(int64(len(batch)))
		k.failed("writing jobs that ended", err, fmt.Sprintf("see to the disk; %s missing in the history, and scheduling goes on", sched.Count(len(batch), "job is", "jobs are")))
		return
	}
	k.stats.removed.Add(removed)
}

// expire removes jobs whose retention is over.
func (k *Keeper) expire() {
	if k.store == nil {
		return
	}
	n, err := k.store.removeBefore(time.Now().Add(-k.opts.Retention))
	k.stats.expired.Add(n)
	k.stats.kept.Store(k.store.kept)
	if err != nil {
		k.failed("removing jobs whose history_retention is over", err, "see to the disk; it is tried again in a minute")
	}
}

// open opens the file, which is made where there is none, and enters what it lacks. A file that
// is damaged is put aside.
func (k *Keeper) open() bool {
	s, err := openStore(k.opts.Path)
	if isDamaged(err) {
		aside := k.opts.Path + ".damaged"
		k.failed("opening it", err, "nothing needs to be done: it is kept as "+aside+", and the history begins anew with what the journal has")
		if err = putAside(k.opts.Path, aside); err == nil {
			s, err = openStore(k.opts.Path)
		}
	}
	var r *readers
	if err == nil {
		r, err = openReaders(k.opts.Path)
	}
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.close())
		}
		text := k.fault("opening it", err, "see to the disk; it is tried again with the next job that ends").Error()
		if before := k.problem.Swap(&text); before == nil || *before != text {
			k.opts.Log.Warn("the history of jobs is not kept", "error", text)
		}
		return false
	}
	k.store = s
	k.readers.Store(r)
	k.problem.Store(nil)
	k.refill()
	k.expire()
	if s.filled > 0 {
		k.opts.Log.Info("the history of jobs is summed up by the hour, once", "file", k.opts.Path, "jobs", s.kept)
		k.unfilled = make(chan struct{})
		close(k.unfilled)
	}
	return true
}

// refill enters the jobs that the journal has and the file lacks: those that waited to be
// written when the process ended, or all where the file is new.
func (k *Keeper) refill() {
	if k.opts.Refill == nil {
		return
	}
	most := refillClean
	if !k.store.clean {
		most = refillAll
	}
	var list []entry
	before := k.store.kept
	err := k.opts.Refill(min(most, k.opts.Limit), func(j *api.JobUsage) { list = append(list, entry{job: j}) })
	for err == nil && len(list) > 0 {
		n := min(len(list), batchJobs)
		err = k.store.insertMissing(list[:n])
		list = list[n:]
	}
	if err == nil {
		err = k.store.begin()
	}
	k.stats.kept.Store(k.store.kept)
	k.stats.refilled.Add(min(k.unopened, k.store.kept-before))
	k.unopened = 0
	if err != nil {
		k.failed("entering what the journal has and it lacks", err, "nothing needs to be done: the last jobs before the restart may be missing in the history")
	}
}

// How many of the jobs that ended last are requested from the journal: those whose effects were
// not released when the process stopped, or all that can have waited when it was killed.
const (
	refillClean = 10_000
	refillAll   = 100_000
)

func (k *Keeper) fault(tried string, err error, next string) error {
	return &api.Error{Problem: api.Internal, What: err.Error(), Subject: "file " + k.opts.Path, Tried: tried, Next: next}
}

func (k *Keeper) failed(tried string, err error, next string) {
	k.opts.Log.Warn("the history of jobs is not complete", "error", k.fault(tried, err, next))
}

// Close writes what waits and closes the file. It is called when Run has returned.
func (k *Keeper) Close() (err error) {
	k.writeAll()
	if r := k.readers.Swap(nil); r != nil {
		err = r.close()
	}
	if k.store != nil {
		err = errors.Join(err, k.store.end(), k.store.close())
	}
	return err
}
