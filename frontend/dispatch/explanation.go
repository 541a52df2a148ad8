package dispatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// explanations are what users read about jobs that wait. All but WaitSentences belongs
// to the owner goroutine.
type explanations struct {
	*core
	peers        *peers
	reservations *reservations
}

// Explain returns why tasks of a job are at no worker, and lists the tasks that were
// launched without a master, at most most of them.
func (e *explanations) Explain(job sched.JobID, most int) (why []string, tasks []api.TaskStatus) {
	v, _ := e.JobView(job, most)
	why = e.waitSentences(&v)
	switch {
	case v.Late:
		return append(why, e.bindingSentences(e.reservations.of(job), &v)...), e.boundTasks(&v)
	case v.Unbound > 0:
		why = append(why, fmt.Sprintf("%s held at frontend %s: %s They will be placed as soon as there is one.", sched.Count(v.Unbound, "of its tasks is", "of its tasks are"), e.opts.Self.Name, e.heldBecause(v.App)))
	}
	return why, nil
}

// waitSentences describes the tasks that wait for others of their job, or for the time of their
// next attempt.
func (e *explanations) waitSentences(v *sched.JobView) (why []string) {
	if v.Throttled > 0 {
		why = append(why, fmt.Sprintf("%s for others of the job to end: at most %d of them may run at a time (max_running).",
			sched.Count(v.Throttled, "of its tasks waits", "of its tasks wait"), v.MaxRunning))
	}
	if v.Waiting == 0 {
		return why
	}
	left := max(v.Next-e.opts.Clock.Now(), 0)
	at := time.Now().Add(time.Duration(left))
	return append(why, fmt.Sprintf("%s for the next attempt, because earlier ones failed or were lost with their nodes: task %d until %s, in %.1f s. Nothing need be done; each further attempt is made later than the one before.",
		sched.Count(v.Waiting, "of its tasks waits", "of its tasks wait"), v.NextTask, at.Format("15:04:05"), left.Seconds()))
}

// BoundTo returns the node that this frontend sent a task to, "" for none.
func (e *explanations) BoundTo(job sched.JobID, task int32) string {
	v, _ := e.JobView(job, sched.MaxTasks)
	i := slices.IndexFunc(v.Tasks, func(b sched.TaskView) bool { return b.Task == task })
	if i < 0 {
		return ""
	}
	at, _ := e.opts.Addrs.Ref(v.Tasks[i].Worker)
	return at.Name
}

// heldBecause returns why the tasks of a job cannot be placed.
func (e *explanations) heldBecause(app string) string {
	work := "the built-in backends"
	if app != "" {
		work = fmt.Sprintf("application %q", app)
	}
	if e.opts.Policy.SingleMaster() {
		return "the central master cannot be reached, or has no live general worker."
	}
	if app != "" {
		work += "; backends that ran before their node monitor was restarted register again only when they are started again"
	}
	return fmt.Sprintf("no group that can be reached has a live worker for %s.", work)
}

// bindingSentences describes the state of late binding for a job.
func (e *explanations) bindingSentences(r Reservations, v *sched.JobView) []string {
	switch {
	case v.Waiting+v.Throttled > 0 && v.Unbound+v.Bound == 0:
		return nil
	case v.Waiting+v.Throttled > 0 && v.Unbound == 0:
		return []string{sched.Count(v.Bound, "other one is at a worker.", "others are at workers.")}
	case v.Unbound == 0:
		return []string{allBound(v.Bound)}
	case v.NoWorker:
		return []string{fmt.Sprintf("%s at frontend %s: no worker is registered. Workers are probed as soon as one is.", sched.Count(v.Unbound, "of its tasks waits", "of its tasks wait"), e.opts.Self.Name)}
	}
	probes := fmt.Sprintf("%s bound to no worker yet: %s went out to %s, and %s come back.",
		sched.Count(v.Unbound, "of its tasks is", "of its tasks are"), sched.Count(r.Sent, "reservation", "reservations"),
		sched.Count(len(e.peers.members), "live worker", "live workers"), sched.Count(r.Requests, "request for a task has", "requests for a task have"))
	if r.Rejected > 0 {
		probes += fmt.Sprintf(" %s rejected by workers with long work and sent to others.", sched.Count(r.Rejected, "was", "were"))
	}
	if r.Reprobes > 0 {
		probes += fmt.Sprintf(" Daemons came or went and no worker requested a task for a while: it was probed for again, %s.", sched.Count(r.Reprobes, "time", "times"))
	}
	return []string{probes, "A worker requests a task when its queue reaches the reservation. More workers, or less work at those that hold its reservations, would start them sooner."}
}

func allBound(n int) string {
	if n == 1 {
		return "Its only unfinished task is at a worker."
	}
	return fmt.Sprintf("All of its %d unfinished tasks are at workers.", n)
}

// boundTasks lists the tasks that are bound to workers.
func (e *explanations) boundTasks(v *sched.JobView) []api.TaskStatus {
	tasks := make([]api.TaskStatus, 0, len(v.Tasks))
	for _, b := range v.Tasks {
		t := api.TaskStatus{Task: int(b.Task), Attempt: int(b.Attempt), State: "running"}
		if at, ok := e.opts.Addrs.Ref(b.Worker); ok {
			t.Node = fmt.Sprintf("%s/%d", at.Name, at.Slot)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// ended returns how many tasks of a job have ended, the beginning of a sentence.
func ended(s *api.Status) string {
	n := s.Completed + s.Failed
	verb := "have"
	if n == 1 || s.Tasks == 1 {
		verb = "has"
	}
	return fmt.Sprintf("%d of %s %s ended", n, sched.Count(s.Tasks, "task", "tasks"), verb)
}

// WaitSentences returns which tasks of an unfinished job the masters hold and what they
// wait for, and adds the reasons to the views. class is the job's class now. It may be called
// from anywhere.
func (e *explanations) WaitSentences(s *api.Status, class sched.Class, views []wire.JobView) []string {
	queued := 0
	for i := range views {
		queued += views[i].Share.Queued
	}
	counts := fmt.Sprintf("%s, %s%s, %s in queues.", ended(s), sched.Count(s.Running, "runs", "run"), suspended(views), sched.Count(queued, "waits", "wait"))
	if e.opts.Policy.NewMaster == nil {
		counts = fmt.Sprintf("%s, %s at workers.", ended(s), sched.Count(s.Running, "is", "are"))
	}
	why := []string{counts}
	var away []int
	var alike []*waitingGroups // in the order of the first of each
	for i := range views {
		g := &views[i].Share
		switch {
		case !g.Reachable:
			g.Reason = api.WaitsForMaster
			away = append(away, g.Group)
		case g.Queued > 0:
			w := waitingAt(class, g)
			g.Reason = waitReason(&w)
			k := slices.IndexFunc(alike, func(a *waitingGroups) bool { return a.reason == g.Reason })
			if k < 0 {
				k = len(alike)
				alike = append(alike, &waitingGroups{reason: g.Reason})
			}
			alike[k].add(g.Group, &w)
		}
	}
	if len(away) > 0 {
		why = append(why, e.awaySentence(away))
	}
	for _, a := range alike {
		why = append(why, e.queueSentence(a))
	}
	return why
}

// waitingGroups are groups in which tasks of a job wait for the same: one sentence is about all of them.
type waitingGroups struct {
	reason api.WaitReason
	groups []int
	sum    sched.Waiting
}

func (a *waitingGroups) add(group int, w *sched.Waiting) {
	a.groups = append(a.groups, group)
	a.sum.Class, a.sum.Queued, a.sum.Workers = w.Class, a.sum.Queued+w.Queued, a.sum.Workers+w.Workers
	for class := range a.sum.QueuedAll {
		a.sum.QueuedAll[class] += w.QueuedAll[class]
	}
	for kind := range a.sum.Idle {
		a.sum.Idle[kind] += w.Idle[kind]
	}
	a.sum.OldestWait = max(a.sum.OldestWait, w.OldestWait)
}

// groupNames names groups, the first ones of many.
func groupNames(groups []int) string {
	const most = 5
	if len(groups) == 1 {
		return fmt.Sprintf("group %d", groups[0])
	}
	names := make([]string, 0, most)
	for _, g := range groups[:min(len(groups), most)] {
		names = append(names, strconv.Itoa(g))
	}
	last := len(names) - 1
	if len(groups) > most {
		return fmt.Sprintf("groups %s and %d more", strings.Join(names, ", "), len(groups)-most)
	}
	return fmt.Sprintf("groups %s and %s", strings.Join(names[:last], ", "), names[last])
}

// awaySentence is about the groups whose masters cannot be reached.
func (e *explanations) awaySentence(groups []int) string {
	switch {
	case e.opts.Policy.Central:
		return "The central master cannot be reached; its tasks are sent to it again when it is back."
	case len(groups) == 1:
		return fmt.Sprintf("The master of group %d cannot be reached; its tasks are distributed again if it stays away.", groups[0])
	}
	return fmt.Sprintf("The masters of %s cannot be reached; their tasks are distributed again if they stay away.", groupNames(groups))
}

// suspended returns how many of the running tasks are suspended, as far as the masters list them, ""
// for none.
func suspended(views []wire.JobView) string {
	count, short := 0, ""
	for i := range views {
		v := &views[i]
		if len(v.Tasks) < v.Share.Running {
			short = "at least "
		}
		for k := range v.Tasks {
			if v.Tasks[k].State == "suspended" {
				count++
			}
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf(", %s%d of them suspended until short tasks in their slots have ended", short, count)
}

// waitingAt returns what a group's master has told of the tasks of a job that wait there.
func waitingAt(class sched.Class, g *api.GroupShare) sched.Waiting {
	return sched.Waiting{
		Class: class, Queued: g.Queued, QueuedAll: [...]int{sched.Short: g.AheadShort, sched.Long: g.AheadLong},
		Workers: g.Serving, Idle: [...]int{sched.General: g.IdleGeneral, sched.Reserved: g.IdleReserve},
		OldestWait: [...]float64{sched.Short: g.OldestShort, sched.Long: g.OldestLong}[class],
	}
}

// queueSentence returns the policy's sentence about tasks that wait at masters: in which
// order they are served, and what would start them sooner.
func (e *explanations) queueSentence(a *waitingGroups) string {
	w := &a.sum
	w.Place = "G" + groupNames(a.groups)[1:]
	if e.opts.Policy.Central {
		w.Place = "The central master"
	}
	switch a.reason {
	case api.WaitsForBackend:
		return fmt.Sprintf("%s: %s for a worker that serves its application; none there does now. Its tasks are distributed over other groups if none comes.", w.Place, sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"))
	case api.WaitsAtLimit:
		return fmt.Sprintf("%s: %s although %s: its owner has as many slots as its max allows (a later sentence then says so); or its master has just started, and its nodes report first what they run, for a second at most.",
			w.Place, sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), sched.Count(w.Idle[sched.General]+w.Idle[sched.Reserved], "worker that serves it is idle", "workers that serve it are idle"))
	}
	return e.opts.Policy.Explain(w)
}

// waitReason returns the code for why tasks wait in a queue.
func waitReason(w *sched.Waiting) api.WaitReason {
	switch {
	case w.Workers == 0:
		return api.WaitsForBackend
	case w.Idle[sched.General] > 0, w.Class == sched.Short && w.Idle[sched.Reserved] > 0:
		return api.WaitsAtLimit
	case w.Idle[sched.Reserved] > 0:
		return api.WaitsForGeneral
	}
	return api.WaitsForWorker
}
