package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

type task struct {
	job  string
	task int
}

// attempt is one start of an attempt.
type attempt struct {
	task
	id                 string // of the job
	number             int
	node               string
	slot, pid          int
	began, last, ended Time // last: of its last line; ended: 0 without an end
}

// attempts returns every start, in order of time.
func (r *Run) attempts() (list []attempt) {
	type process struct {
		task
		number int
		node   string
		pid    int
	}
	open := map[process]int{}
	for _, e := range r.Events {
		id := process{task{e.Job, e.Task}, e.Attempt, e.Node, e.Pid}
		if e.Event == Start {
			open[id] = len(list)
			list = append(list, attempt{id.task, e.ID, e.Attempt, e.Node, e.Slot, e.Pid, e.Time, e.Time, 0})
			continue
		}
		at, ok := open[id]
		if !ok {
			continue
		}
		list[at].last = e.Time
		if e.Event == End {
			list[at].ended = e.Time
		}
	}
	slices.SortStableFunc(list, func(a, b attempt) int { return cmp.Compare(a.began, b.began) })
	return list
}

func (a *attempt) String() string {
	end := "did not end"
	if a.ended != 0 {
		end = fmt.Sprintf("ended after %v", time.Duration(a.ended-a.began))
	}
	return fmt.Sprintf("attempt %d on %s slot %d %s", a.number, a.node, a.slot, end)
}

// attemptsStartOnce: an attempt number of a task starts at most once.
func attemptsStartOnce(r *Run) (list []Finding) {
	type name struct {
		task
		id     string
		number int
	}
	first := map[name]attempt{}
	for _, a := range r.attempts() {
		key := name{a.task, a.id, a.number}
		before, twice := first[key]
		if !twice {
			first[key] = a
			continue
		}
		list = append(list, Finding{What: fmt.Sprintf("task %d of job %s: %v, and %v after it began the same number began again: %v", a.task.task, a.job, &before, time.Duration(a.began-before.began), &a), At: a.began})
	}
	return list
}

// slotsHoldOne: attempts of one slot do not overlap. Where a policy suspends tasks two of
// them are in one slot rightly.
func slotsHoldOne(r *Run) (list []Finding) {
	if r.Suspends {
		return nil
	}
	type slot struct {
		node string
		slot int
	}
	by := map[slot][]attempt{}
	for _, a := range r.attempts() {
		by[slot{a.node, a.slot}] = append(by[slot{a.node, a.slot}], a)
	}
	for _, all := range by {
		for i := range all {
			for k := i + 1; k < len(all) && all[k].began < all[i].last; k++ {
				list = append(list, Finding{What: fmt.Sprintf("%s slot %d: task %d of job %s attempt %d ran until %v after task %d of job %s attempt %d had begun there",
					all[i].node, all[i].slot, all[i].task.task, all[i].job, all[i].number, time.Duration(all[i].last-all[k].began), all[k].task.task, all[k].job, all[k].number), At: all[k].began})
			}
		}
	}
	return list
}

// ranTwice: a task runs to its end twice only when the node of one of these attempts was
// lost, or out of reach of another daemon, at that time, or was being stopped when the earlier
// one wrote its last line.
func ranTwice(r *Run) (list []Finding) {
	jobs := map[string]Job{}
	for i := range r.Jobs {
		jobs[r.Jobs[i].Key] = r.Jobs[i]
	}
	for _, runs := range r.endedTwice() {
		for k := 1; k < len(runs); k++ {
			before, after := &runs[k-1], &runs[k]
			from, to := before.began, after.began
			if from > to { // the launch of the earlier attempt was still in transit
				from, to = jobs[before.job].Submitted, from
			}
			if j := jobs[before.job]; before.began < j.Called || j.Accepted-before.began > Time(unacceptedFor) {
				continue // it was submitted again: no client was told that it would run
			}
			if after.began > before.ended && r.stoppedAtItsEnd(before) {
				continue
			}
			if !r.unreachable(before.node, from, to) {
				list = append(list, Finding{What: fmt.Sprintf("task %d of job %s ran to its end twice, and %s was neither lost nor out of reach: %v; %v after its begin: %v", after.task.task, after.job, before.node, before, time.Duration(after.began-before.began), after), At: max(before.began, after.began)})
			}
		}
	}
	return list
}

// unacceptedFor is how long before the answer to its submission a task ran whose job the client
// submitted again: frontends send tasks to masters while the journal is being written, and a
// replicated journal takes nothing while two of three NATS servers are lost.
const unacceptedFor = time.Second

// stoppedAtItsEnd reports whether an attempt wrote its last line while its node monitor was being
// stopped in order, which kills running tasks and gives them back (the clusters of this harness
// do not wait, stop_wait is 0s). A process that is killed between that line and its exit has done
// its work, but the node cannot know that: its task runs again, under another number. An attempt
// that had exited when the stop began has a result, which the node hands over before it is gone.
func (r *Run) stoppedAtItsEnd(a *attempt) bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool {
		return !f.Void && slices.ContainsFunc(f.Stops, func(s DaemonStop) bool {
			return s.Daemon == a.node && s.From-Time(exitWithin) <= a.ended && a.ended <= s.To
		})
	})
}

// exitWithin is how long the program of a task may take from its last line to its exit, on a
// machine with more to do than it can.
const exitWithin = 500 * time.Millisecond

// endedTwice returns the attempts that ended, of tasks with more than one of them, by
// number. A task of a job that was submitted again after its frontend had lost its journal is
// another one.
func (r *Run) endedTwice() (list [][]attempt) {
	type name struct {
		task
		id string
	}
	by := map[name][]attempt{}
	for _, a := range r.attempts() {
		if a.ended != 0 {
			key := name{a.task, a.id}
			by[key] = append(by[key], a)
		}
	}
	for _, runs := range by {
		if len(runs) > 1 {
			slices.SortStableFunc(runs, func(a, b attempt) int { return cmp.Compare(a.number, b.number) })
			list = append(list, runs)
		}
	}
	slices.SortFunc(list, func(a, b []attempt) int { return cmp.Compare(a[0].began, b[0].began) })
	return list
}

// unreachable reports whether a node was lost, paused for as long as a lost node, or out of
// another daemon's reach in the time given. A daemon that could not reach it may act on
// that a moment after the fault is over.
func (r *Run) unreachable(node string, from, to Time) bool {
	for _, f := range r.Faults {
		if f.Void || f.From > to || f.To+Time(r.LostAfter+heartbeat) < from || f.Victim != node && f.Peer != node && f.Peer != everyone {
			continue
		}
		switch f.Kind {
		case Kill, HalfOpen, GuardKill, Machine:
			if f.Victim == node {
				return true
			}
		case Pause:
			// The signal of the end comes after the last heartbeat that was missed.
			if f.Victim == node && time.Duration(f.To-f.From) > r.LostAfter-heartbeat {
				return true
			}
		case Partition, OneWay, Isolation, Delay, Loss, LeaderCut:
			return true
		}
	}
	return false
}

// everyone is the peer of a daemon that is cut off from all others.
const everyone = "*"

// heartbeat is the longest time between a node's last sign of life and a fault.
const heartbeat = time.Second

// oneResult: frontends accept one result for a task, unless its frontend has lost its journal.
func oneResult(r *Run) (list []Finding) {
	lost := map[string]bool{}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; r.journalLost(j.Frontend, j.Submitted, j.lastKnown()) {
			lost[j.Key] = true
		}
	}
	first := map[task]Result{}
	for _, result := range r.Results {
		id := task{result.Job, result.Task}
		before, twice := first[id]
		if !twice || lost[result.Job] {
			first[id] = result
			continue
		}
		list = append(list, Finding{What: fmt.Sprintf("task %d of job %s has two accepted results, of attempts %d and %d", id.task, id.job, before.Attempt, result.Attempt), At: result.Time})
	}
	return list
}
