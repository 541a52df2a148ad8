package probing

import "github.com/pigeon-sched/pigeon/internal/sched"

// View is what a distributor's shell may show of an unfinished job between steps.
type View struct {
	Unbound int       // tasks that wait for a worker to ask for one
	Bound   int       // tasks that were handed to a worker and have no result yet
	Tasks   []Binding // the first of the bound ones, in order
	Waiting bool      // no worker was there to be probed
}

// Binding is a task at the worker to which it was handed.
type Binding struct {
	Task, Attempt int32
	Worker        sched.Addr
}

// View returns what is known of a job, with at most so many of its bound tasks;
// false for a job that is none of the distributor's.
func (d *Distributor) View(id sched.JobID, most int) (v View, ok bool) {
	j := d.jobs[id]
	if j == nil {
		return v, false
	}
	v = View{Unbound: int(j.unbound), Bound: j.Unfinished() - int(j.unbound), Waiting: j.waiting}
	for task, worker := range j.bound {
		if len(v.Tasks) >= most {
			break
		}
		if worker != nobody && j.Tasks[task].Outcome == sched.Unfinished {
			v.Tasks = append(v.Tasks, Binding{int32(task), j.Tasks[task].Attempt, sched.Addr{Role: sched.Worker, ID: worker}})
		}
	}
	return v, true
}
