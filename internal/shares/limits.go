package shares

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Set replaces the shares. Tags, counts and waiting tasks stay. It returns false,
// and changes nothing, when the list or the half-life is not valid.
func (t *Tree) Set(list []sched.Share, halfLife, now sched.Time) bool {
	if Check(list) != nil || halfLife < 0 {
		return false
	}
	if halfLife > 0 {
		halfLife = max(halfLife, leastHalfLife)
	}
	before := t.named
	t.named, t.limited = make([]*Node, 0, len(list)), nil
	for _, n := range before {
		t.setWeight(n, one)
		n.inner.share = nil
	}
	for i := range list {
		s := list[i]
		n := t.node(s.Owner)
		if n.inner == nil {
			n.inner = newInner()
		}
		n.inner.share = &s
		n.refs++
		t.setWeight(n, max(1, int64(math.Round(s.Weight*one))))
		t.named = append(t.named, n)
		if s.Max > 0 || s.Min > 0 {
			t.limited = append(t.limited, n)
		}
	}
	for _, n := range before {
		t.setLimits(n)
		t.drop(n)
	}
	t.SetWorkers(t.workers)
	t.setHalfLife(halfLife, now)
	t.collect()
	return true
}

func (t *Tree) setWeight(n *Node, w int64) {
	by := w - n.inner.weight
	n.inner.weight = w
	if n.isActive() {
		n.parent.inner.active += by
	}
}

// SetWorkers sets the number of live workers of the group, to which max and min are
// relative.
func (t *Tree) SetWorkers(count int) {
	t.workers = count
	for _, n := range t.limited {
		t.setLimits(n)
	}
}

func (t *Tree) setLimits(n *Node) {
	in := n.inner
	if in.limit, in.minimum = 0, 0; in.share != nil {
		in.limit, in.minimum = int32(MostOf(in.share.Max, t.workers)), int32(LeastOf(in.share.Min, t.workers)) //nolint:gosec // at most the workers
	}
	t.limit(n)
}

// MostOf returns how many of a group's workers a max allows, one at least; 0 for no max.
func MostOf(most float64, workers int) int {
	if most <= 0 {
		return 0
	}
	return max(1, int(most*float64(workers)+slack))
}

// LeastOf returns below how many of a group's workers an owner with a min is served first.
func LeastOf(least float64, workers int) int {
	return int(math.Ceil(least*float64(workers) - slack))
}

// limit compares what a node runs with its max and its min.
func (t *Tree) limit(n *Node) {
	if n.inner == nil || (n.inner.limit|n.inner.minimum == 0 && !n.capped && !n.below) {
		return
	}
	in, running := n.inner, n.Running()
	capped, below := in.limit > 0 && running >= in.limit, running < in.minimum
	if capped == n.capped && below == n.below {
		return
	}
	t.freed = t.freed || (n.capped && !capped)
	n.capped, n.below = capped, below
	for c := range n.tag {
		t.watcher.Moved(n, sched.Class(c))
	}
}

// Running returns how many workers run tasks of the node and all below it.
func (n *Node) Running() int32 { return n.running[sched.Short] + n.running[sched.Long] }

// Freed reports whether a node has fallen below its max since the last call.
func (t *Tree) Freed() bool {
	freed := t.freed
	t.freed = false
	return freed
}

// MayLaunch reports whether no max forbids that a task of the leaf is launched.
func (t *Tree) MayLaunch(leaf *Node) bool {
	if len(t.limited) == 0 {
		return true
	}
	for n := leaf; n != nil; n = n.parent {
		if n.capped {
			return false
		}
	}
	return true
}

// MayLaunchSlots is MayLaunch for a task of several slots. One that alone exceeds a max may run
// alone.
func (t *Tree) MayLaunchSlots(leaf *Node, slots int32) bool {
	if len(t.limited) == 0 {
		return true
	}
	for n := leaf; n != nil; n = n.parent {
		if in := n.inner; in != nil && in.limit > 0 && n.Running() > 0 && n.Running()+slots > in.limit {
			return false
		}
	}
	return true
}

// Over reports whether the owner, or one above it, runs more than its share of the
// tasks that its parent runs now.
func (n *Node) Over() bool {
	for ; n.parent != nil; n = n.parent {
		w, all := n.weight(), n.parent.inner.active
		if int64(n.Running())*all > w*int64(n.parent.Running()) {
			return true
		}
	}
	return false
}

// Parting returns the children of the lowest common ancestor that stand for two different
// leaves.
func Parting(a, b *Node) (*Node, *Node) {
	for d := a.depth() - b.depth(); d != 0; {
		if d > 0 {
			a, d = a.parent, d-1
		} else {
			b, d = b.parent, d+1
		}
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a, b
}

func (n *Node) depth() (d int) {
	for ; n.parent != nil; n = n.parent {
		d++
	}
	return d
}

// Excess compares by how much two leaves exceed their shares of the running tasks: above
// 0 when a runs more than b for its weight, where their paths part.
func Excess(a, b *Node) int64 {
	if a == b {
		return 0
	}
	a, b = Parting(a, b)
	return int64(a.Running())*b.weight() - int64(b.Running())*a.weight()
}
