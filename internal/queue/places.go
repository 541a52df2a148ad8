package queue

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// place is where an owner waits for one application, in one class. The places of an
// application and class form a tree, as the owners do; at each of them a heap has those
// below it that wait:
//
//	root ─┬─ team ─┬─ team/alice   lane: run, run
//	      │        └─ team/bob     lane: run
//	      └─ carol                 lane: run
//
// The next run is found by going down along the first of each heap.
type place struct {
	lane         // of the line that made the place
	more  *lanes // with those of other priorities; nil when there is one
	up    *place // nil for the root
	kids  *heap  // nil for a place that never had any
	since int64  // counts those that began to wait
	at    int32  // in the heap of up, -1 when nothing waits
	class sched.Class
}

// heap is a binary heap of four children each: a worker's decision looks at few of the
// machine's cache lines.
type heap struct{ slots []slot }

// slot is a place with its key: the tag of the owner, -Inf when the owner has less than
// its min, +Inf when a max forbids all tasks that wait there.
type slot struct {
	key   float64
	place *place
}

const arity = 4

func (s slot) before(o slot) bool {
	switch {
	case s.key != o.key:
		return s.key < o.key
	case math.IsInf(s.key, -1):
		if a, b := s.place.tag(), o.place.tag(); a != b {
			return a < b
		}
	}
	return s.place.since < o.place.since
}

func (p *place) node() *shares.Node { return p.line.owner }

func (p *place) tag() float64 { return p.node().Tag(p.class) }

// key returns the key of a place as it is now.
func (p *place) key() float64 {
	switch n := p.node(); {
	case n.AtMax() || (p.kids != nil && len(p.kids.slots) > 0 && p.kids.blocked()):
		return math.Inf(1)
	case n.Below():
		return math.Inf(-1)
	default:
		return n.Tag(p.class)
	}
}

// blocked reports whether a max forbids all tasks that wait below.
func (h *heap) blocked() bool { return math.IsInf(h.slots[0].key, 1) }

// hasOthers reports whether tasks wait at or below a place, where some do, that are of
// another owner.
func (p *place) hasOthers(owner string) bool {
	for p.kids != nil && len(p.kids.slots) == 1 {
		p = p.kids.slots[0].place
	}
	return p.kids != nil && len(p.kids.slots) > 1 || p.node().Path() != owner
}

// newPlace makes the place of a line, and those above it.
func (x *Index) newPlace(l *line, c sched.Class) *place {
	p := &place{at: -1, class: c, lane: lane{line: l}}
	p.place = p
	if above := l.owner.Parent(); above != nil {
		p.up = x.placeOf(above, l.app, c)
		if p.up.kids == nil {
			p.up.kids = &heap{}
		}
	}
	return p
}

// placeOf returns the place of a node, and makes it.
func (x *Index) placeOf(n *shares.Node, a *App, c sched.Class) *place {
	if n == x.tree.Root() {
		if a.roots[c] == nil {
			a.roots[c] = x.newPlace(&line{app: a, owner: n}, c)
		}
		return a.roots[c]
	}
	for l := linesOf(n); l != nil; l = l.next {
		if l.app == a && l.lanes[c] != nil {
			return l.lanes[c].place
		}
	}
	return x.newLane(x.lineOf(n, a, 0), c).place
}

// wait enters a place into the heap above, and that into the one above it.
func (x *Index) wait(p *place) {
	up := p.up
	if up == nil {
		return
	}
	x.begin(p)
	p.since = x.begun
	x.begun++
	h := up.kids
	p.at = int32(len(h.slots)) //nolint:gosec // one for each owner
	h.slots = append(h.slots, slot{p.key(), p})
	h.restore(p.at)
	if up.at < 0 {
		x.wait(up)
	} else {
		x.renewed(up)
	}
}

// begin raises the tag of an owner that begins to wait.
func (x *Index) begin(p *place) {
	least := math.Inf(1)
	if h := p.up.kids; len(h.slots) > 0 && h.slots[0].place != p && !h.blocked() {
		least = h.slots[0].place.tag()
	}
	if x.tree.Begin(p.node(), p.class, least) {
		x.moved(p.node(), p.class, p)
	}
}

// unwait removes a place from the heap above.
func (x *Index) unwait(p *place) {
	up := p.up
	if up == nil {
		return
	}
	h := up.kids
	end := int32(len(h.slots)) - 1 //nolint:gosec // one for each owner
	last := h.slots[end]
	h.slots[end] = slot{}
	h.slots = h.slots[:end]
	if last.place != p {
		h.put(p.at, last)
		h.restore(p.at)
	}
	p.at = -1
	if end == 0 {
		x.unwait(up)
	} else {
		x.renewed(up)
	}
}

// renewed is called when the first of those below a place may be another, or the place's
// owner has another tag.
func (x *Index) renewed(p *place) {
	if p.at < 0 {
		return
	}
	h, key := p.up.kids, p.key()
	was := h.slots[p.at].key
	if math.IsInf(was, 1) && !math.IsInf(key, 1) {
		x.begin(p) // it begins to wait again
		key = p.key()
	}
	if key == was && !math.IsInf(key, -1) {
		return
	}
	blocked := h.blocked()
	h.slots[p.at].key = key
	h.restore(p.at)
	if blocked != h.blocked() {
		x.renewed(p.up)
	}
}

// moved corrects the node's places but one.
func (x *Index) moved(n *shares.Node, c sched.Class, but *place) {
	for l := linesOf(n); l != nil; l = l.next {
		if k := l.lanes[c]; k != nil && k.place != but {
			x.renewed(k.place)
		}
	}
}

func (h *heap) put(at int32, s slot) {
	h.slots[at] = s
	s.place.at = at
}

// restore moves a slot to where its key belongs.
func (h *heap) restore(at int32) {
	s := h.slots[at]
	for at > 0 {
		parent := (at - 1) / arity
		if !s.before(h.slots[parent]) {
			break
		}
		h.put(at, h.slots[parent])
		at = parent
	}
	h.put(at, s)
	h.sink(at)
}

func (h *heap) sink(at int32) {
	s, end := h.slots[at], int32(len(h.slots)) //nolint:gosec // one for each owner
	for {
		least, first := at, arity*at+1
		best := s
		for child := first; child < min(first+arity, end); child++ {
			if h.slots[child].before(best) {
				least, best = child, h.slots[child]
			}
		}
		if least == at {
			break
		}
		h.put(at, best)
		at = least
	}
	h.put(at, s)
}

// leaf returns the place whose owner is served first, nil when none may be.
func (p *place) leaf() *place {
	for p.kids != nil && len(p.kids.slots) > 0 {
		if p.kids.blocked() {
			return nil
		}
		p = p.kids.slots[0].place
	}
	if p.up == nil {
		return nil
	}
	return p
}

// watcher keeps the places of an index in the order of its tree.
type watcher struct{ *Index }

// Moved implements [shares.Watcher].
func (w watcher) Moved(n *shares.Node, c sched.Class) { w.moved(n, c, nil) }

// Shifted implements [shares.Watcher].
func (w watcher) Shifted(n *shares.Node, c sched.Class) {
	if n == w.tree.Root() {
		for _, a := range w.order {
			a.roots[c].shifted()
		}
		return
	}
	for l := linesOf(n); l != nil; l = l.next {
		if k := l.lanes[c]; k != nil {
			k.place.shifted()
		}
	}
}

// shifted computes all keys of a heap again.
func (p *place) shifted() {
	if p == nil || p.kids == nil {
		return
	}
	h := p.kids
	for i := range h.slots {
		h.slots[i].key = h.slots[i].place.key()
	}
	for i := int32(len(h.slots))/arity + 1; i >= 0; i-- { //nolint:gosec // one for each owner
		if int(i) < len(h.slots) {
			h.sink(i)
		}
	}
}

// Split implements [shares.Watcher].
func (w watcher) Split(n, own *shares.Node) {
	first := linesOf(n)
	own.Waits, n.Waits = n.Waits, nil
	for l := first; l != nil; l = l.next {
		l.owner = own
	}
	for l := first; l != nil; l = l.next {
		for c, k := range l.lanes {
			if k != nil && k == &k.place.lane {
				w.lower(k.place, n, sched.Class(c)) // below NumClasses
			}
		}
	}
}

// lower puts a place below a new one of the node to which it belonged.
func (x *Index) lower(p *place, n *shares.Node, c sched.Class) {
	q := x.placeOf(n, p.line.app, c)
	if q.kids == nil {
		q.kids = &heap{}
	}
	at, above := p.at, p.up
	p.up, p.at = q, -1
	if at < 0 {
		return
	}
	q.at, q.since = at, p.since
	x.begin(p)
	p.since = x.begun
	x.begun++
	p.at, q.kids.slots = 0, append(q.kids.slots, slot{p.key(), p})
	above.kids.slots[at].place = q
}

// Forgotten implements [shares.Watcher].
func (w watcher) Forgotten(n *shares.Node) { n.Waits = nil }
