package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// learning decides the classes of jobs, and learns from how long their tasks run. It belongs to the
// owner goroutine.
type learning struct {
	*classes.Learner
	clock runloop.Clock
	jobs  map[*jobs.Job]lesson // that have not ended
}

// lesson is what is learned from a job, and the last change of its class after its acceptance.
type lesson struct {
	run      classes.Run
	turned   bool
	from, to sched.Class
	at       sched.Time
}

var _ jobs.Observer = (*learning)(nil)

// Classify decides the class of a job that is about to be accepted. Its submission has the
// class that follows from its declaration.
func (l *learning) Classify(sub *journal.Submission) {
	r := &sub.Request
	v := l.Decide(l.clock.Now(), &classes.Job{
		Owner: r.Owner, Work: r.Work(), Declared: r.Declares(), Class: sub.Class, Why: sub.Why, Estimate: sched.Time(r.Mean()),
	})
	sub.Class, sub.Why, sub.Origin, sub.Estimate = v.Class, v.Reason, v.Origin, time.Duration(v.Estimate)
	if v.Origin == classes.Declared && sub.Estimate == r.Mean() {
		sub.Estimate = 0 // the request has it
	}
}

// Observe learns from results, but not again from those of the journal.
func (l *learning) Observe(c jobs.Change) {
	j := c.Job
	switch {
	case c.Kind == jobs.Added, c.Kind == jobs.Restored:
		sub := j.Submission
		l.jobs[j] = lesson{run: l.Begin(&classes.Job{Owner: sub.Request.Owner, Work: sub.Request.Work()}, &classes.Verdict{Class: sub.Class, Origin: sub.Origin})}
	case c.Kind == jobs.Recorded && c.Ends() && c.Report != nil:
		l.taskEnded(&c)
	case c.Kind == jobs.Recorded && c.Record.Kind == journal.Reclassed:
		l.turned(&c, c.Now)
	case c.Kind == jobs.Replayed && c.Record.Kind == journal.Reclassed:
		l.turned(&c, 0) // before this process began
	case c.Kind == jobs.Recorded && c.Record.Kind == journal.JobEnded:
		if learned := l.jobs[j]; c.Record.Outcome != sched.Killed && !j.Held() {
			l.JobEnded(&learned.run)
		}
		delete(l.jobs, j)
	}
}

// taskEnded learns from an accepted result. The time in which the attempt was suspended does not
// count.
func (l *learning) taskEnded(c *jobs.Change) {
	learned, report := l.jobs[c.Job], c.Report
	ran := sched.Time(max(0, report.Elapsed-max(0, report.Suspended)))
	l.TaskEnded(c.Now, &learned.run, ran, c.Record.Outcome != sched.Failed, learned.ranShort(c.Job, c.Now-sched.Time(report.Elapsed)))
	l.jobs[c.Job] = learned
}

// turned records that the job has another class from an instant on.
func (l *learning) turned(c *jobs.Change, at sched.Time) {
	learned := l.jobs[c.Job]
	learned.turned, learned.from, learned.to, learned.at = true, c.Job.Class(), c.Record.Class, at
	l.jobs[c.Job] = learned
}

// ranShort reports whether a task that started then ran as a short one.
func (l *lesson) ranShort(j *jobs.Job, started sched.Time) bool {
	switch {
	case !l.turned:
		return j.Class() == sched.Short
	case started < l.at:
		return l.from == sched.Short
	default:
		return l.to == sched.Short
	}
}
