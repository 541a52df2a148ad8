package pigeon

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// recoverWait is how long a master that has just started keeps tasks sent again
// waiting, so that its nodes can report what runs (docs/design.md, section 2, rule 5).
const recoverWait = sched.Second

// recovery is the first second of a master that follows another one: tasks that
// were sent to its predecessor wait here, while nodes report which of them run or
// have ended.
type recovery struct {
	started bool        // the wait has begun
	over    bool        // it is over, or there was none
	waiting []sentAgain // in order of arrival
	tasks   int         // in waiting
	removed map[sched.JobID][]removal
	forgot  []sched.JobID // jobs to forget, unless tasks of them wait here
}

// sentAgain is a Tasks message that waits, in a quarter of its size: there may be as
// many as tasks.
type sentAgain struct {
	job                   sched.JobID
	app                   string
	estimate, arrival     sched.Time
	owner                 int32
	first, count, attempt int32
	total                 int32
	class                 sched.Class
	marks                 sched.Marks
	head                  bool
}

// message returns the Tasks message, cut to some of its tasks.
func (w *sentAgain) message(first, count int32) sched.Message {
	return sched.Message{
		Kind: sched.Tasks, Job: w.job, App: w.app, Estimate: w.estimate, Arrival: w.arrival, Owner: sched.Addr{Role: sched.Distributor, ID: w.owner},
		First: first, Count: count, Total: w.total, Attempt: w.attempt, Class: w.class, Marks: w.marks, Head: w.head, Resent: true,
	}
}

// removal is a range of tasks that must not be launched when the wait is over: attempts
// up to the given one, in the waiting messages before the given place.
type removal struct {
	first, count, attempt int32
	before                int
}

func (g *removal) covers(task, attempt int32, at int) bool {
	return at < g.before && attempt <= g.attempt && task >= g.first && task-g.first < g.count
}

func (r *recovery) add(m *sched.Message) {
	r.waiting = append(r.waiting, sentAgain{
		job: m.Job, app: m.App, estimate: m.Estimate, arrival: m.Arrival, owner: m.Owner.ID,
		first: m.First, count: m.Count, attempt: m.Attempt, total: m.Total, class: m.Class, marks: m.Marks, head: m.Head,
	})
	r.tasks += int(m.Count)
}

// reclass records that a job is of another class.
func (r *recovery) reclass(job sched.JobID, c sched.Class) {
	for i := range r.waiting {
		if w := &r.waiting[i]; w.job == job {
			w.class, w.marks = c, w.marks&^sched.Canary
		}
	}
}

// exclude records that a node runs, or has run, this attempt.
func (r *recovery) exclude(id sched.AttemptID) {
	r.remove(id.Job, removal{id.Task, 1, id.Attempt, math.MaxInt})
}

// drop records that these tasks are unwanted. Tasks of the job that arrive later are
// wanted again.
func (r *recovery) drop(job sched.JobID, first, count int32) {
	if len(r.waiting) > 0 {
		r.remove(job, removal{first, count, math.MaxInt32, len(r.waiting)})
	}
}

func (r *recovery) remove(job sched.JobID, g removal) {
	if r.over {
		return
	}
	if r.removed == nil {
		r.removed = make(map[sched.JobID][]removal)
	}
	r.removed[job] = append(r.removed[job], g)
}

// each calls f with every waiting message, cut to the tasks that must still run.
func (r *recovery) each(f func(sched.Message)) {
	for i := range r.waiting {
		w := &r.waiting[i]
		removed := r.removed[w.job]
		isRemoved := func(task int32) bool {
			for k := range removed {
				if removed[k].covers(task, w.attempt, i) {
					return true
				}
			}
			return false
		}
		end := w.first + w.count
		for at := w.first; at < end; {
			first := at
			for at < end && !isRemoved(at) {
				at++
			}
			if at == first {
				at++
				continue
			}
			f(w.message(first, at-first))
		}
	}
}

// recovered ends the wait and accepts the waiting tasks that were not removed. Jobs are
// forgotten only afterwards: a later message may belong to a job whose tasks have all
// left again.
func (s *Master) recovered(now sched.Time, out *sched.Actions) {
	if s.recovery.over {
		return
	}
	r := s.recovery
	s.recovery = recovery{started: true}
	r.each(func(m sched.Message) { s.accept(now, &m, out) })
	forgot := append(r.forgot, s.recovery.forgot...)
	s.recovery = recovery{over: true}
	for i := range r.waiting {
		s.forget(r.waiting[i].job, out)
	}
	for _, id := range forgot {
		s.forget(id, out)
	}
}
