package after

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Other is a job after which another one starts.
type Other struct {
	Job   sched.JobID
	After api.After // as the request has it
	Index int32     // in the request
}

// Step is what follows for a held job from the end of another one.
type Step struct {
	Job      sched.JobID
	Other    Other
	Free     bool // nothing is left to wait for
	Hopeless bool // the other one did not end as required
}

// Table holds jobs. Make one with New.
type Table struct {
	held   map[sched.JobID]*held
	behind map[sched.JobID][]sched.JobID // by the job that must end: the jobs that wait for it, in their order
}

// held is one job. Its list has the jobs that it still waits for, at least one, in the order of
// its request.
type held struct{ list []Other }

// New returns an empty table.
func New() *Table {
	return &Table{held: map[sched.JobID]*held{}, behind: map[sched.JobID][]sched.JobID{}}
}

// Hold enters a job and the jobs that it waits for, at least one, each once. The job must not
// be in the table.
func (t *Table) Hold(job sched.JobID, list []Other) {
	t.held[job] = &held{list}
	for i := range list {
		t.behind[list[i].Job] = append(t.behind[list[i].Job], job)
	}
}

// Waits returns the jobs that a job still waits for, in the order of its request; none when it
// is not held.
func (t *Table) Waits(job sched.JobID) []Other {
	if h := t.held[job]; h != nil {
		return h.list
	}
	return nil
}

// Ended returns what follows from the end of a job for the jobs that wait for it.
func (t *Table) Ended(job sched.JobID, s api.State) (steps []Step) {
	waiting := t.behind[job]
	delete(t.behind, job)
	for _, id := range waiting {
		step := Step{Job: id, Other: t.held[id].remove(job)}
		step.Hopeless = !step.Other.After.Met(s)
		step.Free = !step.Hopeless && len(t.held[id].list) == 0
		if step.Hopeless || step.Free {
			t.Drop(id)
		}
		steps = append(steps, step)
	}
	return steps
}

// remove removes a job from the list of awaited ones.
func (h *held) remove(job sched.JobID) (found Other) {
	rest := make([]Other, 0, len(h.list)-1)
	for _, o := range h.list {
		if o.Job == job {
			found = o
		} else {
			rest = append(rest, o)
		}
	}
	h.list = rest
	return found
}

// Drop forgets a job, if it is held.
func (t *Table) Drop(job sched.JobID) {
	h := t.held[job]
	if h == nil {
		return
	}
	delete(t.held, job)
	for _, o := range h.list {
		waiting := t.behind[o.Job]
		if i := slices.Index(waiting, job); i >= 0 {
			waiting = slices.Delete(waiting, i, i+1)
		}
		if t.behind[o.Job] = waiting; len(waiting) == 0 {
			delete(t.behind, o.Job)
		}
	}
}

// Awaited returns the jobs for which held ones wait, in no order.
func (t *Table) Awaited() (jobs []sched.JobID) {
	for id := range t.behind {
		jobs = append(jobs, id)
	}
	return jobs
}
