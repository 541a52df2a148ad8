package journal

import (
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// batchBytes ends the gathering of one batch. It stays well under the store's
	// memtable, past half of which a batch takes a slower way.
	batchBytes = 8 << 20
	// pointDeletes is how many bundles of an ended job are deleted one by one.
	// Range deletes slow every look-up until they are flushed, so they are kept
	// for the few jobs that have many bundles.
	pointDeletes = 256
)

// committer is the scratch memory of the one goroutine that writes.
type committer struct {
	batch   []ticket
	key     []byte
	pending []bundle
	byJob   map[*liveJob]int // index into pending
	ended   []op
	sweep   sweep
}

// bundle gathers the records of one job within one batch; they are stored under
// one key.
type bundle struct {
	job  *liveJob
	data []byte
	sub  []byte // the submission, when it is in this batch
}

// run is the committer. It ends when the journal is closed and the queue empty,
// or when the store has ended it.
func (j *Journal) run() {
	defer close(j.stopped)
	ordered := false
	defer func() {
		if !ordered {
			j.fail(errStoreEnded) // nothing, if the store has said more
		}
	}()
	for range j.wake {
		for batch := j.take(); len(batch) > 0; batch = j.take() {
			if err := j.write(batch); err != nil {
				j.fail(err)
				break
			}
			j.tell(batch)
		}
		if j.over() {
			ordered = true
			return
		}
	}
}

func (j *Journal) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken != nil || j.closed && len(j.queue) == 0
}

// take moves the next batch from the queue to inflight and gives it, empty when
// there is nothing to do.
func (j *Journal) take() []ticket {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil || len(j.queue) == 0 {
		return nil
	}
	n, size := 0, 0
	for n < len(j.queue) && (n == 0 || size+j.queue[n].size <= batchBytes) {
		size += j.queue[n].size
		n++
	}
	j.commit.batch = append(j.commit.batch[:0], j.queue[:n]...)
	j.inflight = j.commit.batch
	rest := copy(j.queue, j.queue[n:])
	clear(j.queue[rest:])
	j.queue = j.queue[:rest]
	return j.inflight
}

// write commits the tickets as one batch.
func (j *Journal) write(tickets []ticket) error {
	b := j.db.NewBatch()
	if err := j.expire(b); err != nil { // first: a job of the same key may end in this batch
		return err
	}
	lazy := true
	for i := range tickets {
		lazy = lazy && tickets[i].lazy
		for k := range tickets[i].ops {
			if err := j.gather(b, &tickets[i].ops[k]); err != nil {
				return err
			}
		}
	}
	if err := j.putBundles(b); err != nil {
		return err
	}
	mode := pebble.Sync
	if j.opts.NoSync || lazy {
		mode = pebble.NoSync
	}
	return errors.Join(b.Commit(mode), b.Close())
}

// gather adds one record to its job's bundle, or to the batch when it has none.
func (j *Journal) gather(b *pebble.Batch, o *op) error {
	c := &j.commit
	if o.kind == AppAt {
		if len(o.data) == 0 {
			return b.Delete(o.key, nil)
		}
		return b.Set(o.key, o.data, nil)
	}
	if o.job == nil { // a record about a job that is not held
		return nil
	}
	at, ok := c.byJob[o.job]
	if !ok {
		at = len(c.pending)
		c.byJob[o.job] = at
		c.pending = append(c.pending, bundle{job: o.job})
	}
	p := &c.pending[at]
	switch o.kind {
	case Accepted:
		p.sub = o.data
	case JobEnded:
		c.ended = append(c.ended, *o)
		p.job = nil // what is pending of it would be deleted at once
		return j.bury(b, o)
	default:
		if p.data == nil {
			p.data = append(make([]byte, 0, 64), codecVersion)
		}
		p.data = append(p.data, o.data...)
	}
	return nil
}

// bury replaces a job by what stays of it.
func (j *Journal) bury(b *pebble.Batch, o *op) error {
	c, job := &j.commit, o.job
	if err := b.Set(o.key, o.data, nil); err != nil {
		return err
	}
	c.key = expiryKey(c.key[:0], o.at, o.id)
	if err := b.Set(c.key, nil, nil); err != nil {
		return err
	}
	if job.bundles > pointDeletes {
		return b.DeleteRange(jobKey(nil, job.seq), jobKey(nil, job.seq+1), nil)
	}
	for n := range job.bundles {
		c.key = bundleKey(c.key[:0], job.seq, n)
		if err := b.Delete(c.key, nil); err != nil {
			return err
		}
	}
	if !job.stored {
		return nil
	}
	c.key = jobKey(c.key[:0], job.seq)
	return b.Delete(c.key, nil)
}

func (j *Journal) putBundles(b *pebble.Batch) error {
	c := &j.commit
	for i := range c.pending {
		p := &c.pending[i]
		if p.job == nil {
			continue
		}
		if p.sub != nil {
			c.key = jobKey(c.key[:0], p.job.seq)
			if err := b.Set(c.key, p.sub, nil); err != nil {
				return err
			}
			p.job.stored = true
		}
		if p.data != nil {
			c.key = bundleKey(c.key[:0], p.job.seq, p.job.bundles)
			if err := b.Set(c.key, p.data, nil); err != nil {
				return err
			}
			p.job.bundles++
		}
	}
	clear(c.pending)
	clear(c.byJob)
	c.pending = c.pending[:0]
	return nil
}

// tell acknowledges a batch, unless the journal broke meanwhile and everybody
// has been told so.
func (j *Journal) tell(told []ticket) {
	j.mu.Lock()
	if j.broken != nil {
		j.mu.Unlock()
		return
	}
	j.inflight = nil
	for i := range told {
		j.queued -= told[i].size
	}
	for i := range j.commit.ended {
		delete(j.live, j.commit.ended[i].id)
	}
	j.mu.Unlock()
	clear(j.commit.ended)
	j.commit.ended = j.commit.ended[:0]
	for i := range told {
		if told[i].done != nil {
			told[i].done(nil)
		}
	}
	clear(told)
}

// fail breaks the journal for good and tells everybody who waits. The store may
// call it from any of its goroutines, while the committer is stuck in a commit.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	if j.broken != nil {
		j.mu.Unlock()
		return
	}
	j.broken = brokenErr(j.dir, err)
	close(j.ended)
	broken := j.broken
	told := slices.Concat(j.inflight, j.queue)
	j.inflight, j.queue, j.queued = nil, nil, 0
	j.mu.Unlock()
	for i := range told {
		if told[i].done != nil {
			told[i].done(broken)
		}
	}
}
