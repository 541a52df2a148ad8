package journal

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// batchBytes bounds what one batch gathers. It stays well under the store's
// memtable: a batch larger than half of that takes a slower path.
const batchBytes = 8 << 20

// committer writes the tickets of the queue to the store, on one goroutine.
type committer struct {
	queue   *queue
	store   backing
	noSync  bool
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
	stopped chan struct{} // closed when the goroutine has ended
	number  uint64        // of the newest batch
	witness *witness
	sweep   sweep

	savedAge int64 // of the journal

	// The batch that is being written.
	batch   store.Batch
	bundles []bundle
	byJob   map[*liveJob]int // index into bundles
	ended   []op
	key     []byte // reused; the batch copies it
	value   []byte // of number, reused
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
		select {
		case <-c.queue.wake:
		case <-settle:
			settle = nil
			if err := c.witness.settle(); err != nil {
				c.queue.fail(err)
			}
		}
		for tickets := c.queue.next(); len(tickets) > 0; tickets = c.queue.next() {
			if err := c.write(tickets); err != nil {
				c.queue.fail(err)
				break
			}
			c.acknowledge(tickets)
		}
		if c.queue.finished() {
			orderly = true
			return
		}
		if settle == nil && c.witness.unsynced {
			settle = c.after(witnessEvery)
		}
	}
}

// write appends the tickets to the store as one batch.
func (c *committer) write(tickets []ticket) error {
	c.batch.Reset()
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
	return c.witness.acknowledge(c.number, c.now())
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
