package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// leaseWithoutNotices bounds a lease that no notice of the master could end.
const leaseWithoutNotices = time.Second

// SetNotices sets whether the master's notices of tasks that wait can reach this node;
// at first they cannot. While they cannot, new leases are short, and the others are
// over.
func (t *Table) SetNotices(yes bool) {
	t.update(func(*ends) {
		if t.hasNotices && !yes {
			t.recall(sched.Short, func(*grant) bool { return false })
		}
		t.hasNotices = yes
	})
}

// lease returns the lease of a grant when no others wait. It needs the lock.
func (t *Table) lease() time.Duration {
	if t.hasNotices {
		return t.cfg.Lease
	}
	return min(t.cfg.Lease, leaseWithoutNotices)
}

// OthersWait is called when tasks of an application and class wait at the master: it
// ends the leases of other applications that are not more urgent.
func (t *Table) OthersWait(app string, c sched.Class) {
	t.update(func(*ends) {
		t.recall(c, func(g *grant) bool { return g.task.App == app })
	})
}

// recall ends the leases of the grants that are neither more urgent than the class that
// waits nor excepted: the slots are free when what runs there ends. It needs the lock.
func (t *Table) recall(waiting sched.Class, except func(*grant) bool) {
	for _, g := range t.grants { // they do not depend on each other
		switch {
		case except(g) || classOf(g.task.HT) < waiting:
		case !g.offered:
			g.task.Contended = true // it is offered without one
		case g.leased:
			g.leased = false
			t.stats.Recalled++
			g.executor.giveBack = true
			g.executor.wakeUp()
		}
	}
}

// offer returns a grant as its executor gets it: with a lease, unless others wait, or
// the lease was ended before the grant was answered once more. It needs the lock.
func (t *Table) offer(g *grant) api.Grant {
	o := api.Grant{ID: g.task.ID.String(), Level: string(g.task.Payload.Message), Class: classOf(g.task.HT).String()}
	if t.cfg.Lease > 0 && !g.task.Contended {
		if !g.offered {
			g.offered, g.leased = true, true
			t.stats.Leased++
		}
		if g.leased {
			o.Lease = t.lease()
		}
	}
	return o
}

// over reports whether the executor must give the slot back.
func (g *grant) over() bool { return g.killed || g.offered && !g.leased }
