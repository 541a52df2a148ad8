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
	allowed atomic.Bool
}

func newCompactions() *compactions {
	// The store schedules after each flush, so no periodic request is needed.
	return &compactions{CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()}
}

// allow is called when the opening is over.
func (c *compactions) allow() {
	c.allowed.Store(true)
	c.UpdateGetAllowedWithoutPermission()
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
