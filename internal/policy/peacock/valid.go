package peacock

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Valid checks the worker's invariants between steps.
func (w *Worker) Valid() error {
	var work sched.Time
	for i := range w.queue.waiting {
		work += w.queue.waiting[i].Estimate
	}
	switch q := &w.queue; {
	case work != q.work:
		return fmt.Errorf("the waiting probes have %d ns of work, counted as %d", work, q.work)
	case w.phase == idle && len(q.waiting)+len(q.marked) > 0:
		return fmt.Errorf("the slot is idle while %d probes wait and %d are marked", len(q.waiting), len(q.marked))
	case w.phase == running && w.current.Attempt < 1:
		return fmt.Errorf("the slot runs %s", w.current)
	case len(q.marked) > 0 && w.rotation.due == 0 && w.rotation.successor != (sched.Addr{}):
		return fmt.Errorf("%d probes are marked and no tick is due", len(q.marked))
	}
	return nil
}

// Valid checks the distributor's invariants between steps: its part of the shared
// state is what its ledger owes.
func (d *Distributor) Valid() error {
	if err := d.inner.Valid(); err != nil || !d.restored {
		return err
	}
	var own, all sched.Load
	for id, p := range d.share.jobs { // a sum: the order does not matter
		j := d.Ledger().Job(id)
		if j == nil || int64(j.Unfinished()) != p.tasks {
			return fmt.Errorf("job %s is counted with %d tasks", id, p.tasks)
		}
		own = plusLoad(own, p.tasks, sched.Time(p.tasks)*p.estimate)
	}
	all = own
	for _, peer := range d.share.peers {
		all = plusLoad(all, peer.Queued, peer.Work)
	}
	if own != d.share.own || all != d.share.all || len(d.share.jobs) != d.Ledger().Jobs() {
		return fmt.Errorf("the shared state is %+v, of it own %+v, in %d jobs; counted as %+v, %+v", all, own, d.Ledger().Jobs(), d.share.all, d.share.own)
	}
	return nil
}
