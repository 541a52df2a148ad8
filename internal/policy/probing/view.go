package probing

import "github.com/pigeon-sched/pigeon/internal/sched"

// Owed implements [sched.DistributorCore].
func (d *Distributor) Owed() sched.Owed { return d.led.Owed() }

// JobView implements [sched.DistributorCore].
func (d *Distributor) JobView(id sched.JobID, most int) (v sched.JobView, ok bool) {
	j := d.jobs[id]
	if j == nil {
		return v, false
	}
	v = sched.JobView{App: j.App, Late: true, Unbound: int(j.unbound), Bound: j.Unfinished() - int(j.unbound) - int(j.Waiting), NoWorker: j.waiting}
	v.Waiting, v.Next, v.NextTask = d.led.NextAttempt(j.Job)
	v.MaxRunning, v.Throttled = int(j.MaxRunning), j.Throttled()
	for task, worker := range j.bound {
		if len(v.Tasks) >= most {
			break
		}
		if worker >= 0 && j.Tasks[task].Outcome == sched.Unfinished {
			v.Tasks = append(v.Tasks, sched.TaskView{
				Task: int32(task), Attempt: j.Tasks[task].Attempt, Worker: sched.Addr{Role: sched.Worker, ID: worker}, Since: sched.Unknown,
			})
		}
	}
	return v, true
}
