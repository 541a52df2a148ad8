package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// learning is what an extension needs to learn the estimates of undeclared jobs.
type learning struct {
	met    bool       // an undeclared job was sent
	latest sched.Time // the estimates of running jobs were learned then
}

// observed is how long the tasks of a job have run here.
type observed struct {
	learned   sched.Time // the estimate, 0 before anything is known
	at        sched.Time // when that was learned
	time      sched.Time // that ended tasks ran
	timed     int32      // ended tasks in that
	suspended sched.Time // that suspended tasks have run
	window    int32      // tasks that are served as short ones at a time, 0 before the first
}

// attained returns how long the worker's task has run.
func (e *extension) attained(w *worker) sched.Time { return w.stint.attained + e.now - w.stint.since }

// observe records, before the counts of its job change, that a task of the job has ended
// after running that long.
func (e *extension) observe(j *queue.Job, ran sched.Time) {
	if !undeclared(j) {
		return
	}
	f := e.facts[j]
	f.time += ran
	f.timed++
}

// learn estimates the mean task time of an undeclared job: all the time that its tasks
// have run here plus one cutoff, over the ended tasks plus one. That is the
// maximum-likelihood estimate for an exponential time when some tasks have shown
// only the beginning, with one task of a cutoff assumed before the first has ended. ended is the
// worker whose task has just ended and was observed, nil for none.
func (e *extension) learn(j *queue.Job, ended *worker) {
	if !undeclared(j) {
		return
	}
	f := e.facts[j]
	ran := f.time + f.suspended + e.cfg.Params.Cutoff
	for w := e.workers.running(j); w != nil; w = w.next {
		if w != ended {
			ran += e.attained(w)
		}
	}
	f.learned, f.at = max(1, ran/sched.Time(f.timed+1)), e.now
	e.index.Changed(j)
}

// relearn renews once per cutoff the estimates of undeclared jobs that run as long ones.
func (e *extension) relearn() {
	if !e.met || e.now-e.latest < e.cfg.Params.Cutoff {
		return
	}
	e.latest = e.now
	for _, w := range e.longs {
		if undeclared(w.job) && e.facts[w.job].at < e.now {
			e.learn(w.job, nil)
		}
	}
}

// isLong reports whether a task that has run for a cutoff makes its job long: of an
// undeclared job only if its estimate, learned now, is above the cutoff, since some
// tasks of a short job may run longer.
func (e *extension) isLong(j *queue.Job) bool {
	if !undeclared(j) {
		return true
	}
	e.learn(j, nil)
	return e.facts[j].learned > e.cfg.Params.Cutoff
}

// meet is called when a job is new, or its marks are.
func (e *extension) meet(j *queue.Job) { e.met = e.met || undeclared(j) }

// jobReclassed implements hooks. Where jobs come undeclared, one that a task showed to be
// of another class than declared is taken for undeclared: its declaration was wrong, and
// so is its estimate.
func (e *extension) jobReclassed(j *queue.Job) {
	if !e.met || undeclared(j) {
		return
	}
	j.Marks |= sched.Undeclared
	for w := e.workers.running(j); w != nil; w = w.next {
		e.changed(w, j)
	}
	e.learn(j, nil)
}

// watches reports whether the worker's task is watched until it has run for a cutoff.
func (e *extension) watches(w *worker) bool {
	return w.class == sched.Short && (e.options.Canary || undeclared(w.job))
}

// indexOf returns the index of a begun task of the job that has run that long.
func (e *extension) indexOf(j *queue.Job, ran sched.Time) float64 {
	f, est := e.facts[j], estimate(j, e.facts, e.measure.cutoff)
	return e.measure.of(est, e.measure.unfinished(f, j), e.now-f.arrival, max(est-ran, est/4))
}

// asVictim returns the index of the worker's task as a victim; the largest is suspended first.
// It counts less at a worker that has suspended tasks already, which wait for it; tasks
// of an undeclared job that may still be short come last.
func (e *extension) asVictim(w *worker) float64 {
	v := e.indexOf(w.job, e.attained(w)) / float64(1+len(w.held))
	if undeclared(w.job) && w.job.Class == sched.Short {
		v /= lastVictim
	}
	return v
}

// lastVictim divides the index of tasks that come last.
const lastVictim = 1e9
