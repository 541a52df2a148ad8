package pigeon

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/policy/recovery"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// sortsFor is how long after [recovery.Wait] the tasks that were returned come again.
const sortsFor = 5 * sched.Second

// recovering is the first second of a master that follows another one: tasks that
// were sent to its predecessor wait here, while nodes report which of them run or
// have ended. The others are returned then, because the predecessor may have launched
// them on a node that does not report in time.
type recovering struct {
	started bool        // the wait has begun
	over    bool        // it is over, or there was none
	waiting []sentAgain // in order of arrival
	tasks   int         // in waiting
	removed map[sched.JobID][]removal
	forgot  []sched.JobID // jobs to forget, unless tasks of them wait here
	sorts   sched.Time    // until then tasks enter their queue by age
}

// sentAgain is a Tasks message that waits, in a quarter of its size: there may be
// one for each task.
type sentAgain struct {
	job                   sched.JobID
	app, owner            string
	estimate, arrival     sched.Time
	distributor           int32
	first, count, attempt int32
	total, priority       int32
	slots                 int32
	class                 sched.Class
	marks                 sched.Marks
	head, gang            bool
}

// message returns the Tasks message, cut to some of its tasks.
func (w *sentAgain) message(first, count int32) sched.Message {
	return sched.Message{
		Kind: sched.Tasks, Job: w.job, App: w.app, Estimate: w.estimate, Arrival: w.arrival, Distributor: sched.Addr{Role: sched.Distributor, ID: w.distributor},
		First: first, Count: count, Total: w.total, Attempt: w.attempt, Class: w.class, Marks: w.marks, Head: w.head, Resent: true, Owner: w.owner, Priority: w.priority, Slots: w.slots, Gang: w.gang,
	}
}

// removal is a range of tasks that are unwanted, in the waiting messages before the given
// place.
type removal struct {
	first, count int32
	before       int
}

func (g *removal) covers(task int32, at int) bool {
	return at < g.before && task >= g.first && task-g.first < g.count
}

func (r *recovering) add(m *sched.Message) {
	r.waiting = append(r.waiting, sentAgain{
		job: m.Job, app: m.App, estimate: m.Estimate, arrival: m.Arrival, distributor: m.Distributor.ID,
		first: m.First, count: m.Count, attempt: m.Attempt, total: m.Total, class: m.Class, marks: m.Marks, head: m.Head, owner: m.Owner, priority: m.Priority,
		slots: m.Slots, gang: m.Gang,
	})
	r.tasks += int(m.Count)
}

// reclass records that a job is of another class.
func (r *recovering) reclass(job sched.JobID, c sched.Class) {
	for i := range r.waiting {
		if w := &r.waiting[i]; w.job == job {
			w.class, w.marks = c, w.marks&^sched.Canary
		}
	}
}

// drop records that these tasks are unwanted. Tasks of the job that arrive later are
// wanted again.
func (r *recovering) drop(job sched.JobID, first, count int32) {
	if len(r.waiting) == 0 {
		return
	}
	if r.removed == nil {
		r.removed = make(map[sched.JobID][]removal)
	}
	r.removed[job] = append(r.removed[job], removal{first, count, len(r.waiting)})
}

// each calls f with every waiting message, cut to the tasks that are wanted.
func (r *recovering) each(f func(sched.Message)) {
	for i := range r.waiting {
		w := &r.waiting[i]
		removed := r.removed[w.job]
		isRemoved := func(task int32) bool {
			for k := range removed {
				if removed[k].covers(task, i) {
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

// recovered ends the wait. Jobs are forgotten only afterwards: a later message may belong
// to a job whose tasks have all left again.
func (s *Master) recovered(now sched.Time, out *sched.Actions) {
	if s.recovery.over {
		return
	}
	r := s.recovery
	s.recovery = recovering{over: true}
	if len(r.waiting) > 0 {
		s.recovery.sorts = now + sortsFor
	}
	r.each(func(m sched.Message) { s.sentAgain(now, &m, out) })
	for i := range r.waiting {
		s.forget(r.waiting[i].job, out)
	}
	for _, id := range r.forgot {
		s.forget(id, out)
	}
}

// sentAgain processes tasks that an earlier master may have launched. Those that are held
// here, or have ended here lately, are left alone: their results will come. The others
// are returned.
func (s *Master) sentAgain(now sched.Time, m *sched.Message, out *sched.Actions) {
	known := recovery.NewKnown(m)
	if j := s.jobs[m.Job]; j != nil {
		s.repeated(now, j, m, out)
		s.eachHeld(j, known.KnowAll)
	}
	for _, id := range s.lately.Of(now, m.Job, s.endedLists()) {
		known.Know(id.Task, id.Attempt)
	}
	recovery.Return(m, &known, out)
}

// endedLists returns what ended at each worker.
func (s *Master) endedLists() iter.Seq[*ended.List] {
	return ended.Lists(s.workers, func(w *worker) *ended.List { return &w.ended })
}

// eachHeld calls f for the tasks of the job that are queued, running or suspended here.
func (s *Master) eachHeld(j *queue.Job, f func(first, count, attempt int32)) {
	j.EachRun(func(r *queue.Run) { f(r.First, r.Count, r.Attempt) })
	s.wide.eachClaimed(j, f)
	for w := s.workers.running(j); w != nil; w = w.next {
		f(w.task, 1, w.attempt)
	}
	s.hooks.eachSuspended(j, func(task, attempt int32) { f(task, 1, attempt) })
}

// distributorUp answers a restarted distributor with the tasks that this master holds for it.
func (s *Master) distributorUp(distributor sched.Addr, out *sched.Actions) {
	if distributor.Role != sched.Distributor {
		return
	}
	var held recovery.Holdings
	for _, id := range recovery.Sorted(s.jobs, func(j *queue.Job) bool { return j.DistributorID == distributor.ID }) {
		s.eachHeld(s.jobs[id], held.Add)
		held.Send(distributor, id, out)
	}
	recovery.Answered(distributor, out)
}

// distributorAway returns the waiting tasks of a distributor that has been silent for long:
// others wait, and it would not take the results. Running tasks continue.
func (s *Master) distributorAway(distributor sched.Addr, out *sched.Actions) {
	var waiting recovery.Holdings
	for _, id := range recovery.Sorted(s.jobs, func(j *queue.Job) bool {
		return distributor.Role == sched.Distributor && j.DistributorID == distributor.ID && (j.Queued > 0 || s.wide.claimed(j) > 0)
	}) {
		j := s.jobs[id]
		s.wide.putBack(j)
		j.EachRun(func(r *queue.Run) { waiting.Add(r.First, r.Count, r.Attempt) })
		waiting.Return(distributor, id, out)
		s.index.Remove(j, 0, sched.MaxTasks)
		s.forget(id, out)
	}
}

// resultsKept records that results of a slot are not acknowledged yet.
func (s *Master) resultsKept(now sched.Time, m *sched.Message) {
	if w := s.sender(m.Peer); w != nil {
		w.ended.Keep(now, m.Kept)
	}
}
