package store

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// compactions lets the store merge its tables only when its opening is over. An opening
// that fails later, on a disk that fails, frees what a merge in progress still uses, and
// the process would end in a panic instead of with the reason.
type compactions struct {
	pebble.CompactionScheduler
	db      pebble.DBForCompaction // set when the store has registered, before its opening is over
	allowed atomic.Bool
}

func newCompactions() *compactions {
	// The store schedules after each flush, so no periodic request is needed.
	return &compactions{CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(goroutines int, db pebble.DBForCompaction) {
	c.db = db
	c.CompactionScheduler.Register(goroutines, db)
}

// allow is called when the opening is over. A store that was refused a merge requests none until
// its scheduler grants that one, so one that was due while the store opened is granted here. If it
// were not, nothing would ever be merged, and with too many tables the store stops to write.
func (c *compactions) allow() {
	c.allowed.Store(true)
	if c.db == nil {
		return
	}
	if waiting, _ := c.db.GetWaitingCompaction(); !waiting {
		return
	}
	if granted, handle := c.TrySchedule(); granted && !c.db.Schedule(handle) {
		handle.Done()
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !c.allowed.Load() {
		return false, nil
	}
	return c.CompactionScheduler.TrySchedule()
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (c *compactions) UpdateGetAllowedWithoutPermission() {
	if c.allowed.Load() {
		c.CompactionScheduler.UpdateGetAllowedWithoutPermission()
	}
}
