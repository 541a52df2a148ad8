package process

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// GiveBackWaiting gives back the attempts whose processes the guard has not reported, because the disk
// of the node hangs and the guard with it: they count for nothing and begin elsewhere, instead of
// waiting here for as long as the disk does. The guard is told to kill them, which it does before or
// just after they begin. Attempts that must end before another one begins are left.
func (b *Backend) GiveBackWaiting() {
	var waiting []*run
	b.mu.Lock()
	for _, r := range b.runs {
		if !r.known && !r.givenBack && r.staged == nil && !r.task.Alone {
			r.givenBack = true
			waiting = append(waiting, r)
		}
	}
	b.mu.Unlock()
	for _, r := range waiting {
		b.cfg.Guard.Kill(r.handle, 0)
		res := r.failed(&guard.Fault{
			What: fmt.Sprintf("the disk of node %q does not answer, and it had not begun there", b.cfg.Node),
			Next: "look at that disk; another attempt begins elsewhere",
		})
		res.Outcome = sched.Yielded
		r.done(res)
	}
}

// reported records that the guard has reported the process or its end, after which the attempt is not
// given back, and returns whether it was before.
func (r *run) reported() (givenBack bool) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.known = true
	return r.givenBack
}
