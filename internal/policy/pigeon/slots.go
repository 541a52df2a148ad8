package pigeon

import (
	"math"
	"slices"
	"strings"
)

// slots chooses the reserved slots of a group, spread over its nodes.
type slots struct {
	share    float64 // of the slots whose kind the master chooses, reserved
	nodes    []*node // by node id
	chosen   int     // slots whose kind the master chooses
	reserved int     // of those
}

// node is a machine of the group.
type node struct {
	id       string
	slots    []*worker // in order of registration
	reserved int       // of the slots whose kind the master chooses
}

// add adds a slot of the node of that id.
func (l *slots) add(w *worker, id string) {
	at, found := slices.BinarySearchFunc(l.nodes, id, func(n *node, id string) int { return strings.Compare(n.id, id) })
	if !found {
		l.nodes = slices.Insert(l.nodes, at, &node{id: id})
	}
	w.node = l.nodes[at]
	w.node.slots = append(w.node.slots, w)
	if !w.fixed {
		l.chosen++
	}
}

// remove removes a slot, and its node with the last one.
func (l *slots) remove(w *worker) {
	n := w.node
	n.slots = slices.DeleteFunc(n.slots, func(o *worker) bool { return o == w })
	if !w.fixed {
		l.chosen--
		if w.reserved {
			n.reserved--
			l.reserved--
		}
	}
	if len(n.slots) == 0 {
		l.nodes = slices.DeleteFunc(l.nodes, func(o *node) bool { return o == n })
	}
}

// want returns round(share x slots), of the slots whose kind the master chooses.
func (l *slots) want() int {
	return min(l.chosen, int(math.Floor(float64(l.share*float64(l.chosen))+0.5)))
}

// nextChange returns the slot whose kind must change next, nil when as many are reserved
// as should be: a slot becomes reserved on the node with the fewest reserved ones, and
// general on the node with the most; of equal nodes the lowest id counts
// (docs/design.md, section 3).
func (l *slots) nextChange() *worker {
	switch want := l.want(); {
	case l.reserved < want:
		return l.first(func(n *node, w *worker) (int, bool) { return n.reserved, !w.reserved })
	case l.reserved > want:
		return l.first(func(n *node, w *worker) (int, bool) { return -n.reserved, w.reserved })
	}
	return nil
}

// first returns the first suitable slot of the node with the lowest rank.
func (l *slots) first(rank func(*node, *worker) (int, bool)) *worker {
	var best *worker
	lowest := math.MaxInt
	for _, n := range l.nodes {
		for _, w := range n.slots {
			if r, suits := rank(n, w); suits && !w.fixed && r < lowest {
				best, lowest = w, r
			}
		}
	}
	return best
}

// setReserved records the kind of a slot.
func (l *slots) setReserved(w *worker, reserved bool) {
	by := -1
	if reserved {
		by = +1
	}
	w.reserved = reserved
	w.node.reserved += by
	l.reserved += by
}
