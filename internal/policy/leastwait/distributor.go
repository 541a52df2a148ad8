package leastwait

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Distributor sends long jobs to the central scheduler and short ones to a
// distributor that probes. The first is Pigeon's, with one group. Each class has
// its own ledger; a job is in one of them.
type Distributor struct{ by [sched.NumClasses]distributor }

// distributor is a distributor of jobs of one class.
type distributor interface {
	sched.DistributorCore
	Ledger() *ledger.Ledger
}

// NewDistributor returns a distributor with the given one for short jobs.
func NewDistributor(cfg sched.DistributorConfig, short distributor) *Distributor {
	return &Distributor{by: [...]distributor{sched.Short: short, sched.Long: pigeon.NewDistributor(cfg)}}
}

// Step implements [sched.Core]. A message about a job is for the distributor that
// has it, or, when none has it any more, for the one of its class; masters have long ones. One about no
// job is for both, which ignore what does not concern them.
func (d *Distributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	switch {
	case !m.Valid():
	case m.Job == sched.JobID{}:
		for _, o := range d.by {
			o.Step(now, from, m, out)
		}
	default:
		d.of(from, m).Step(now, from, m, out)
	}
}

func (d *Distributor) of(from sched.Addr, m *sched.Message) distributor {
	for _, o := range d.by {
		if o.Ledger().Job(m.Job) != nil {
			return o
		}
	}
	if from.Role == sched.Master {
		return d.by[sched.Long]
	}
	return d.by[m.Class]
}

// Valid checks the invariants between steps.
func (d *Distributor) Valid() error {
	for _, o := range d.by {
		if err := o.Valid(); err != nil {
			return err
		}
	}
	return nil
}

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
