package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// flush sends what the batch decided and hands its records to the journal.
func (o *owner) flush() {
	for _, m := range o.dirty {
		m.flush(o.log)
	}
	o.dirty = o.dirty[:0]
	o.peers.links.Flush()
	o.forgetSpent()
	o.commit()
	o.history.flush()
	o.meter.publish(o)
}

// commit hands the batch to the journal; what waits for the disk goes on in
// durable. A batch without records says nothing before an earlier one that is
// still being written: it may acknowledge again what that one accepts.
func (o *owner) commit() {
	b := o.batch
	if len(b.records) == 0 && len(b.acks) == 0 && len(b.replies) == 0 {
		return
	}
	o.batch = batchResult{}
	switch {
	case len(b.records) > 0:
		o.write(&b)
	case o.writing != nil:
		o.writing.after = append(o.writing.after, b)
	default:
		o.durable(&b)
	}
}

// write hands a batch with records to the journal. Without a journal that takes
// them the daemon ends: what the core has accepted must not get ahead of it.
func (o *owner) write(b *batchResult) {
	o.writing = b
	err := o.journal.Append(b.records, func(err error) {
		_ = o.urge(func() { o.written(b, err) }) // a stopped daemon told nobody; it does after its restart
	})
	if err != nil {
		o.written(b, err)
	}
}

// written goes on when a batch is on the disk, or could not be written.
func (o *owner) written(b *batchResult, err error) {
	if o.writing == b {
		o.writing = nil
	}
	if err == nil {
		o.durable(b)
		return
	}
	o.fail(err)
	for _, later := range append([]batchResult{*b}, b.after...) {
		for _, reply := range later.replies {
			reply(err)
		}
	}
}

// durable tells the outside what is on the disk now.
func (o *owner) durable(b *batchResult) {
	if o.history != nil {
		o.history.write(b.life)
	}
	for _, reply := range b.replies {
		reply(nil)
	}
	o.acker.acknowledge(b.acks)
	for _, t := range b.ends {
		o.listeners.SendEnd(t.app, t.Message)
	}
	for _, j := range b.ended {
		o.retire(j)
	}
	for i := range b.after {
		o.durable(&b.after[i])
	}
}

// retire lets go of an ended job and tells who waits for it.
func (o *owner) retire(j *job) {
	j.ended, j.status, j.endedAt = true, *j.final, time.Now()
	j.sub = nil
	o.spans.ended(j)
	for _, w := range j.waiting {
		w <- j.status
	}
	j.waiting = nil
	o.ended.add(j)
	o.forget()
}

// Bounds of the ended jobs kept in memory; older ones are looked up in the
// journal.
const (
	keepEnded      = 10_000
	keepEndedTasks = 1_000_000
)

// endedJobs are ended jobs that are still in memory, the oldest first.
type endedJobs struct {
	list  []*job
	tasks int
}

func (e *endedJobs) add(j *job) {
	e.list = append(e.list, j)
	e.tasks += len(j.reports)
}

// due reports whether the oldest job is one too many, or too old.
func (e *endedJobs) due(retention time.Duration) bool {
	return len(e.list) > 0 && (len(e.list) > keepEnded || e.tasks > keepEndedTasks || time.Since(e.list[0].endedAt) >= retention)
}

func (e *endedJobs) pop() *job {
	j := e.list[0]
	e.list[0] = nil
	e.list = e.list[1:]
	e.tasks -= len(j.reports)
	return j
}

// forget drops from memory the ended jobs that are too many or too old.
func (o *owner) forget() {
	for o.ended.due(o.cfg.Retention) {
		delete(o.jobs, o.ended.pop().id)
	}
}

// known returns the job of an id, nil when nothing is kept of it in memory.
func (o *owner) known(id sched.JobID) *job {
	o.forget()
	return o.jobs[id]
}
