package shares

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// shiftAt is the virtual time at which it is counted from 0 again, so that float64
// can distinguish nanoseconds: 13 days.
const shiftAt = 1 << 50

// Wait records that the number of tasks of the class that wait at a leaf changed by this much.
func (t *Tree) Wait(leaf *Node, c sched.Class, by int32) {
	for n := leaf; n != nil; n = n.parent {
		n.count(c, by, 0)
	}
}

// count changes the numbers of a node, and the weights that are active at its parent.
func (n *Node) count(c sched.Class, waiting, running int32) {
	was := n.isActive()
	n.waiting[c] += waiting
	n.running[c] += running
	if is := n.isActive(); is != was && n.parent != nil {
		n.parent.inner.active += sign(is) * n.weight()
	}
	if in := n.inner; in != nil && n.waiting[c]|n.running[c] == 0 {
		in.now[c] = max(in.now[c], in.most[c]) // no owner is ahead of another any more
	}
}

// raise changes the tag of a node.
func (t *Tree) raise(n *Node, c sched.Class, by sched.Time) {
	n.tag[c] += t.virtual(n, c, by)
	if in := n.parent.inner; !t.memory.remembers(c) {
		in.most[c] = max(in.most[c], n.tag[c])
	} else {
		n.tag[c] = max(n.tag[c], 0)
	}
}

func sign(plus bool) int64 {
	if plus {
		return 1
	}
	return -1
}

// isActive reports whether a task of the node, or below it, waits or runs.
func (n *Node) isActive() bool {
	return n.waiting[sched.Short]|n.waiting[sched.Long]|n.running[sched.Short]|n.running[sched.Long] != 0
}

// Begin is called when tasks of a node begin to wait in a queue where least is the least
// tag of its siblings that wait there, +Inf when none does. It raises the node's tag: no
// node saves up what it did not use. It reports whether it raised the tag.
func (t *Tree) Begin(n *Node, c sched.Class, least float64) bool {
	if t.memory.remembers(c) {
		return false
	}
	if tag := min(n.parent.inner.now[c], least); tag > n.tag[c] {
		n.tag[c] = tag
		return true
	}
	return false
}

// Launch charges a leaf, and the nodes above it, the cost of a task that is launched.
// waited is set unless it was launched at its arrival.
func (t *Tree) Launch(leaf *Node, c sched.Class, cost sched.Time, waited bool) {
	n := leaf
	for ; n.parent != nil; n = n.parent {
		in := n.parent.inner
		if !waited && n.waiting[c] == 0 {
			t.Begin(n, c, math.Inf(1))
		}
		if !n.below && !t.memory.remembers(c) {
			in.now[c] = max(in.now[c], n.tag[c]-t.virtual(n, c, n.ahead[c]))
		}
		t.raise(n, c, cost)
		n.ahead[c] += cost
		n.count(c, 0, 1)
		t.limit(n)
		t.watcher.Moved(n, c)
		if in.now[c] > shiftAt {
			t.shift(n.parent, c)
		}
	}
	n.count(c, 0, 1)
}

// Pause records that a task of the leaf no longer runs and may continue.
func (t *Tree) Pause(leaf *Node, c sched.Class) { t.run(leaf, c, -1) }

// Continue ends a Pause.
func (t *Tree) Continue(leaf *Node, c sched.Class) { t.run(leaf, c, 1) }

func (t *Tree) run(leaf *Node, c sched.Class, by int32) {
	n := leaf
	for ; n.parent != nil; n = n.parent {
		n.count(c, 0, by)
		t.limit(n)
	}
	n.count(c, 0, by)
}

// End corrects the charge of a task that has ended, or was stopped, by what it really
// used. paused is set if it did not run then.
func (t *Tree) End(leaf *Node, c sched.Class, charged, used sched.Time, paused bool) {
	by := int32(-1)
	if paused {
		by = 0
	}
	n := leaf
	for ; n.parent != nil; n = n.parent {
		n.ahead[c] -= charged
		t.raise(n, c, used-charged)
		n.learn(c, used)
		n.count(c, 0, by)
		t.limit(n)
		t.watcher.Moved(n, c)
	}
	n.learn(c, used)
	n.count(c, 0, by)
}

// learn records what a task used.
func (n *Node) learn(c sched.Class, used sched.Time) {
	n.used[c] += used
	switch mean := n.mean[c]; {
	case used <= 0:
	case mean == 0:
		n.mean[c] = float32(used)
	default:
		n.mean[c] = mean + (float32(used)-mean)/8
	}
}

// Charge charges a leaf for time that was used in another way than by its launches.
func (t *Tree) Charge(leaf *Node, c sched.Class, used sched.Time) {
	n := leaf
	for ; n.parent != nil; n = n.parent {
		if !t.memory.remembers(c) && n.waiting[c] == 0 {
			n.tag[c] = max(n.tag[c], n.parent.inner.now[c])
		}
		t.raise(n, c, used)
		n.used[c] += used
		t.watcher.Moved(n, c)
	}
	n.used[c] += used
}

// Mean returns how long tasks of the class take, of the owner, or else of those with the
// same parent and so on; 0 when none has ended.
func (n *Node) Mean(c sched.Class) sched.Time {
	for ; n != nil; n = n.parent {
		if n.mean[c] > 0 {
			return sched.Time(n.mean[c])
		}
	}
	return 0
}

// virtual returns by how much a time used changes the tag of a node.
func (t *Tree) virtual(n *Node, c sched.Class, used sched.Time) float64 {
	v := float64(used)
	if w := n.weight(); w != one {
		v = float64(v*one) / float64(w)
	}
	if t.memory.remembers(c) {
		v = float64(v * t.memory.scale)
	}
	return v
}

// shift makes the virtual time of a node begin at 0 again.
func (t *Tree) shift(n *Node, c sched.Class) {
	by := n.inner.now[c]
	n.inner.now[c] = 0
	n.inner.most[c] -= by
	n.each(func(child *Node) { child.tag[c] -= by })
	t.watcher.Shifted(n, c)
}
