package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Only the worker that holds a reservation has a record of it. While daemons come and go, a
// worker that reads an older membership may drop reservations on which a frontend with a
// newer one still counts. Usually one side notices and repairs it. As a last resort, the
// reservations of a job with unbound tasks count as stale once the membership has changed,
// and those of a job that is submitted shortly after a change do from the beginning, because
// a worker may still read the membership before it:
//
//	fresh ──the membership changes, tasks are unbound──▶ stale ──all its tasks are bound──▶ fresh
//	                                                     │   ▲
//	                                                     └───┘ no worker requested a task for a while: probed for again
//
// A worker that holds two reservations instead of one is answered NoTask at the second.
// While the membership does not change, no job is stale and only the policy sends probes.
const (
	ReprobeAfter = 15 * time.Second // the wait before the first reprobe; it doubles
	reprobeMost  = 5 * time.Minute

	// DoubtFor is how long after a change of the membership other daemons may still have
	// an older one: a frontend that is silent for as long is taken off it.
	DoubtFor = 10 * time.Second
)

// reservations counts the messages that this process has exchanged with workers about
// unfinished jobs under late binding.
type reservations struct {
	*core
	jobs      map[sched.JobID]*Reservations
	scheduled bool      // reprobeOverdue is scheduled
	changed   time.Time // when the membership last changed
}

// Reservations counts the messages about the reservations of one job.
type Reservations struct {
	Sent, Requests, Rejected int
	Reprobes                 int // because it was stale
	last                     time.Time
	patience                 time.Duration // 0: fresh
}

// Stale reports whether workers may have dropped some of the reservations.
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
		if !r.changed.IsZero() && time.Since(r.changed) < r.opts.DoubtFor {
			j.patience = r.opts.ReprobeAfter
			r.schedule()
		}
	}
	j.Sent++
	j.last = time.Now()
}

// received counts a worker's answer to a reservation.
func (r *reservations) received(m *sched.Message) {
	j := r.jobs[m.Job]
	if j == nil {
		return
	}
	switch m.Kind {
	case sched.GetTask:
		j.Requests++
	case sched.ProbeRejected:
		j.Rejected++
	default:
		return
	}
	j.last = time.Now()
}

// remove forgets an ended job.
func (r *reservations) remove(job sched.JobID) { delete(r.jobs, job) }

// markStale marks the jobs with unbound tasks as stale.
func (r *reservations) markStale() {
	found := false
	r.changed = time.Now()
	for id, j := range r.jobs { // nothing is sent
		if v, _ := r.JobView(id, 0); v.Unbound > 0 {
			j.patience, found = cmp.Or(j.patience, r.opts.ReprobeAfter), true
		}
	}
	if found {
		r.schedule()
	}
}

// schedule schedules reprobeOverdue unless it is scheduled.
func (r *reservations) schedule() {
	if r.scheduled {
		return
	}
	r.scheduled = true
	time.AfterFunc(r.opts.ReprobeAfter/3, func() { r.post(r.reprobeOverdue) })
}

// reprobeOverdue probes again for the stale jobs whose tasks no worker has requested for a
// while, in the order of their names.
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
		j.Reprobes++
		j.patience = min(2*j.patience, reprobeMost)
		r.Step(&sched.Message{Kind: sched.Members, Job: id, Resent: true})
	}
	if len(overdue) > 0 {
		r.opts.Log.Warn("after changes of the membership no worker requests tasks of some jobs: they are probed for again", "jobs", len(overdue), "first", r.opts.Jobs.Name(overdue[0]))
	}
	if more {
		r.schedule()
	}
}

// of returns the counts of a job.
func (r *reservations) of(job sched.JobID) Reservations {
	if j := r.jobs[job]; j != nil {
		return *j
	}
	return Reservations{}
}

// Reservations returns the counts of a job's reservations.
func (d *Dispatcher) Reservations(job sched.JobID) Reservations { return d.reservations.of(job) }
