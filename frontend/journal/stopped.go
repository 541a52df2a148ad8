package journal

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/frontend/journal/store"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// The nodes report where the tasks of a cancelled job were stopped only after its end is written.
// Each such report is kept under a key of its own, and expires with its job.

// keepStopped adds where a task was stopped to the batch, unless its job was forgotten meanwhile.
func (c *committer) keepStopped(o *op) {
	if c.end == nil || c.end.job != o.id {
		c.end = c.endOf(o)
	}
	if c.end.at < 0 {
		return
	}
	c.key = stoppedKey(c.key[:0], c.end.at, o.id, o.task)
	c.batch.Set(c.key, append([]byte{valueVersion}, o.data...))
}

// endOf returns when the job of a record ended, -1 when that is not known.
func (c *committer) endOf(o *op) *endedAt {
	for i := range c.ended {
		if c.ended[i].id == o.id {
			return &endedAt{max(c.ended[i].at, 0), o.id}
		}
	}
	if e, err := c.sweep.jobs.get(o.id); err == nil && e != nil {
		return &endedAt{max(e.At, 0), o.id}
	}
	return &endedAt{-1, o.id}
}

// readStopped fills in where the tasks of a cancelled job were stopped, in the order of the tasks.
func (e *endedJobs) readStopped(of *Ended) error {
	if of.Status.State != api.StateCancelled {
		return nil
	}
	first := stoppedKey(nil, of.At, of.Job, 0)
	last := append(expiryKey(nil, of.At, of.Job), 0x80) // above every task, which has 31 bits
	return e.store.Scan(first, last, func(key, value []byte) error {
		list, err := decodeEvents(nil, of.Job, value)
		if err != nil {
			return &store.DamageError{Err: fmt.Errorf("where a task was stopped, under %x: %w", key, err)}
		}
		for i := range list {
			r := &list[i]
			of.Stopped = append(of.Stopped, StoppedTask{r.First, r.Attempt, r.Node, r.Elapsed, r.Began})
		}
		return nil
	})
}
