package frontend

import (
	"cmp"
	"slices"
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
	reprobeFirst = 15 * time.Second // the while, the first time; it doubles
	reprobeMost  = 5 * time.Minute
)

// markStale marks the jobs with unbound tasks.
func (o *owner) markStale() {
	if !o.plan.LateBinding {
		return
	}
	found := false
	for id, j := range o.jobs { // nothing is sent
		if v, _ := o.core.JobView(id, 0); v.Late && v.Unbound > 0 {
			j.probes.patience, found = cmp.Or(j.probes.patience, o.peers.patience), true
		}
	}
	if found {
		o.scheduleReprobe()
	}
}

// scheduleReprobe looks at the stale jobs after a while.
func (o *owner) scheduleReprobe() {
	if o.peers.reprobing {
		return
	}
	o.peers.reprobing = true
	time.AfterFunc(o.peers.patience/3, func() { _ = o.urge(o.reprobeOverdue) }) // a stopped daemon has no jobs
}

// reprobeOverdue probes again for the stale jobs that no worker has asked for, in the order
// of their names.
func (o *owner) reprobeOverdue() {
	o.peers.reprobing = false
	var late []*job
	more := false
	for id, j := range o.jobs {
		p := &j.probes
		v, _ := o.core.JobView(id, 0)
		switch {
		case p.patience == 0:
		case v.Unbound == 0:
			p.patience = 0
		default:
			more = true
			if !v.NoWorker && time.Since(p.heard) >= p.patience {
				late = append(late, j)
			}
		}
	}
	slices.SortFunc(late, func(a, b *job) int { return cmp.Compare(a.status.Job, b.status.Job) })
	for _, j := range late {
		p := &j.probes
		o.meter.reprobed.Inc()
		p.again++
		p.patience = min(2*p.patience, reprobeMost)
		o.stepShell(&sched.Message{Kind: sched.Members, Job: j.id, Resent: true})
	}
	if len(late) > 0 {
		o.log.Warn("daemons have come or gone, and no worker asks for tasks of some jobs: they are probed for again", "jobs", len(late), "first", late[0].status.Job)
	}
	if more {
		o.scheduleReprobe()
	}
}
