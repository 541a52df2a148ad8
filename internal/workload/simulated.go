package workload

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// DeclaredClass returns the class that the scheduler receives.
func (j *Job) DeclaredClass() sched.Class {
	if j.DeclaredLong {
		return sched.Long
	}
	return sched.Short
}

// Simulated returns the jobs in the form of the simulator.
func (w *Workload) Simulated() []sim.Job {
	jobs := make([]sim.Job, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		jobs[i] = sim.Job{
			Line: j.Line, Arrival: sched.Time(j.Arrival), Estimate: sched.Time(j.Estimate), Long: j.DeclaredLong, Undeclared: j.Undeclared,
			Name: j.Name, Owner: j.Owner, Priority: j.Priority, Slots: j.Slots, Gang: j.Gang, Durations: j.Durations,
		}
	}
	return jobs
}
