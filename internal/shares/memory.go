package shares

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// memory is how long use of the long class is remembered. With a half-life a tag is the
// sum of what was used, decayed by half in that time, and no virtual time erases it.
// All tags decay alike, so instead later use counts more: the order of two owners does
// not change while they use nothing.
type memory struct {
	halfLife sched.Time // 0: none
	since    sched.Time // scale was 1
	step     sched.Time // sixteenths of a half-life since then
	scale    float64    // of use as of now: 2^(step/16)
}

const (
	stepsPerHalfLife = 16
	mostHalvings     = 40 // of scale, before all tags are divided by it
	// leastHalfLife keeps that division rare; a shorter half-life counts as this one.
	leastHalfLife = sched.Second
	// forgettable is the decayed use that is forgotten.
	forgettable = sched.Second
)

// powers are 2^(i/16).
var powers = [stepsPerHalfLife]float64{
	1, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916, 1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927,
	1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543, 1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474,
}

func (m *memory) remembers(c sched.Class) bool { return m.halfLife > 0 && c == sched.Long }

// Renew sets the time.
func (t *Tree) Renew(now sched.Time) {
	m := &t.memory
	if m.halfLife == 0 {
		return
	}
	one := m.halfLife / stepsPerHalfLife
	step := (now - m.since) / one
	if step == m.step {
		return
	}
	if halvings := step / stepsPerHalfLife; halvings > mostHalvings {
		t.decay(int(min(halvings, math.MaxInt16)))
		m.since += halvings * stepsPerHalfLife * one
		step %= stepsPerHalfLife
	}
	m.step, m.scale = step, math.Ldexp(powers[step%stepsPerHalfLife], int(step/stepsPerHalfLife))
}

// decay divides all remembered use by a power of two.
func (t *Tree) decay(halvings int) {
	t.all(t.root, func(n *Node) { n.tag[sched.Long] = math.Ldexp(n.tag[sched.Long], -halvings) })
	t.shiftedAll()
}

func (t *Tree) shiftedAll() {
	t.all(t.root, func(n *Node) {
		if n.isInner() {
			t.watcher.Shifted(n, sched.Long)
		}
	})
}

// All calls f for all nodes, each after its parent.
func (t *Tree) All(f func(*Node)) { t.all(t.root, f) }

// all calls f for the node and all below it.
func (t *Tree) all(n *Node, f func(*Node)) {
	f(n)
	n.each(func(child *Node) { t.all(child, f) })
}

// setHalfLife changes the half-life. By how much an owner is ahead stays.
func (t *Tree) setHalfLife(h, now sched.Time) {
	m := &t.memory
	if h == m.halfLife {
		return
	}
	before, scale := m.halfLife, m.scale
	*m = memory{halfLife: h, since: now, scale: 1}
	t.all(t.root, func(n *Node) {
		switch tag := &n.tag[sched.Long]; {
		case n.parent == nil:
		case before > 0:
			*tag /= scale
		default:
			*tag = max(0, *tag-n.parent.inner.now[sched.Long])
		}
	})
	t.all(t.root, func(n *Node) {
		if n.inner != nil {
			n.inner.now[sched.Long], n.inner.most[sched.Long] = 0, 0
		}
	})
	t.shiftedAll()
}
