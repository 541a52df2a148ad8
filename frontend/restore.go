package frontend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// restore returns one unfinished job of the journal back to the core: its
// submission, then what was recorded of it since, in order. Its age is told by
// this host's wall clock, since no other clock outlives a process.
//
// A record of where tasks were placed names a group, the only one where a central
// master has all workers. Late binding leaves none: where a task ran is forgotten
// with the process, and each unfinished one gets a new attempt and is probed for.
// So a journal can be read under another policy than it was written under.
func (o *owner) restore(found *journal.Job) error {
	j := newJob(found.Submission.Job, found.Submission)
	age := max(0, time.Since(time.Unix(0, found.Submission.Submitted)))
	j.durable, j.arrived = true, o.clock.Now()-sched.Time(age)
	o.jobs[j.id] = j
	o.spans.began(j)
	m := j.submit()
	m.Resent = true
	o.stepShell(&m)
	for i := range found.Events {
		o.restoreEvent(j, &found.Events[i])
	}
	return nil
}

func (o *owner) restoreEvent(j *job, r *journal.Record) {
	m := sched.Message{Job: j.id, First: r.First, Count: r.Count, Attempt: r.Attempt, Losses: r.Losses, Retries: r.Retries, Outcome: r.Outcome, Reason: r.Reason}
	switch r.Kind {
	case journal.Placed, journal.Moved:
		if int(r.Group) >= len(o.masters) {
			return // the configuration has fewer groups now, or none: the tasks are placed anew
		}
		m.Kind, m.Peer = sched.Placed, sched.Addr{Role: sched.Master, ID: r.Group}
		if r.Kind == journal.Moved {
			m.Marks = sched.Moved
		}
	case journal.Reclassed:
		m.Kind, m.Class = sched.Reclass, r.Class
	case journal.NewAttempt:
		m.Kind = sched.NewAttempt
		j.status.Attempts++
	case journal.TaskEnded:
		m.Kind = sched.TaskEnded
		rep := &j.reports[r.First]
		rep.attempt, rep.failed, rep.elapsed = r.Attempt, r.Outcome == sched.Failed, r.Elapsed
		if rep.failed {
			j.status.Failed++
		} else {
			j.status.Completed++
		}
	case journal.Cancelled:
		m.Kind = sched.Cancel
	default:
		return
	}
	o.stepShell(&m)
}

// cancelUnfit ends the jobs of another policy's time that this one cannot run.
func (o *owner) cancelUnfit() {
	var unfit []*job
	for _, j := range o.jobs {
		if _, unfinished := o.core.JobView(j.id, 0); unfinished && j.sub != nil && o.plan.refuses(&j.sub.Request) != nil {
			unfit = append(unfit, j)
		}
	}
	slices.SortFunc(unfit, func(a, b *job) int { return strings.Compare(a.status.Job, b.status.Job) })
	for _, j := range unfit {
		o.log.Error("a job of the journal cannot be run under this policy; it is cancelled", "job", j.status.Job, "application", j.sub.Request.App, "policy", o.plan.Name)
		o.stepShell(&sched.Message{Kind: sched.Cancel, Job: j.id, Reason: fmt.Sprintf("the frontend was started again with policy %s, which runs sleep and exec tasks only", o.plan.Name)})
	}
}

// restored ends the reading of the journal.
func (o *owner) restored(rep *journal.Report) {
	o.stepShell(&sched.Message{Kind: sched.Restored})
	o.cancelUnfit()
	for app, address := range rep.Apps {
		if _, err := o.listeners.Register(app, address); err != nil {
			o.log.Warn("a registered application was not taken over from the journal", "application", app, "address", address, "error", err)
		}
	}
	if rep.Jobs > 0 || rep.Torn != nil {
		o.log.Info("resumed from the journal", "found", rep.String())
	}
	o.log.Debug("journal open", "took", rep.Took.Round(time.Millisecond))
}
