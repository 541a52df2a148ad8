package pigeon

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
)

// slots chooses the reserved slots of a group, together on as few of its nodes as can hold them: the
// others stay whole for long tasks of several slots.
type slots struct {
	share    float64 // of the slots whose kind the master chooses, reserved
	nodes    []*node // by node id
	chosen   int     // slots whose kind the master chooses
	reserved int     // of those

	// Each holds the nodes with a slot that can change to that kind, the next to do so first: a
	// group of many thousands of nodes registers one by one, and each may change one.
	toReserved, toGeneral ranking
}

// node is a machine of the group.
type node struct {
	id       string
	slots    []*worker // in order of registration
	chosen   int       // slots whose kind the master chooses
	reserved int       // of those

	atReserved, atGeneral int // place in the rankings, from 1; 0: not there
}

func newSlots(share float64) slots {
	return slots{
		share:      share,
		toReserved: ranking{place: func(n *node) *int { return &n.atReserved }, sign: -1},
		toGeneral:  ranking{place: func(n *node) *int { return &n.atGeneral }, sign: +1},
	}
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
		w.node.chosen++
		l.rank(w.node)
	}
}

// remove removes a slot, and its node with the last one.
func (l *slots) remove(w *worker) {
	n := w.node
	n.slots = slices.DeleteFunc(n.slots, func(o *worker) bool { return o == w })
	if !w.fixed {
		l.chosen--
		n.chosen--
		if w.reserved {
			n.reserved--
			l.reserved--
		}
		l.rank(n)
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
// as should be: a slot becomes reserved on the node with the most reserved ones that has another, and
// general on the node with the fewest; of equal nodes the lowest id counts
// (docs/design.md, section 3). Of a node's slots it is the first to have registered.
func (l *slots) nextChange() *worker {
	switch want := l.want(); {
	case l.reserved < want:
		return l.toReserved.nodes[0].first(func(w *worker) bool { return !w.reserved })
	case l.reserved > want:
		return l.toGeneral.nodes[0].first(func(w *worker) bool { return w.reserved })
	}
	return nil
}

// first returns the first suitable slot whose kind the master chooses; the node has one.
func (n *node) first(suits func(*worker) bool) *worker {
	return n.slots[slices.IndexFunc(n.slots, func(w *worker) bool { return !w.fixed && suits(w) })]
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
	l.rank(w.node)
}

// rank puts a node whose slots have changed where it belongs.
func (l *slots) rank(n *node) {
	l.toReserved.put(n, n.reserved < n.chosen)
	l.toGeneral.put(n, n.reserved > 0)
}

// ranking is a heap of nodes: by their reserved slots, of equal nodes by id.
type ranking struct {
	nodes []*node
	place func(*node) *int
	sign  int // +1: the fewest reserved slots first, -1: the most
}

// put adds, moves or removes a node.
func (r *ranking) put(n *node, in bool) {
	switch at := *r.place(n); {
	case in && at == 0:
		heap.Push(r, n)
	case in:
		heap.Fix(r, at-1)
	case at != 0:
		heap.Remove(r, at-1)
	}
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (r *ranking) Len() int { return len(r.nodes) }

func (r *ranking) Less(i, k int) bool {
	a, b := r.nodes[i], r.nodes[k]
	return cmp.Or(r.sign*cmp.Compare(a.reserved, b.reserved), strings.Compare(a.id, b.id)) < 0
}

func (r *ranking) Swap(i, k int) {
	r.nodes[i], r.nodes[k] = r.nodes[k], r.nodes[i]
	*r.place(r.nodes[i]), *r.place(r.nodes[k]) = i+1, k+1
}

func (r *ranking) Push(x any) {
	n := x.(*node) //nolint:forcetypeassert // put pushes nodes
	r.nodes = append(r.nodes, n)
	*r.place(n) = len(r.nodes)
}

func (r *ranking) Pop() any {
	last := len(r.nodes) - 1
	n := r.nodes[last]
	r.nodes[last] = nil
	r.nodes = r.nodes[:last]
	*r.place(n) = 0
	return n
}
