package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// missedToLoss is how many hellos in a row must fail at least before a peer is lost.
const missedToLoss = 3

// Limits are when a peer is lost that answers no hello.
type Limits struct {
	LostAfter sched.Time // silence
	// Hello is how much of the silence one hello can account for: the time between two, and
	// the time limit of the call. The excess is time in which this process did not run.
	Hello sched.Time
}

// Contact is what the hellos to a peer have shown of it.
type Contact struct {
	last    sched.Time // hello that ended, or the start
	silence sched.Time // since the last answer, while this process ran
	missed  int        // hellos in a row
	lost    bool
}

// NewContact returns the contact with a peer that was not called yet.
func NewContact(now sched.Time) Contact { return Contact{last: now} }

// Answered records an answer.
func (c *Contact) Answered(now sched.Time) { *c = Contact{last: now} }

// Missed records a hello without an answer. first reports whether the one before it
// was answered; lost whether the peer is lost with this one, which it is once.
//
// Time in which this process itself did not run does not count, and a hello during
// which it did not run decides nothing: the peer may have answered meanwhile.
func (c *Contact) Missed(l Limits, now sched.Time) (first, lost bool) {
	took := now - c.last
	c.last = now
	c.silence += min(took, l.Hello)
	c.missed++
	lost = !c.lost && took <= l.Hello && c.missed >= missedToLoss && c.silence >= l.LostAfter
	c.lost = c.lost || lost
	return c.missed == 1, lost
}
