package jobs

import (
	"cmp"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Classify decides the class of a job that is about to be accepted. Its submission has the
// class that follows from its declaration.
func (t *Table) Classify(sub *journal.Submission) {
	r := &sub.Request
	v := t.opts.Learner.Decide(t.opts.Clock.Now(), &classes.Job{
		Owner: r.Owner, Work: r.Work(), Declared: r.Declares(), Class: sub.Class, Why: sub.Why, Estimate: sched.Time(r.Mean()),
	})
	sub.Class, sub.Why, sub.Origin, sub.Estimate = v.Class, v.Reason, v.Origin, time.Duration(v.Estimate)
	if v.Origin == classes.Declared && sub.Estimate == r.Mean() {
		sub.Estimate = 0 // the request has it
	}
}

// estimate returns the estimate of a task's duration that the core receives, 0 for none. The
// declared estimate of an overruled job does not count.
func estimate(sub *journal.Submission) sched.Time {
	if sub.Origin == classes.Overruled {
		return sched.Time(sub.Estimate)
	}
	return sched.Time(cmp.Or(sub.Estimate, sub.Request.Mean()))
}

// undeclared returns the mark of a job whose class is unknown.
func undeclared(sub *journal.Submission) sched.Marks {
	v := classes.Verdict{Class: sub.Class, Origin: sub.Origin}
	return v.Marks()
}

// begin makes the table learn from a job that was submitted.
func (t *Table) begin(j *Job) {
	r := &j.Submission.Request
	j.run = t.opts.Learner.Begin(&classes.Job{Owner: r.Owner, Work: r.Work()}, &classes.Verdict{Class: j.Submission.Class, Origin: j.Submission.Origin})
}

// learn learns from an accepted result. The time in which the attempt was suspended does not
// count.
func (t *records) learn(j *Job, report *wire.Item, succeeded bool) {
	now := t.opts.Clock.Now()
	t.opts.Learner.TaskEnded(now, &j.run, sched.Time(max(0, report.Elapsed-max(0, report.Suspended))), succeeded, j.ranShort(now-sched.Time(report.Elapsed)))
}

// turn is the last change of a job's class after its acceptance.
type turn struct {
	from, to sched.Class
	at       sched.Time
	happened bool
}

// turned records that the job has another class from now on.
func (j *Job) turned(to sched.Class, now sched.Time) {
	from := j.Submission.Class
	if j.turn.happened {
		from = j.turn.to
	}
	j.turn = turn{from, to, now, true}
	j.Status.Class = to.String()
}

// ranShort reports whether a task that started then ran as a short one.
func (j *Job) ranShort(started sched.Time) bool {
	switch {
	case !j.turn.happened:
		return j.Submission.Class == sched.Short
	case started < j.turn.at:
		return j.turn.from == sched.Short
	default:
		return j.turn.to == sched.Short
	}
}

// originNames are the values of the label of jobs by how their class was decided.
func originNames() (names []string) {
	for o := range classes.NumOrigins {
		names = append(names, o.String())
	}
	return names
}
