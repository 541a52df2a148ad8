package nodes

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// mostAway bounds how long a node may ask to be waited for.
const mostAway = sched.Time(time.Hour)

// leaves is called with each snapshot. A node that is about to be started again is not lost
// for that long, because its attempts continue; nothing is launched there meanwhile. One
// that continues itself, after all, is like any other.
func (t *Nodes) leaves(n *node, away sched.Time) {
	switch {
	case away > 0:
		n.awayUntil = t.cfg.Now() + min(away, mostAway)
		t.cfg.Log.Info("a node is being started again; nothing is launched there meanwhile", "node", n.ref.Name, "at_most", time.Duration(away))
		t.setUp(n, false, "its node monitor is being started again")
	case n.awayUntil > 0:
		n.awayUntil, n.overdue = 0, false
		t.setUp(n, t.cfg.Links.Up(n.ref), "")
	}
}

// waitsFor reports whether a node that would be lost is waited for.
func (t *Nodes) waitsFor(n *node) bool {
	n.overdue = n.awayUntil > t.cfg.Now()
	return n.overdue
}

// loseOverdue removes the nodes that were waited for in vain.
func (t *Nodes) loseOverdue() {
	var names []string
	for name, n := range t.byName {
		if n.overdue && n.awayUntil <= t.cfg.Now() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		t.lose(t.byName[name], false, "its node monitor was not started again in time")
	}
}
