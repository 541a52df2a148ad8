package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// claimedShare and claimedUnknown divide the slots of a group: its claims for tasks of several
	// slots hold no more, of each class; the second where most tasks have no estimate.
	claimedShare   = 5
	claimedUnknown = 10
)

// claim holds slots back: of one node for a task of several slots, or of the whole group for a gang.
type claim struct {
	work              // the task; of a gang its first that waits
	since  sched.Time // the task entered the queue
	node   *node      // nil of a gang
	expect sched.Time // when it was expected to be full at first, or since it moved
}

func (c *claim) app() *queue.App { return c.job.App() }

func (c *claim) width() int { return c.app().Demand.Width() }

// suits reports whether the slot may serve a task of the application and class; it need not be free.
func (w *worker) suits(a *queue.App, c sched.Class) bool {
	return (c == sched.Short || !w.reserved) && len(w.held) == 0 && slices.Contains(w.service.Names, a.Name)
}

// wants reports whether the claim holds the slot back when that is free.
func (c *claim) wants(w *worker) bool {
	return (c.node == nil || c.node == w.node) && w.suits(c.app(), c.class)
}

// isHeld reports whether a claim holds a free slot back.
func (x *wide) isHeld(w *worker) bool {
	return slices.ContainsFunc(x.claims, func(c *claim) bool { return c.wants(w) })
}

// claimOf returns the claim on a node, nil when there is none.
func (x *wide) claimOf(n *node) *claim {
	for _, c := range x.claims {
		if c.node == n {
			return c
		}
	}
	return nil
}

// expectedEnd returns when a slot is expected to be free. A task that has run for longer than
// expected is expected to do so for as long again.
func (x *wide) expectedEnd(w *worker) sched.Time {
	b := &w.bill
	if w.isFree() || b.leaf == nil {
		return x.now
	}
	end := b.begun() + b.charged
	if end <= x.now {
		return x.now + max(1, x.now-end)
	}
	return end
}

// full returns when so many slots of a node are expected to be free for a task of the application and
// class, and how many are now; never, when it has fewer.
func (x *wide) full(n *node, a *queue.App, c sched.Class) (at sched.Time, free int, ever bool) {
	width := a.Demand.Width()
	x.ends = x.ends[:0]
	for _, w := range n.slots {
		if w.suits(a, c) {
			if w.isFree() {
				free++
			}
			x.ends = append(x.ends, x.expectedEnd(w))
		}
	}
	if len(x.ends) < width {
		return 0, free, false
	}
	slices.Sort(x.ends)
	return x.ends[width-1], free, true
}

// best returns the unclaimed node where a task could start first: of equal ones that with most free
// slots, then the lowest id; nil when none is large enough.
func (x *wide) best(a *queue.App, c sched.Class) (best *node, at sched.Time, free int) {
	for _, n := range x.slots.nodes {
		if len(n.slots) < a.Demand.Width() || x.claimOf(n) != nil {
			continue
		}
		if t, f, ever := x.full(n, a, c); ever && (best == nil || t < at || t == at && f > free) {
			best, at, free = n, t, f
		}
	}
	return best, at, free
}

// claim starts the first task of a run of wide ones, or claims a node for it.
func (x *wide) claim(r *queue.Run) bool {
	a, c := r.Job.App(), r.Class
	if x.freeSlots() < a.Demand.Width() && !x.mayClaim(a, c) {
		return false
	}
	n, at, free := x.best(a, c)
	gang := x.gangClaim()
	starts := free >= a.Demand.Width() && (gang == nil || x.fitsBefore(gang, c, r.Job.Estimate))
	if n == nil || !starts && !x.mayClaim(a, c) {
		return false
	}
	made := &claim{since: r.Since, node: n, expect: at}
	made.work = x.next(r)
	x.facts[made.job].claimed++
	x.claims = append(x.claims, made)
	x.keepAt(n, made)
	return true // if it is full, it is filled next
}

// freeSlots returns how many slots are free.
func (x *wide) freeSlots() int {
	return x.index.Idle(sched.General) + x.index.Idle(sched.Reserved) + len(x.kept)
}

// mayClaim reports whether the claims of a class may hold so many slots more: a fifth of the group's,
// or a tenth, and one claim in any case.
func (x *wide) mayClaim(a *queue.App, c sched.Class) bool {
	sum, count := x.claimedBy(c)
	return count == 0 || (sum+a.Demand.Width())*x.shareOfClaims() <= x.live
}

// claimedBy returns how many slots the claims of a class hold at most, and how many claims they are.
func (x *wide) claimedBy(c sched.Class) (sum, count int) {
	for _, o := range x.claims {
		if o.node != nil && o.class == c {
			sum += o.width()
			count++
		}
	}
	return sum, count
}

// shareOfClaims returns by what the slots are divided.
func (x *wide) shareOfClaims() int {
	with, without := 0, 0
	for _, w := range x.workers {
		switch {
		case w == nil || w.job == nil:
		case w.job.Estimate > 0:
			with++
		default:
			without++
		}
	}
	if without > with {
		return claimedUnknown
	}
	return claimedShare
}

// fill starts the task of the oldest claim that the free slots can fill, without those that older
// claims hold; false when there is none.
func (x *wide) fill(out *sched.Actions) bool {
	var gang *claim // older, and not full
	for i, c := range x.claims {
		switch {
		case !x.mayLaunchWide(c.job):
		case c.node == nil:
			if x.fillGang(i, out) {
				return true
			}
			gang = c
		case gang != nil && !x.fitsBefore(gang, c.class, c.job.Estimate):
		default:
			if slots := x.freeAt(c.node, c.app(), c.class, c.width()); slots != nil {
				x.drop(i)
				x.launchWide(slots, c.work, out)
				return true
			}
		}
	}
	return false
}

// freeAt returns the given number of free slots of a node that suit, nil when it has not as many.
func (x *wide) freeAt(n *node, a *queue.App, c sched.Class, count int) (slots []*worker) {
	for _, w := range n.slots {
		if w.isFree() && w.suits(a, c) {
			if slots = append(slots, w); len(slots) == count {
				return slots
			}
		}
	}
	return nil
}

// drop removes a claim.
func (x *wide) drop(i int) {
	c := x.claims[i]
	if c.node != nil {
		x.facts[c.job].claimed--
	}
	x.claims = slices.Delete(x.claims, i, i+1)
}

// putBack ends the claims of a job; their tasks wait at the head of the queue again.
func (x *wide) putBack(j *queue.Job) {
	if x != nil {
		x.putBackIf(func(c *claim) bool { return c.job == j })
	}
}

func (x *wide) putBackIf(which func(*claim) bool) {
	if x == nil {
		return
	}
	for i, c := range slices.Backward(x.claims) {
		if which(c) {
			x.endClaim(i)
		}
	}
}

// endClaim ends a claim whose task has not started.
func (x *wide) endClaim(i int) {
	c := x.claims[i]
	x.drop(i)
	if c.node != nil {
		x.index.PushHeadAs(c.class, c.since, c.job, c.task, 1, c.attempt).Moved = c.moved
	}
}

// tidy ends claims that cannot be filled any more.
func (x *wide) tidy() {
	for i, c := range slices.Backward(x.claims) {
		switch {
		case c.node == nil:
			if c.class = c.job.Class; !x.isComplete(c.job) || x.gangFull(c) == never {
				x.endClaim(i)
			}
		case !x.mayLaunchWide(c.job):
			x.endClaim(i)
		case x.check:
			sum, count := x.claimedBy(c.class)
			if _, _, ever := x.full(c.node, c.app(), c.class); !ever || count > 1 && sum*claimedShare > x.live {
				x.endClaim(i)
			}
		}
	}
	x.check = false
}

// move moves the oldest claim that would be full earlier at the node where a slot became free, if
// nothing claims that. Without an estimate a claim stays once it should have been full.
func (x *wide) move() {
	n := x.freed
	x.freed = nil
	if n == nil || len(n.slots) == 0 || x.claimOf(n) != nil {
		return
	}
	for _, c := range x.claims {
		if c.node == nil || c.job.Estimate <= 0 && x.now >= c.expect {
			continue
		}
		at, _, _ := x.full(c.node, c.app(), c.class)
		if t, _, ever := x.full(n, c.app(), c.class); ever && t < at {
			c.node, c.expect = n, min(t, c.expect)
			x.keepAt(n, c)
			return
		}
	}
}

// keepAt keeps the idle slots of a node that a claim wants.
func (x *wide) keepAt(n *node, c *claim) {
	for _, w := range n.slots {
		if w.Listed() && c.wants(w) {
			x.keep(w)
		}
	}
}
