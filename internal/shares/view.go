package shares

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Owners returns what a master shows: the owners that use or want workers, or that have a
// share, each after its parent, children by path.
func (t *Tree) Owners() []sched.OwnerView {
	return t.view(nil, t.root, float64(t.workers), nextTags{})
}

// nextTags are the tags of the children of a node that are served next, by class: leads
// are measured from them.
type nextTags [sched.NumClasses]float64

// view appends the node and the shown nodes below it, nothing if there is nothing to
// show. next is that of its parent.
func (t *Tree) view(list []sched.OwnerView, n *Node, entitled float64, next nextTags) []sched.OwnerView {
	at := len(list)
	v := sched.OwnerView{Owner: n.path, Share: sched.Share{Owner: n.path, Weight: 1}, Entitled: entitled, Used: n.used}
	shown := n.parent == nil || n.isActive()
	if n.inner != nil && n.inner.share != nil {
		v.Share, shown = *n.inner.share, true
	}
	for c := range n.tag {
		v.Running[c], v.Queued[c] = int(n.running[c]), int(n.waiting[c])
		v.Lead[c] = t.lead(n, sched.Class(c), next[c])
	}
	list = append(list, v)
	if n.isInner() {
		parts, next := t.divide(n, entitled), t.nextTags(n)
		for i, child := range n.inner.children {
			list = t.view(list, child, parts[i], next)
		}
	}
	if len(list) == at+1 && !shown {
		return list[:at]
	}
	return list
}

// nextTags returns the tag of the child of a node that is served next in each class, or of
// where one would start, if none waits.
func (t *Tree) nextTags(n *Node) nextTags {
	next := nextTags{math.Inf(1), math.Inf(1)}
	n.each(func(s *Node) {
		for c := range next {
			if s.waiting[c] > 0 && !s.capped {
				next[c] = min(next[c], s.tag[c])
			}
		}
	})
	for c := range next {
		if math.IsInf(next[c], 1) {
			if next[c] = n.inner.now[c]; t.memory.remembers(sched.Class(c)) {
				next[c] = 0
			}
		}
	}
	return next
}

// lead returns by how much worker time the node is ahead of that tag.
func (t *Tree) lead(n *Node, c sched.Class, next float64) sched.Time {
	if n.parent == nil || n.waiting[c]|n.running[c] == 0 {
		return 0
	}
	ahead := (n.tag[c] - next) * float64(n.weight()) / one
	if t.memory.remembers(c) {
		ahead /= t.memory.scale
	}
	return max(0, sched.Time(min(ahead, math.MaxInt64/2)))
}

// demand is what a child of a node wants, as divide sees it.
type demand struct {
	weight      float64
	least, most float64 // workers
	part        float64
	settled     bool
}

// divide divides workers between the children of a node that want some, by weight, within
// min and max, and none more than it wants. The last part is that of its own leaf.
func (t *Tree) divide(n *Node, workers float64) []float64 {
	all := slices.Concat(n.inner.children, []*Node{})
	if n.inner.own != nil {
		all = append(all, n.inner.own)
	}
	list := make([]demand, len(all))
	for i, child := range all {
		list[i] = child.demand()
	}
	for again := true; again; {
		again = false
		var weights float64
		left := workers
		for i := range list {
			if list[i].settled {
				left -= list[i].part
			} else {
				weights += list[i].weight
			}
		}
		// Those that are held to less than their part come first, for they leave more to
		// the others; then those that have a right to more.
		for _, bound := range []func(*demand, float64) bool{
			func(d *demand, part float64) bool { d.part = d.most; return part >= d.most },
			func(d *demand, part float64) bool { d.part = d.least; return part < d.least },
		} {
			for i := range list {
				if d := &list[i]; !d.settled && bound(d, max(0, left)*d.weight/weights) {
					d.settled, again = true, true
				}
			}
			if again {
				break
			}
		}
		if !again {
			for i := range list {
				if d := &list[i]; !d.settled {
					d.part = max(0, left) * d.weight / weights
				}
			}
		}
	}
	parts := make([]float64, len(list))
	for i := range list {
		parts[i] = list[i].part
	}
	return parts
}

func (n *Node) demand() demand {
	d := demand{weight: float64(n.weight()), most: float64(n.Running() + n.waiting[0] + n.waiting[1])}
	if in := n.inner; in != nil {
		if in.limit > 0 {
			d.most = min(d.most, float64(in.limit))
		}
		d.least = min(d.most, float64(in.minimum))
	}
	return d
}
