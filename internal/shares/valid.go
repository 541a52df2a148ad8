package shares

import (
	"fmt"
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Valid checks the tree's invariants; tests call it after each step. It looks at every
// node.
func (t *Tree) Valid() error {
	named := 0
	var err error
	t.all(t.root, func(n *Node) {
		if err == nil {
			err = t.validNode(n)
		}
		if n.inner != nil && n.inner.share != nil {
			named++
		}
	})
	if err == nil && named != len(t.named) {
		err = fmt.Errorf("%d nodes have shares, %d are listed", named, len(t.named))
	}
	return err
}

func (t *Tree) validNode(n *Node) error {
	for c := range n.tag {
		switch class := sched.Class(c); {
		case n.ahead[c] < 0 || n.ahead[c] > 0 && n.refs == 0:
			return fmt.Errorf("owner %q is charged %d for what runs as %v", n.path, n.ahead[c], class)
		case n.waiting[c] < 0 || n.running[c] < 0:
			return fmt.Errorf("owner %q has %d tasks waiting and %d running", n.path, n.waiting[c], n.running[c])
		case math.IsNaN(n.tag[c]) || math.IsInf(n.tag[c], 1):
			return fmt.Errorf("the tag of owner %q is %v", n.path, n.tag[c])
		case n.waiting[c] > 0 && math.IsInf(n.tag[c], 0):
			return fmt.Errorf("owner %q has %v tasks waiting and no tag", n.path, class)
		}
	}
	capped, below := false, false
	if in := n.inner; in != nil {
		capped, below = in.limit > 0 && n.Running() >= in.limit, n.Running() < in.minimum
	}
	switch {
	case n.capped != capped || n.below != below:
		return fmt.Errorf("owner %q runs %d: at its max: %v, recorded as %v; below its min: %v, %v", n.path, n.Running(), capped, n.capped, below, n.below)
	case n.refs == 0 && !n.listed || n.listed && !slices.Contains(t.idle, n):
		return fmt.Errorf("owner %q has no task and is not listed, or is and is not", n.path)
	case n.refs == 0 && n.isActive():
		return fmt.Errorf("nobody refers to owner %q, which has tasks", n.path)
	}
	if !n.isInner() {
		return nil
	}
	var waiting, running [sched.NumClasses]int32
	var active int64
	last := ""
	var err error
	n.each(func(child *Node) {
		if child.parent != n || (child != n.inner.own && child.path <= last) {
			err = fmt.Errorf("owner %q is out of place", child.path)
		}
		if child != n.inner.own {
			last = child.path
		}
		for c := range waiting {
			waiting[c] += child.waiting[c]
			running[c] += child.running[c]
		}
		if child.isActive() {
			active += child.weight()
		}
	})
	switch {
	case err != nil:
		return err
	case waiting != n.waiting || running[0] > n.running[0] || running[1] > n.running[1]:
		return fmt.Errorf("below owner %q %v tasks wait and %v run, counted as %v and %v", n.path, waiting, running, n.waiting, n.running)
	case active != n.inner.active:
		return fmt.Errorf("below owner %q weights of %v are active, counted as %v", n.path, active, n.inner.active)
	}
	return nil
}
