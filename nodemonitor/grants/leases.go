package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// leaseWithoutNotices bounds a lease that no notice of the master could end.
const leaseWithoutNotices = time.Second

// leases decides how long executors may keep the slots of their grants.
type leases struct {
	longest    time.Duration // 0 for none
	hasNotices bool          // the master's notices of tasks that wait can arrive
	none       bool          // the node drains
	stats      *Stats
}

// length returns the lease of a grant when no others wait.
func (l *leases) length() time.Duration {
	if l.hasNotices {
		return l.longest
	}
	return min(l.longest, leaseWithoutNotices)
}

// offer returns a grant as its executor receives it: with a lease, unless others wait,
// or the lease was ended before the grant was answered once more.
func (l *leases) offer(g *grant) api.Grant {
	o := api.Grant{ID: g.task.ID.String(), Level: string(g.task.Payload.Message), Class: g.class().String()}
	if l.longest > 0 && !l.none && !g.task.Contended {
		if !g.offered {
			g.offered, g.leased = true, true
			l.stats.Leased++
		}
		if g.leased {
			o.Lease = l.length()
		}
	}
	return o
}

// recall ends the leases of the grants that are neither more urgent than the class that
// waits nor excepted: the slots are free when the pieces of work that run there end.
func (l *leases) recall(grants map[sched.AttemptID]*grant, waiting sched.Class, except func(*grant) bool) {
	for _, g := range grants { // they do not depend on each other
		switch {
		case except(g) || g.class() < waiting:
		case !g.offered:
			g.task.Contended = true // it is offered without a lease
		case g.leased:
			g.leased = false
			l.stats.Recalled++
			g.executor.giveBack = true
			g.executor.wakeUp()
		}
	}
}
