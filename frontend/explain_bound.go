package frontend

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// bindingSentences returns what late binding has come to for a job.
func (o *owner) bindingSentences(j *job, v *sched.JobView) []string {
	switch {
	case v.Unbound == 0:
		return []string{fmt.Sprintf("All of its %d unfinished tasks are at workers.", v.Bound)}
	case v.NoWorker:
		return []string{fmt.Sprintf("%d of its tasks wait at frontend %s: no worker is registered. Workers are asked as soon as one is.", v.Unbound, o.cfg.ID)}
	}
	probes := fmt.Sprintf("%d of its tasks are bound to no worker yet: %d reservations went out to %d live workers, and %d questions for a task have come back.",
		v.Unbound, j.probes.sent, len(o.peers.members), j.probes.asked)
	if j.probes.rejected > 0 {
		probes += fmt.Sprintf(" %d were turned away by workers with long work and went on to others.", j.probes.rejected)
	}
	if j.probes.again > 0 {
		probes += fmt.Sprintf(" Daemons came or went, and no worker had asked for long: it was probed for again, %d times.", j.probes.again)
	}
	return []string{probes, "A worker asks when the reservation's turn has come in its own queue. More workers, or less work at those that hold its reservations, would start them sooner."}
}

// boundTasks lists the tasks that are at workers.
func (o *owner) boundTasks(v *sched.JobView) []api.TaskStatus {
	tasks := make([]api.TaskStatus, 0, len(v.Tasks))
	for _, b := range v.Tasks {
		t := api.TaskStatus{Task: int(b.Task), Attempt: int(b.Attempt), State: "running"}
		if at, ok := o.addrs.Ref(b.Worker); ok {
			t.Node = fmt.Sprintf("%s/%d", at.Name, at.Slot)
		}
		tasks = append(tasks, t)
	}
	return tasks
}
