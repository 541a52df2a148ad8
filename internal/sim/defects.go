package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// Runs with faults have found these defects of cores, which are not fixed yet. Unless
// [Faults.Defects] is set, the runs avoid each as narrowly as possible. A fix removes its
// lines here.

// Under hawk and eagle a master may keep the payload of a job for ever:
//   - of a late-bound task, when the node that runs it registers: the core ignores the
//     task, and never forgets it;
//   - of tasks that arrive a second time after they have ended: the core ignores them, and
//     never forgets the job;
//   - of a launch that is repeated after a restart: a worker drops a launch that equals
//     its last attempt as a repetition, and the master counts a task at the worker that
//     never ends.
func (f *Faults) payloadDefect(p *sched.Policy) bool {
	return !f.Defects && p.Central && p.LateBinding
}
