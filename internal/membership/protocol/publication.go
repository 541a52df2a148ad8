package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// Publication is what a master publishes, except the list itself.
type Publication struct {
	position  Position
	heldUntil sched.Time // followers of an earlier master hear nothing new before
}

// NewPublication returns the publication of a master that starts now. lostAfter is how
// long daemons that are silent count as alive: within it those that were registered with
// an earlier master have registered here, or are lost.
func NewPublication(incarnation int64, lostAfter, now sched.Time) Publication {
	return Publication{position: Position{incarnation, 1}, heldUntil: now + lostAfter}
}

// Position returns the version that is published now.
func (p *Publication) Position() Position { return p.position }

// Publish moves to the next version.
func (p *Publication) Publish() { p.position.Version++ }

// Held returns how long a reader that has a position must not be answered yet: for
// one that followed an earlier master, a daemon that is missing is lost, with all
// tasks that run there.
func (p *Publication) Held(have Position, now sched.Time) sched.Time {
	if have.Incarnation == 0 || have.Incarnation == p.position.Incarnation {
		return 0
	}
	return max(0, p.heldUntil-now)
}

// Bounds of the least time between two memberships, which grows with the number of their
// readers: while a cluster starts all its nodes say hello at once, and when its machines
// are overloaded nodes are lost and found all the time. The cost of publishing is then a
// small share of one processor, whatever the size of the cluster.
const (
	paceLeast  = 20 * sched.Millisecond
	paceMost   = sched.Second
	pacePerOne = 2 * sched.Millisecond // node or frontend
)

// Pace decides when a change is published: at once after a quiet time.
type Pace struct {
	changed   bool
	scheduled bool       // Elapsed will be called
	last      sched.Time // when it was published
	ever      bool
}

// Changed records that the published membership is out of date.
func (p *Pace) Changed() { p.changed = true }

// Next reports whether to publish now, to the given number of readers. A wait above zero requests
// Elapsed after it, and Next again.
func (p *Pace) Next(readers int, now sched.Time) (publish bool, wait sched.Time) {
	if !p.changed || p.scheduled {
		return false, 0
	}
	interval := min(max(paceLeast, sched.Time(readers)*pacePerOne), paceMost)
	if wait = interval - (now - p.last); p.ever && wait > 0 {
		p.scheduled = true
		return false, wait
	}
	p.changed, p.last, p.ever = false, now, true
	return true, 0
}

// Elapsed records that the wait is over.
func (p *Pace) Elapsed() { p.scheduled = false }
