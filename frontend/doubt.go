package frontend

import (
	"cmp"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A reservation is known to the worker alone that has it, and none of its ways back is
// sure while daemons come and go: whoever reads the roll early drops what whoever reads
// it late still says. Most of that is seen by one side, which mends it. As a last
// resort, a job with unbound tasks is in doubt when the roll has changed:
//
//	no doubt ──the roll changes, tasks are unbound──▶ in doubt ──all its tasks are bound──▶ no doubt
//	                                                  │     ▲
//	                                                  └─────┘ nobody asked for a task for a while: probed for again
//
// A worker that has two reservations instead of one hears NoTask at the second. While
// the roll stays as it is no job is in doubt, and probes are what the policy says.
const (
	doubtFirst = 15 * time.Second // the while, the first time; it doubles
	doubtMost  = 5 * time.Minute
)

// doubt puts the jobs with unbound tasks in doubt.
func (o *owner) doubt() {
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
		o.lookLater()
	}
}

// lookLater looks at the jobs in doubt after a while.
func (o *owner) lookLater() {
	if o.peers.looking {
		return
	}
	o.peers.looking = true
	time.AfterFunc(o.peers.patience/3, func() { _ = o.urge(o.look) }) // a stopped daemon has no jobs
}

// look probes again for the jobs in doubt that nobody has asked for, in the order of
// their names.
func (o *owner) look() {
	o.peers.looking = false
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
		o.meter.doubted.Inc()
		p.again++
		p.patience = min(2*p.patience, doubtMost)
		o.stepShell(&sched.Message{Kind: sched.Members, Job: j.id, Resent: true})
	}
	if len(late) > 0 {
		o.log.Warn("daemons have come or gone, and no worker asks for tasks of some jobs: they are probed for again", "jobs", len(late), "first", late[0].status.Job)
	}
	if more {
		o.lookLater()
	}
}
