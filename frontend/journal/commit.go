package journal

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// batchBytes bounds what one batch gathers. It stays well under the store's
// memtable: a batch larger than half of that takes a slower path.
const batchBytes = 8 << 20

// gatherFor is how long after one batch the ends of tasks are gathered for the next, while
// their jobs go on and nothing else is to be written. On a disk that syncs in 0.1 ms, a batch for
// each of a thousand ends a second costs more than all else that the frontend does for them. The
// first end after a rest, and the last one of each job, are written at once.
const gatherFor = 5 * time.Millisecond

// committer writes the tickets of the queue to the store, on one goroutine.
type committer struct {
	queue    *queue
	store    backing
	noSync   bool
	now      func() time.Time
	stopped  chan struct{}    // closed when the goroutine has ended
	number   uint64           // of the newest batch
	synced   time.Time        // when the last batch was on the disk
	gathered <-chan time.Time // when the ends of tasks that are gathered now are due; nil when none are
	witness  *witness
	sweep    sweep

	savedAge int64 // of the journal

	// The batch that is being written.
	batch   store.Batch
	bundles []bundle
	byJob   map[*liveJob]int // index into bundles
	ended   []op
	end     *endedAt // of the job whose task was stopped last; nil when none was looked up
	key     []byte   // reused; the batch copies it
	value   []byte   // of number, reused
}

// run writes until the journal is closed and the queue empty, or until the store
// has ended the goroutine.
func (c *committer) run() {
	defer close(c.stopped)
	orderly := false
	defer func() {
		if !orderly {
			c.queue.fail(errStoreEnded) // no effect if the store has reported the cause
		}
	}()
	var settle <-chan time.Time // set while the witness is not durable
	for {
		due := false
		select {
		case <-c.queue.wake:
		case <-c.gathered:
			c.gathered, due = nil, true
		case <-settle:
			settle = nil
			if err := c.witness.sync(); err != nil {
				c.queue.fail(err)
			}
		}
		if rest := c.writeWaiting(due); rest > 0 && c.gathered == nil {
			c.gathered = time.After(rest)
		}
		if c.queue.finished() {
			orderly = true
			return
		}
		if settle == nil && c.witness.unsynced {
			settle = time.After(witnessEvery)
		}
	}
}

// writeWaiting writes what waits, and returns how long ends of tasks may be gathered, 0 when
// nothing waits. Those that are due are written in any case. A clock that was set back makes nobody
// wait longer.
func (c *committer) writeWaiting(due bool) time.Duration {
	for ; ; due = false {
		rest := min(gatherFor-c.now().Sub(c.synced), gatherFor)
		tickets, held := c.queue.next(rest > 0 && !due)
		if held {
			return rest
		}
		c.gathered = nil
		if len(tickets) == 0 {
			return 0
		}
		if err := c.write(tickets); err != nil {
			c.queue.fail(err)
			return 0
		}
		c.acknowledge(tickets)
	}
}

// write appends the tickets to the store as one batch.
func (c *committer) write(tickets []ticket) error {
	c.batch.Reset()
	c.end = nil
	swept, err := c.sweep.expire(&c.batch) // first: a job of the same key may end in this batch
	if err != nil {
		return err
	}
	lazy := true
	for i := range tickets {
		lazy = lazy && tickets[i].lazy
		for k := range tickets[i].ops {
			c.gather(&tickets[i].ops[k])
		}
	}
	c.putBundles()
	if swept || len(c.ended) > 0 {
		c.saveAge()
	}
	return c.appendBatch(!lazy && !c.noSync)
}

// appendBatch numbers the current batch and appends it. The witness covers what is
// acknowledged after its return.
func (c *committer) appendBatch(durable bool) error {
	c.number++
	c.key, c.value = appendNumber(c.key[:0], c.value[:0], c.number)
	c.batch.Set(c.key, c.value)
	if err := c.witness.begin(c.number); err != nil {
		return err
	}
	if err := c.store.Append(&c.batch, durable); err != nil || !durable {
		return err
	}
	c.synced = c.now()
	return c.witness.acknowledge(c.number, c.synced)
}

// acknowledge answers the tickets of a batch, unless the journal broke meanwhile
// and they have been answered with the reason.
func (c *committer) acknowledge(tickets []ticket) {
	if !c.queue.written(tickets, c.ended) {
		return
	}
	clear(c.ended)
	c.ended = c.ended[:0]
	answer(tickets, nil)
	clear(tickets)
}
