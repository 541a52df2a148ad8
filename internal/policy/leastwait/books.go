package leastwait

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What a distributor's shell may read between steps.

// Ledgers returns the books of what is owed, one for each class.
func (d *Distributor) Ledgers() []*ledger.Ledger {
	books := make([]*ledger.Ledger, len(d.by))
	for class, o := range d.by {
		books[class] = o.Ledger()
	}
	return books
}

// View returns what is known of a job that is probed for, with at most so many of
// its bound tasks.
func (d *Distributor) View(id sched.JobID, most int) (v probing.View, ok bool) {
	if p, probes := d.by[sched.Short].(interface {
		View(id sched.JobID, most int) (probing.View, bool)
	}); probes {
		return p.View(id, most)
	}
	return v, false
}
