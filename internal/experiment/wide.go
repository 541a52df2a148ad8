package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// wideResult sets the starts of tasks of several slots and of gangs against those of the offline
// backfill; nil for a workload without any.
func (r *Run) wideResult(w *workload.Workload, got *sim.Outcome, delays []int64) *measure.WideResult {
	if got.Groups == nil {
		return nil
	}
	cluster := r.Cluster(0)
	reference := measure.Backfilled(w, got.Groups, cluster.Nodes(), r.Params.Reserved)
	task := 0
	for i := range w.Jobs {
		for range w.Jobs[i].Durations {
			reference[task] -= w.Jobs[i].Arrival
			task++
		}
	}
	out := measure.Waits(w, delays, reference, r.Description.Speedup())
	out.Held = measure.Number(got.Held)
	return out
}

// CheckLive refuses what only the simulator can run so far.
func (r *Run) CheckLive() error {
	o := &r.Description.Workload
	if o.Wide != nil || o.Gangs != nil || r.Description.NodeSlots != nil || slices.ContainsFunc(r.raw.Jobs, func(j workload.Job) bool { return !j.IsUnit() }) {
		return errors.New("tasks of several slots, gangs and --slots-per-node are simulated only, without faults; nothing was run; leave --wide, --gang and --slots-per-node out, and slots= and gang=yes of a trace")
	}
	return nil
}

// checkDemands refuses a workload whose demands a policy does not know, or no node could ever hold.
func checkDemands(runs []Run, w *workload.Workload) error {
	if !slices.ContainsFunc(w.Jobs, func(j workload.Job) bool { return !j.IsUnit() }) {
		return nil
	}
	jobs := w.Simulated()
	for i := range runs {
		if i > 0 && runs[i].Policy == runs[i-1].Policy {
			continue
		}
		cluster := runs[i].Cluster(0)
		if err := cluster.CheckWide(jobs); err != nil {
			return fmt.Errorf("%w; nothing was run", err)
		}
	}
	return nil
}

// WithoutDemand returns the same run with the work of its wide tasks and gangs in unit tasks, false when
// it has neither.
func (r *Run) WithoutDemand() (Run, bool) {
	o := &r.Description.Workload
	if o.Wide == nil && o.Gangs == nil {
		return *r, false
	}
	description, run := *r.Description, *r
	description.Workload.Wide, description.Workload.Gangs = split(o.Wide), split(o.Gangs)
	run.Description = &description
	return run, true
}

func split(o *workload.Wide) *workload.Wide {
	if o == nil {
		return nil
	}
	s := *o
	s.Split = true
	return &s
}
