package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// missedToLoss is how many hellos in a row must fail at least before a peer is lost: time
// alone also passes while this process does not run.
const missedToLoss = 3

// Contact is what is known of a peer from the hellos to it.
type Contact struct {
	last   sched.Time // answer, or the start
	missed int        // hellos in a row
	lost   bool
}

// NewContact returns the contact with a peer that was not called yet.
func NewContact(now sched.Time) Contact { return Contact{last: now} }

// Answered notes an answer.
func (c *Contact) Answered(now sched.Time) { *c = Contact{last: now} }

// Missed notes a hello without an answer. first reports whether the one before it was
// answered; lost whether the peer is lost with this one, which it is once.
func (c *Contact) Missed(lostAfter, now sched.Time) (first, lost bool) {
	c.missed++
	lost = !c.lost && c.missed >= missedToLoss && now-c.last >= lostAfter
	c.lost = c.lost || lost
	return c.missed == 1, lost
}
