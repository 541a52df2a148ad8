package peacock

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Distributor is that of the probing policies, with one probe per task to workers
// drawn with repetition, and with the shared state on every message to them.
type Distributor struct {
	cfg      sched.DistributorConfig
	inner    *probing.Distributor
	share    share
	restored bool // false while the journal is being read
}

// NewDistributor returns a new distributor without workers.
func NewDistributor(cfg sched.DistributorConfig) *Distributor {
	return &Distributor{
		cfg: cfg, inner: probing.NewDistributor(cfg, probing.Options{Ratio: 1, Repeated: true}), share: newShare(), restored: true,
	}
}

// Ledger returns the ledger, for the shell to read between steps.
func (d *Distributor) Ledger() *ledger.Ledger { return d.inner.Ledger() }

// Step implements [sched.Core].
func (d *Distributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	if m.Kind == sched.LoadShare {
		if from != d.cfg.Self {
			d.share.recordPeer(from, m)
		}
		return
	}
	before, average := len(out.List()), d.state().averageLoad()
	d.inner.Step(now, from, m, out)
	if changed := d.count(m, out.List()[before:]); changed {
		d.share.send(out)
	}
	d.attach(average, out.List()[before:])
}

// count follows the tasks that are owed: the records of a step list those that
// ended. It reports whether the shared state has changed.
func (d *Distributor) count(m *sched.Message, did []sched.Action) (changed bool) {
	switch m.Kind {
	case sched.Submit:
		d.restored = d.restored && !m.Resent
		if d.restored {
			changed = d.enter(d.Ledger().Job(m.Job))
		}
	case sched.TaskEnded: // a record: the task that it ended may have been counted
		if d.share.jobs[m.Job] != nil {
			changed = d.enter(d.Ledger().Job(m.Job))
		}
	case sched.Restored:
		d.restored = true
		d.Ledger().Each(func(j *ledger.Job) { changed = d.enter(j) || changed })
	}
	for i := range did {
		switch a := &did[i]; {
		case a.Kind != sched.Persist:
		case a.Msg.Kind == sched.TaskEnded:
			changed = d.share.ended(a.Msg.Job) || changed
		case a.Msg.Kind == sched.JobEnded:
			changed = d.share.forget(a.Msg.Job) || changed
		}
	}
	return changed
}

// enter counts a job in; false when it was counted as it is.
func (d *Distributor) enter(j *ledger.Job) bool {
	return j != nil && d.share.enter(j.ID, int64(j.Unfinished()), d.cfg.Params.EstimateOf(j.Estimate))
}

func (d *Distributor) state() state {
	return state{load: d.share.all, workers: max(1, int64(len(d.inner.Members())))}
}

// attach puts the state on messages to workers, and on probes their job's threshold: the
// average load before this step, which does not count a job that has just come.
func (d *Distributor) attach(average sched.Time, did []sched.Action) {
	var more *sched.More // of the messages before, which are mostly of the same job
	s := d.state()
	for i := range did {
		a := &did[i]
		if a.Kind != sched.Send || a.To.Role != sched.Worker {
			continue
		}
		threshold := average
		switch a.Msg.Kind {
		case sched.Probe:
			a.Msg.Estimate = d.cfg.Params.EstimateOf(a.Msg.Estimate)
			threshold = d.share.threshold(a.Msg.Job, average)
		case sched.Launch, sched.NoTask:
		default:
			continue
		}
		if more == nil || more.Threshold != threshold {
			more = &sched.More{Load: s.load, Threshold: threshold}
		}
		a.Msg.More = more
	}
}
