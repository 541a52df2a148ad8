package journal

import (
	"slices"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
)

// batchBytes bounds what one batch gathers. It stays well under the store's
// memtable, past half of which a batch takes a slower way.
const batchBytes = 8 << 20

// committer is the state of the one goroutine that writes.
type committer struct {
	number  uint64 // of the newest batch
	witness *witness
	sweep   sweep

	// The batch that is being written.
	tickets []ticket
	batch   *store.Batch
	bundles []bundle
	byJob   map[*liveJob]int // index into bundles
	ended   []op
	key     []byte
}

// run is the committer. It ends when the journal is closed and the queue empty,
// or when the store has ended it.
func (j *Journal) run() {
	defer close(j.stopped)
	ordered := false
	defer func() {
		if !ordered {
			j.fail(errStoreEnded) // nothing, if the store has reported more
		}
	}()
	for range j.wake {
		for tickets := j.nextTickets(); len(tickets) > 0; tickets = j.nextTickets() {
			if err := j.write(tickets); err != nil {
				j.fail(err)
				break
			}
			j.acknowledge(tickets)
		}
		if j.finished() {
			ordered = true
			return
		}
	}
}

func (j *Journal) finished() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.broken != nil || j.closed && len(j.queue) == 0
}

// nextTickets moves what the next batch holds from the queue to inflight and
// returns it, empty when there is nothing to write.
func (j *Journal) nextTickets() []ticket {
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
	j.commit.tickets = append(j.commit.tickets[:0], j.queue[:n]...)
	j.inflight = j.commit.tickets
	rest := copy(j.queue, j.queue[n:])
	clear(j.queue[rest:])
	j.queue = j.queue[:rest]
	return j.inflight
}

// write appends the tickets to the store as one batch.
func (j *Journal) write(tickets []ticket) error {
	c := &j.commit
	c.batch.Reset()
	if err := j.expire(c.batch); err != nil { // first: a job of the same key may end in this batch
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
	return j.appendBatch(!lazy && !j.opts.NoSync)
}

// appendBatch numbers the batch at hand and appends it. What is acknowledged
// after its return is covered by the witness.
func (j *Journal) appendBatch(durable bool) error {
	c := &j.commit
	c.number++
	putNumber(c.batch, c.number)
	if err := c.witness.begin(c.number); err != nil {
		return err
	}
	if err := j.store.Append(c.batch, durable); err != nil || !durable {
		return err
	}
	return c.witness.acknowledge(c.number, j.opts.Now())
}

// acknowledge answers the tickets of a batch, unless the journal broke meanwhile
// and they have been answered so.
func (j *Journal) acknowledge(tickets []ticket) {
	j.mu.Lock()
	if j.broken != nil {
		j.mu.Unlock()
		return
	}
	j.inflight = nil
	for i := range tickets {
		j.queued -= tickets[i].size
	}
	for i := range j.commit.ended {
		delete(j.live, j.commit.ended[i].id)
	}
	j.mu.Unlock()
	clear(j.commit.ended)
	j.commit.ended = j.commit.ended[:0]
	for i := range tickets {
		if tickets[i].done != nil {
			tickets[i].done(nil)
		}
	}
	clear(tickets)
}

// fail breaks the journal for good and answers every ticket with the reason. The
// store may call it from any of its goroutines, while the committer is stuck in
// an append.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	if j.broken != nil {
		j.mu.Unlock()
		return
	}
	j.broken = brokenErr(j.dir, err)
	broken := j.broken
	tickets := slices.Concat(j.inflight, j.queue)
	j.inflight, j.queue, j.queued = nil, nil, 0
	j.mu.Unlock()
	for i := range tickets {
		if tickets[i].done != nil {
			tickets[i].done(broken)
		}
	}
}
