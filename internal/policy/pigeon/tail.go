package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The numbers of the order by tail. bench/results/tail.md has the figures that chose
// them; none belongs to a trace.
const (
	firstLimit = 60   // cutoffs, before anything has ended
	limitUp    = 10   // a job that ends past the limit raises it by a tenth
	limitDown  = 1000 // any other lowers it by a thousandth: 1 in about 100 ends past it
	dueTenths  = 9    // of the limit, at which a job should end
	floorShare = 10   // a job gains by waiting until a tenth of that is left
)

// mostLimit keeps the limit, and values computed from it, far from overflow: 73 years.
const mostLimit = sched.Time(1) << 61

// tail estimates the age that about one in a hundred long jobs exceeds when it ends, from
// the ages of those that ended.
type tail struct {
	limit sched.Time // 0: nothing is learned, jobs are ordered by age
	least sched.Time
}

func newTail(cutoff sched.Time) tail {
	cutoff = max(cutoff, 1)
	return tail{limit: min(cutoff, mostLimit/firstLimit) * firstLimit, least: cutoff}
}

// due returns the age at which a job should end, 0 when jobs are ordered by age.
func (l *tail) due() sched.Time { return l.limit / 10 * dueTenths }

// learn adjusts the limit by the age at which a long job ended.
func (l *tail) learn(age sched.Time) {
	if age > l.limit {
		l.limit = min(l.limit+l.limit/limitUp, mostLimit)
		return
	}
	l.limit = max(l.limit-l.limit/limitDown, l.least)
}

// bounded returns the index of a long task, the smallest first, where there is an age
// at which jobs should end:
//
//	e x u x max(due - age - 1.5 r, due / 10) / (1 + over / due)
//
// over is by how much age + 1.5 r is past due; u is what [facts.undone] counts. A
// job that can still end in time gains as its time runs out, tenfold at most; one
// that cannot gains little more, so that a few large jobs wait and not many others.
func (x measure) bounded(e sched.Time, undone float64, age, left sched.Time) float64 {
	slack := x.due - age - left - left/2
	v := float64(float64(float64(e)*undone) * float64(max(slack, x.due/floorShare)))
	if slack < 0 {
		v /= 1 + float64(-slack)/float64(x.due)
	}
	return v
}

// undone estimates how many tasks of the whole job are unfinished, those begun
// counted half: it assumes that the same share of the job's total is unfinished as of its tasks here.
// Without a total it counts the tasks here.
func (f *facts) undone(j *queue.Job) float64 {
	halves := 2*int64(j.Queued) + int64(j.Running) + int64(f.held)
	came := int64(j.Queued+j.Running+f.held) + int64(f.ended)
	if int64(f.total) <= came {
		return float64(halves) / 2
	}
	return float64(halves*int64(f.total)) / float64(2*came)
}

// ageKnown reports whether the job's distributor has stated when the job arrived, which in a
// simulation may be at 0. It states the total in the same message.
func (f *facts) ageKnown() bool { return f.arrival != 0 || f.total > 0 }

// taskEnds records, before the counts of its job change, that a task has ended in a
// slot here. If that is the last of a long job here, its age is learned; not when
// tasks of it were dropped, the age is not known, or a canary has just shown that it
// is short. A last task that is returned, moved or lost is no end.
func (e *extension) taskEnds(w *work) {
	j, f := w.job, e.facts[w.job]
	f.ended++
	last := j.Queued+j.Running+f.held == 1
	if last && e.options.Tail && j.Class == sched.Long && !w.trial && !f.dropped && f.ageKnown() {
		e.tail.learn(e.now - f.arrival)
		e.measure.due = e.tail.due()
	}
}
