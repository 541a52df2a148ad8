package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// deafLease bounds a lease that the master's word could not end.
const deafLease = time.Second

// Hears says whether the master's word of tasks that wait can reach this node, which
// nobody has said at first. While it cannot, new leases are short, and the others are
// over.
func (t *Table) Hears(yes bool) {
	t.update(func(*ends) {
		if t.hears && !yes {
			t.recall(sched.Short, func(*grant) bool { return false })
		}
		t.hears = yes
	})
}

// lease is what a grant gets when nobody else waits. It needs the lock.
func (t *Table) lease() time.Duration {
	if t.hears {
		return t.cfg.Lease
	}
	return min(t.cfg.Lease, deafLease)
}

// OthersWait says that tasks of an application and class wait at the master: the
// leases of others that are not more urgent are over.
func (t *Table) OthersWait(app string, c sched.Class) {
	t.update(func(*ends) {
		t.recall(c, func(g *grant) bool { return g.task.App == app })
	})
}

// recall ends the leases of the grants that are not more urgent than tasks that
// wait, nor excepted: the slots are theirs when what runs there ends. It needs the
// lock.
func (t *Table) recall(waiting sched.Class, except func(*grant) bool) {
	for _, g := range t.grants { // they do not depend on each other
		switch {
		case except(g) || classOf(g.task.HT) < waiting:
		case !g.offered:
			g.task.Contended = true // it is given without one
		case g.leased:
			g.leased = false
			t.stats.Recalled++
			g.executor.giveBack = true
			g.executor.news()
		}
	}
}

// offer returns a grant as its executor sees it: with a lease, unless others wait, also
// when it is answered once more and its lease was ended meanwhile. It needs the lock.
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

// over reports whether the executor is to be told that it may not keep the slot.
func (g *grant) over() bool { return g.killed || g.offered && !g.leased }
