package classes

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Job is a job as it was submitted.
type Job struct {
	Owner    string // for whom it runs
	Work     string // the name of the work; nothing is learned from a job without one
	Declared bool   // it has a class or an estimate
	// Class is as declared, or follows from the declared estimate; Why states how. They do
	// not count for a job that declares nothing.
	Class    sched.Class
	Why      string
	Estimate sched.Time // as declared, of one task; 0 for none
}

// Origin is the basis on which a class was decided.
type Origin uint8

// How classes are decided.
const (
	Declared   Origin = iota // by the submitter: its class or its estimate
	Defaulted                // nothing was declared, and what is learned does not count
	Learned                  // nothing was declared: from earlier jobs of the work
	Undeclared               // nothing was declared, and nothing is known
	Overruled                // it would be short, and its owner's short tasks run too long
	// NumOrigins is how many there are.
	NumOrigins
)

// String returns the word for it.
func (o Origin) String() string {
	return [...]string{"declared", "defaulted", "learned", "undeclared", "overruled"}[min(o, NumOrigins-1)]
}

// Verdict is the class of a job.
type Verdict struct {
	Class    sched.Class
	Estimate sched.Time // of one task; 0: none
	Origin   Origin
	Reason   string // in words, with numbers
}

// Marks returns the mark of a job whose class is unknown.
func (d *Verdict) Marks() sched.Marks {
	if d.Origin == Undeclared && d.Class == sched.Short {
		return sched.Undeclared
	}
	return 0
}

// believed reports whether the tasks of the job count for the overruns of its owner: those
// that counted as short ones, and those that would have. An unknown class is no false
// statement, and policies try such jobs for as long as they are unknown.
func (d *Verdict) believed() bool {
	return d.Origin == Overruled || d.Class == sched.Short && d.Origin != Undeclared
}

// Decide returns the class and the estimate of a job that is submitted now.
//
// A declaration is believed. A job that declares nothing has the median of its work's
// last jobs as its estimate, and the class that follows from it; without any it has the
// default class and is marked as undeclared. A job that would be short, without its work
// having been learned to be, is long while the owner's overruns are above the limit. Jobs
// without an owner are not: there is no owner whose overruns could count.
func (l *Learner) Decide(now sched.Time, j *Job) Verdict {
	known, s := l.known(j)
	d := Verdict{Class: j.Class, Estimate: j.Estimate, Reason: j.Why}
	switch {
	case j.Declared:
		if d.Estimate == 0 && known && l.classOf(s.median) == d.Class && !l.settings.Declared {
			d.Estimate = s.median
			d.Reason += fmt.Sprintf("; estimate %s, %s", seconds(s.median), s.describe(j))
		}
	case l.settings.Declared:
		d.Origin, d.Class, d.Reason = Defaulted, l.settings.Default, "default: neither class nor estimate was given"
	case known:
		d.Origin, d.Class, d.Estimate = Learned, l.classOf(s.median), s.median
		d.Reason = fmt.Sprintf("estimate %s is %s the cutoff %s, %s", seconds(s.median), side(d.Class), seconds(l.settings.Cutoff), s.describe(j))
	default:
		d.Origin, d.Class, d.Reason = Undeclared, l.settings.Default, "default: neither class nor estimate was given, and nothing is known yet of "+j.describe()
	}
	if d.Class == sched.Short && !(known && l.classOf(s.median) == sched.Short) {
		l.overrule(now, j, &d, s)
	}
	return d
}

// known returns what is known of the work of a job.
func (l *Learner) known(j *Job) (bool, summary) {
	if j.Work == "" {
		return false, summary{}
	}
	w := l.works.find(idOf(j.Owner, j.Work))
	if w == nil || w.jobs == 0 {
		return false, summary{}
	}
	return true, w.summary()
}

func (l *Learner) classOf(estimate sched.Time) sched.Class {
	if estimate <= l.settings.Cutoff {
		return sched.Short
	}
	return sched.Long
}

// overrule makes a job long if too much of the short slot-seconds of its owner was past the
// cutoff. The estimate of a short job would put it before all other long ones, so it does
// not count.
func (l *Learner) overrule(now sched.Time, j *Job, d *Verdict, s summary) {
	o := l.owners.byName[j.Owner]
	if o == nil {
		return
	}
	window := o.sum(now)
	if !window.exceeds(l.settings.MaxOverrun) {
		return
	}
	*d = Verdict{Class: sched.Long, Origin: Overruled, Reason: fmt.Sprintf("queued as long: %s of %s short slot-seconds of %s in the last %d min were past the cutoff of %s (%s %%; limit %s %%), in %d tasks; it would be short: %s",
		number(window.over.Seconds()), number(window.ran.Seconds()), ownerWords(j.Owner), windowParts*windowPart/(60*sched.Second), seconds(l.settings.Cutoff),
		number(100*float64(window.over)/float64(window.ran)), number(100*l.settings.MaxOverrun), window.tasks, d.Reason)}
	if s.median > l.settings.Cutoff {
		d.Estimate = s.median
	}
}
