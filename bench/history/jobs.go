package history

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// jobsAccepted: without an accepted job no other check has anything to find.
func jobsAccepted(r *Run) []Finding {
	if slices.ContainsFunc(r.Jobs, func(j Job) bool { return j.Accepted != 0 }) {
		return nil
	}
	return []Finding{{What: fmt.Sprintf("none of %d submitted jobs was accepted, so that the run shows nothing", len(r.Jobs))}}
}

// faultsTookPlace: one of the faults of the programme was injected.
func faultsTookPlace(r *Run) []Finding {
	if len(r.Faults) == 0 || slices.ContainsFunc(r.Faults, func(f Fault) bool { return !f.Void }) {
		return nil
	}
	return []Finding{{What: fmt.Sprintf("none of %d planned faults could be injected, so that the run shows nothing about them", len(r.Faults))}}
}

// acceptedJobsEnd: every accepted job ends.
func acceptedJobsEnd(r *Run) (list []Finding) {
	for _, j := range r.Jobs {
		if j.Accepted != 0 && j.Ended == 0 {
			list = append(list, Finding{What: fmt.Sprintf("job %s, accepted by frontend %d, has not ended: %s %s", j.Key, j.Frontend, j.State, strings.Join(j.Why, "; "))})
		}
	}
	return list
}

// submissionsAccepted: clients submit a job until it is accepted, so every job that was still
// submitted when all faults were over is accepted in the end. There is one finding for each
// frontend: one that accepts nothing has hundreds of such jobs.
func submissionsAccepted(r *Run) (list []Finding) {
	from := r.Healed + Time(backWithin+r.Stall)
	refused := map[int][]Job{}
	for _, j := range r.Jobs {
		if j.Accepted == 0 && j.lastSubmitted() >= from && r.FailingDisk != frontendName(j.Frontend) { // that disk is never healed
			refused[j.Frontend] = append(refused[j.Frontend], j)
		}
	}
	for _, frontend := range slices.Sorted(maps.Keys(refused)) {
		jobs := refused[frontend]
		first := jobs[0]
		last := first.lastSubmitted()
		list = append(list, Finding{What: fmt.Sprintf("frontend %d never accepted %d jobs that were submitted until after healing, the first of them %s until %v after it: %s",
			frontend, len(jobs), first.Key, time.Duration(last-r.Healed), first.Reason), At: last})
	}
	return list
}

// lastSubmitted is when a job was submitted for the last time.
func (j *Job) lastSubmitted() Time { return max(j.Submitted, j.Called) }

// frontendName is the name of a frontend's number.
func frontendName(number int) string { return fmt.Sprintf("frontend-%d", number) }

// jobsAreKnown: a frontend knows the jobs that it has accepted, under one id, until its journal is
// lost. Clients wait for their jobs, so none is too old to be known.
func jobsAreKnown(r *Run) (list []Finding) {
	frontends := map[string]int{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		frontends[j.Key] = j.Frontend
		for _, f := range j.Forgotten {
			if !r.journalLost(j.Frontend, f.Accepted, f.Noticed) {
				list = append(list, Finding{What: fmt.Sprintf("frontend %d did not know job %s %v after it had accepted it", j.Frontend, j.Key, time.Duration(f.Noticed-f.Accepted)), At: f.Noticed})
			}
		}
	}
	ids := map[string]string{} // of the latest attempt of each job
	for _, a := range r.attempts() {
		before, again := ids[a.job]
		ids[a.job] = a.id
		if again && before != a.id && !r.journalLost(frontends[a.job], r.Began, a.began) {
			list = append(list, Finding{What: fmt.Sprintf("job %s has two ids, %s and %s", a.job, before, a.id), At: a.began})
		}
	}
	return list
}

// journalLost reports whether a frontend has lost its journal in the time given. A journal that is
// replicated is not lost with the folder of one host.
func (r *Run) journalLost(frontend int, from, to Time) bool {
	return !r.Standbys && slices.ContainsFunc(r.Faults, func(f Fault) bool {
		return f.Kind == JournalLost && !f.Void && f.Victim == frontendName(frontend) && f.From <= to && f.To >= from
	})
}

// lastKnown is the last time at which a job's client heard of it, or tried to.
func (j *Job) lastKnown() Time {
	last := max(j.lastSubmitted(), j.Accepted, j.Cancelled, j.Ended)
	for _, f := range j.Forgotten {
		last = max(last, f.Noticed)
	}
	return last
}

// jobsComplete: the programs of the tasks do not fail, so a job completes unless it was
// cancelled or one of its tasks took down three nodes.
func jobsComplete(r *Run) (list []Finding) {
	var tookDown map[string]int
	for _, j := range r.Jobs {
		switch {
		case j.Ended == 0 || j.Cancelled != 0:
		case j.State == "completed" && j.Completed != j.Tasks:
			list = append(list, Finding{What: fmt.Sprintf("job %s completed with %d of its %d tasks", j.Key, j.Completed, j.Tasks), At: j.Ended})
		case j.State != "completed":
			if tookDown == nil {
				tookDown = nodesTakenDown(r)
			}
			switch n := tookDown[j.Key] + r.lostUnstarted(&j); {
			case j.Writes && n < nodesOfPoison:
				list = append(list, Finding{What: fmt.Sprintf("job %s %s, though no task of it was on more than %d nodes that went down: %s", j.Key, j.State, n, j.Reason), At: j.Ended})
			case !j.Writes && !lostWithNodes.MatchString(j.Reason):
				list = append(list, Finding{What: fmt.Sprintf("job %s %s, and not because a task of it took down %d nodes: %s", j.Key, j.State, nodesOfPoison, j.Reason), At: j.Ended})
			}
		}
	}
	return list
}

// completedTasksRan: the last line of a task is written before its process ends, so that a task
// whose result was accepted has one. A job that completes without it has lost the task.
func completedTasksRan(r *Run) (list []Finding) {
	ended := map[task]bool{}
	for _, e := range r.Events {
		if e.Event == End {
			ended[task{e.Job, e.Task}] = true
		}
	}
	for _, j := range r.Jobs {
		if !j.Writes || j.State != "completed" {
			continue
		}
		for n := range j.Tasks {
			if !ended[task{j.Key, n}] {
				list = append(list, Finding{What: fmt.Sprintf("job %s completed, and no attempt of task %d has run to its end", j.Key, n), At: j.Ended})
			}
		}
	}
	return list
}

// lostWithNodes is the reason of a job one of whose tasks took down three nodes. It is all that
// is known of jobs that write no history.
var lostWithNodes = regexp.MustCompile(`task \d+ was lost with ([3-9]|\d\d+) nodes within `)

// sparkJobsComplete: the tasks of Spark's jobs do not fail, and Spark starts those again that it
// has lost with an executor.
func sparkJobsComplete(r *Run) (list []Finding) {
	for _, j := range r.SparkJobs {
		switch {
		case j.Ended == 0:
			list = append(list, Finding{What: fmt.Sprintf("job %d of Spark application %d has not ended: %s", j.Job, j.Application, strings.Join(j.Why, "; ")), At: j.Submitted})
		case j.State != "completed":
			list = append(list, Finding{What: fmt.Sprintf("job %d of Spark application %d %s", j.Job, j.Application, j.State), At: j.Ended})
		}
	}
	return list
}

// nodesOfPoison is the number of nodes whose loss fails a task.
const nodesOfPoison = 3

// nodesTakenDown returns for each job how many nodes went down under one task of it.
func nodesTakenDown(r *Run) map[string]int {
	nodes := map[task]map[string]bool{}
	for _, a := range r.attempts() {
		if a.ended != 0 {
			continue
		}
		for _, f := range r.Faults {
			if f.Victim == a.node && !f.Void && r.takesDown(&f) && f.From >= a.began && (r.Suspends || f.From <= a.last+Time(slackOfEnd)) { // a suspended task writes nothing
				if nodes[a.task] == nil {
					nodes[a.task] = map[string]bool{}
				}
				nodes[a.task][a.node] = true
			}
		}
	}
	most := map[string]int{}
	for id, set := range nodes {
		most[id.job] = max(most[id.job], len(set))
	}
	return most
}

// takesDown reports whether a fault of a node ends what runs there, or makes it a lost node.
func (r *Run) takesDown(f *Fault) bool {
	switch f.Kind {
	case Kill, HalfOpen, GuardKill, Machine:
		return true
	case Pause:
		return time.Duration(f.To-f.From) > r.LostAfter-heartbeat
	default:
		return false
	}
}

// lostUnstarted returns how many nodes the reason of a failed job names with which one of its tasks
// was lost before it began: a node that is paused is sent tasks until it counts as lost.
func (r *Run) lostUnstarted(j *Job) (n int) {
	if !lostWithNodes.MatchString(j.Reason) {
		return 0
	}
	for _, node := range r.Nodes {
		began := slices.ContainsFunc(r.Events, func(e Event) bool { return e.Job == j.Key && e.Node == node })
		if strings.Contains(j.Reason, node) && !began && r.unreachable(node, j.Submitted, j.Ended) {
			n++
		}
	}
	return n
}

// slackOfEnd is how long after its last line a task that was killed may have run.
const slackOfEnd = time.Second

// cancelIsFinal: no task of a cancelled job starts more than cancelWithin after the
// answer. A fault in progress may delay it: then from its end on.
func cancelIsFinal(r *Run) (list []Finding) {
	cancelled := map[string]Time{}
	for _, j := range r.Jobs {
		if j.Cancelled != 0 {
			cancelled[j.Key] = j.Cancelled
		}
	}
	for _, e := range r.Events {
		at, ok := cancelled[e.Job]
		if !ok || e.Event != Start {
			continue
		}
		if late := time.Duration(e.Time - r.calmFrom(at)); late > cancelWithin+r.Stall {
			list = append(list, Finding{What: fmt.Sprintf("task %d of job %s, attempt %d, started on %s %v after the cancellation was answered and no fault was under way", e.Task, e.Job, e.Attempt, e.Node, late), At: e.Time})
		}
	}
	return list
}

const cancelWithin = 2 * time.Second

// calmFrom returns when the faults that overlap a time, and those that overlap them, are
// over, with the time that a reconciliation takes.
func (r *Run) calmFrom(at Time) Time {
	const settled = Time(5 * time.Second)
	calm := at
	for again := true; again; {
		again = false
		for _, f := range r.Faults {
			if !f.Void && f.From <= calm && f.To+settled > calm {
				calm, again = f.To+settled, true
			}
		}
	}
	return calm
}
