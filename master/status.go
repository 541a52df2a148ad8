package master

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// state returns the group as it is now, for status and explain.
func (o *owner) state() api.MasterState {
	t, now := o.core.view.Totals(), o.core.clock.Now()
	s := api.MasterState{
		Group: o.cfg.Group, Epoch: o.epoch.Number, QueuedShort: t.Queued[sched.Short], QueuedLong: t.Queued[sched.Long],
		OldestShort: waited(t.Oldest[sched.Short], now), OldestLong: waited(t.Oldest[sched.Long], now),
		Launches: t.Launches, Lost: t.Lost, RefusedLaunch: t.Refused,
	}
	nodes, idle, busy := o.nodes.Status(o.core.view.WorkerView)
	s.Nodes = nodes
	s.IdleGeneral, s.IdleReserved = idle[sched.General], idle[sched.Reserved]
	s.BusyGeneral, s.BusyReserved = busy[sched.General], busy[sched.Reserved]
	for i := range nodes {
		s.Workers += nodes[i].Slots
	}
	o.showDaemons(&s)
	return s
}

// runningJobs returns which jobs of a frontend have tasks that run in the group.
func (o *owner) runningJobs(frontend string) (r wire.RunningJobs) {
	of, known := o.addrs.Find(frontendRef(frontend))
	if !known {
		return r
	}
	seen := map[sched.JobID]struct{}{}
	for job, distributor := range o.core.view.Running() {
		if _, twice := seen[job]; twice || distributor != of {
			continue
		}
		if len(r.Jobs) == wire.MaxRunningJobs {
			r.More = true
			break
		}
		seen[job] = struct{}{}
		r.Jobs = append(r.Jobs, job)
	}
	return r
}

// viewTasks bounds the running tasks that a view lists.
const viewTasks = 100

// jobView returns what the group holds of a job.
func (o *owner) jobView(job sched.JobID, app string) wire.JobView {
	view, now := o.core.view, o.core.clock.Now()
	t, held := view.Totals(), view.Share(job, viewTasks)
	serving, idle := view.Serving(app)
	v := wire.JobView{Share: api.GroupShare{
		Group: o.cfg.Group, Reachable: true,
		AheadShort: t.Queued[sched.Short], AheadLong: t.Queued[sched.Long],
		IdleGeneral: max(0, idle[sched.General]), IdleReserve: max(0, idle[sched.Reserved]),
		OldestShort: waited(t.Oldest[sched.Short], now), OldestLong: waited(t.Oldest[sched.Long], now),
		Serving: serving, Queued: held.Queued, Running: held.Running,
	}}
	v.Share.OldestWait = max(v.Share.OldestShort, v.Share.OldestLong)
	for i := range held.Tasks {
		v.Tasks = append(v.Tasks, o.taskStatus(&held.Tasks[i]))
	}
	return v
}

// taskStatus describes an attempt at a worker.
func (o *owner) taskStatus(r *sched.TaskView) api.TaskStatus {
	t := api.TaskStatus{Task: int(r.Task), Attempt: int(r.Attempt), State: "running"}
	if r.Suspended {
		t.State, t.Reason = "suspended", o.suspendedFor(r)
	}
	if ref, ok := o.addrs.Ref(r.Worker); ok {
		t.Node = fmt.Sprintf("%s/%d", ref.Name, ref.Slot)
	}
	if r.Since != sched.Unknown {
		t.Seconds = (o.core.clock.Now() - r.Since).Seconds()
		t.Started = float64(time.Now().UnixMicro())/1e6 - t.Seconds
	}
	return t
}

// suspendedFor describes since when an attempt is suspended, and for which job.
func (o *owner) suspendedFor(r *sched.TaskView) string {
	ago := time.Duration(o.core.clock.Now() - r.SuspendedAt)
	s := fmt.Sprintf("suspended since %s, %.1f s ago", time.Now().Add(-ago).Format("15:04:05"), ago.Seconds())
	e, _ := o.payloads.Of(sched.AttemptID{Job: r.For})
	if e.JobName == "" {
		return s
	}
	s += ", for job " + e.JobName
	if owner := o.payloads.Owner(r.For); owner != "" {
		s += " of " + owner
	}
	return s
}

// runningAttempts returns the attempts of a task that are at workers.
func (o *owner) runningAttempts(job sched.JobID, task int32) (list []api.TaskStatus) {
	held := o.core.view.Share(job, sched.MaxTasks)
	for i := range held.Tasks {
		if r := &held.Tasks[i]; r.Task == task {
			list = append(list, o.taskStatus(r))
		}
	}
	return list
}
