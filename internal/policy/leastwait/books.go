package leastwait

import "github.com/pigeon-sched/pigeon/internal/sched"

// Owed implements [sched.DistributorCore]: the sums over both classes.
func (d *Distributor) Owed() (sum sched.Owed) {
	for _, class := range d.by {
		o := class.Owed()
		sum.Jobs, sum.Tasks, sum.Repeated = sum.Jobs+o.Jobs, sum.Tasks+o.Tasks, sum.Repeated+o.Repeated
	}
	return sum
}

// JobView implements [sched.DistributorCore].
func (d *Distributor) JobView(id sched.JobID, most int) (v sched.JobView, ok bool) {
	for _, class := range d.by {
		if v, ok = class.JobView(id, most); ok {
			return v, true
		}
	}
	return v, false
}
