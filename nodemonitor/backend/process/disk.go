package process

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
)

// GiveBackWaiting gives back the attempts that have not begun because the disk of the node hangs: they count
// for nothing and begin elsewhere, instead of waiting here for as long as the disk does. Those that are
// prepared never begin; the guard, which hangs with its disk, is told to kill the others, which it does
// before or just after they begin. Attempts that must end before another one begins are left to the guard.
func (b *Backend) GiveBackWaiting() {
	var waiting []*run
	b.mu.Lock()
	for _, r := range b.runs {
		if r.task.Alone && r.preparing == nil || !r.claimEnd(errGivenBack) {
			continue
		}
		waiting = append(waiting, r)
	}
	b.mu.Unlock()
	for _, r := range waiting {
		r.guard.Kill(r.handle, 0)
		res := r.failed(&guard.Fault{
			What: fmt.Sprintf("the disk of node %q does not answer, and it had not begun there", b.cfg.Node),
			Next: "look at that disk; another attempt begins elsewhere",
		})
		res.Outcome = sched.Yielded
		r.done(res)
	}
}

// claimEnd has the end of the attempt reported by the caller, and ends its preparation for that reason. It
// returns false when the guard has reported the process, or when the end was reported before. The backend's
// lock is held.
func (r *run) claimEnd(why error) bool {
	if r.known || r.settled {
		return false
	}
	if r.settled = true; r.preparing != nil {
		r.preparing.end(why)
	}
	r.input.change(func() { r.input.over = true })
	return true
}

// takeEnd has the end of the attempt reported by the caller. It returns false when it was reported before. The
// backend's lock is held.
func (r *run) takeEnd() bool {
	before := r.settled
	r.known, r.settled = true, true
	return !before
}

// reported records that the guard has reported the process, and returns whether the end of the attempt was
// reported before.
func (r *run) reported() (settled bool) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.known = true
	return r.settled
}
