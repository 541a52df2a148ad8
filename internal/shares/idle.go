package shares

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// keptIdle is how many owners without a task are kept in any case, so that one whose
	// tasks come one at a time is not made again for each.
	keptIdle = 64
	// mostIdle is how many are kept that are still ahead.
	mostIdle = 10_000
)

// drop ends one reference to a node.
func (t *Tree) drop(n *Node) {
	if n.refs--; n.refs == 0 && !n.listed {
		n.listed = true
		t.idle = append(t.idle, n)
	}
}

// collect looks at the two nodes that have been idle for longest, and forgets those that
// are not ahead any more.
func (t *Tree) collect() {
	for looks := 2; looks > 0 && len(t.idle) > keptIdle; looks-- {
		n := t.idle[0]
		t.idle[0] = nil
		t.idle = t.idle[1:]
		switch {
		case n.refs > 0:
			n.listed = false
		case len(t.idle) >= mostIdle || t.isSpent(n):
			t.forget(n)
		default:
			t.idle = append(t.idle, n)
		}
	}
}

// isSpent reports whether a new node would be served no later.
func (t *Tree) isSpent(n *Node) bool {
	for c := range n.tag {
		c := sched.Class(c)
		if t.memory.remembers(c) {
			if n.tag[c] > float64(t.virtual(n, c, forgettable)) {
				return false
			}
		} else if n.tag[c] > n.parent.inner.now[c] {
			return false
		}
	}
	return true
}

func (t *Tree) forget(n *Node) {
	n.listed = false
	p := n.parent
	if p.inner.own == n {
		p.inner.own = nil
	} else if at, found := p.inner.find(n.path); found {
		p.inner.children = slices.Delete(p.inner.children, at, at+1)
	}
	t.watcher.Forgotten(n)
	t.drop(p)
}
