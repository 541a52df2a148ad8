package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A reservation is known only to the worker that has it. While daemons come and go, a
// reader of an early membership drops what a reader of a later one still counts on. Most of
// that is noticed on one side, which repairs it. As a last resort, the reservations of a
// job with unbound tasks may be stale once the membership has changed:
//
//	fresh ──the membership changes, tasks are unbound──▶ stale ──all its tasks are bound──▶ fresh
//	                                                     │   ▲
//	                                                     └───┘ no worker asked for a task for a while: probed for again
//
// A worker that has two reservations instead of one is answered NoTask at the second. While
// the membership stays as it is no job is stale, and probes are what the policy sends.
const (
	ReprobeAfter = 15 * time.Second // the while, the first time; it doubles
	reprobeMost  = 5 * time.Minute
)

// reservations are what was exchanged with workers about the unfinished jobs that are
// bound late, since this process began.
type reservations struct {
	*core
	jobs      map[sched.JobID]*Reservations
	scheduled bool // overdue jobs are looked for soon
}

// Reservations counts the messages about the reservations of one job.
type Reservations struct {
	Sent, Asked, Rejected int
	Again                 int // times that it was probed for because it was stale
	last                  time.Time
	patience              time.Duration // 0: fresh
}

// Stale reports whether some of them may be known to no worker any more.
func (r Reservations) Stale() bool { return r.patience > 0 }

func newReservations(c *core) *reservations {
	return &reservations{core: c, jobs: map[sched.JobID]*Reservations{}}
}

// sent counts a reservation.
func (r *reservations) sent(job sched.JobID) {
	j := r.jobs[job]
	if j == nil {
		j = &Reservations{}
		r.jobs[job] = j
	}
	j.Sent++
	j.last = time.Now()
}

// received counts what a worker answered.
func (r *reservations) received(m *sched.Message) {
	j := r.jobs[m.Job]
	if j == nil {
		return
	}
	switch m.Kind {
	case sched.GetTask:
		j.Asked++
	case sched.ProbeRejected:
		j.Rejected++
	default:
		return
	}
	j.last = time.Now()
}

// remove forgets an ended job.
func (r *reservations) remove(job sched.JobID) { delete(r.jobs, job) }

// markStale marks the jobs with unbound tasks.
func (r *reservations) markStale() {
	found := false
	for id, j := range r.jobs { // nothing is sent
		if v, _ := r.JobView(id, 0); v.Unbound > 0 {
			j.patience, found = cmp.Or(j.patience, r.opts.ReprobeAfter), true
		}
	}
	if found {
		r.schedule()
	}
}

// schedule has overdue jobs looked for after a while.
func (r *reservations) schedule() {
	if r.scheduled {
		return
	}
	r.scheduled = true
	time.AfterFunc(r.opts.ReprobeAfter/3, func() { r.opts.Post(r.reprobeOverdue) })
}

// reprobeOverdue probes again for the stale jobs that no worker has asked for, in the order
// of their names.
func (r *reservations) reprobeOverdue() {
	r.scheduled = false
	var overdue []sched.JobID
	more := false
	for id, j := range r.jobs {
		v, _ := r.JobView(id, 0)
		switch {
		case j.patience == 0:
		case v.Unbound == 0:
			j.patience = 0
		default:
			more = true
			if !v.NoWorker && time.Since(j.last) >= j.patience {
				overdue = append(overdue, id)
			}
		}
	}
	slices.SortFunc(overdue, func(a, b sched.JobID) int { return strings.Compare(r.opts.Jobs.Name(a), r.opts.Jobs.Name(b)) })
	for _, id := range overdue {
		j := r.jobs[id]
		r.opts.Metrics.reprobed.Inc()
		j.Again++
		j.patience = min(2*j.patience, reprobeMost)
		r.Step(&sched.Message{Kind: sched.Members, Job: id, Resent: true})
	}
	if len(overdue) > 0 {
		r.opts.Log.Warn("daemons have come or gone, and no worker asks for tasks of some jobs: they are probed for again", "jobs", len(overdue), "first", r.opts.Jobs.Name(overdue[0]))
	}
	if more {
		r.schedule()
	}
}

// of returns those of a job.
func (r *reservations) of(job sched.JobID) Reservations {
	if j := r.jobs[job]; j != nil {
		return *j
	}
	return Reservations{}
}

// Reservations returns those of a job.
func (d *Dispatcher) Reservations(job sched.JobID) Reservations { return d.reservations.of(job) }
