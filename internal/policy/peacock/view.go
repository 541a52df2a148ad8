package peacock

import "github.com/pigeon-sched/pigeon/internal/sched"

// Owed implements [sched.DistributorCore].
func (d *Distributor) Owed() sched.Owed { return d.inner.Owed() }

// JobView implements [sched.DistributorCore].
func (d *Distributor) JobView(id sched.JobID, most int) (sched.JobView, bool) {
	return d.inner.JobView(id, most)
}
