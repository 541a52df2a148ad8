package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// Reason is why a leadership ended.
type Reason int

// The reasons.
const (
	NotRenewed Reason = iota + 1 // the deadline passed before the store confirmed a renewal
	TakenOver                    // the store has a claim of another process
	Removed                      // the store has none
	Resigned                     // by the candidate's own will
)

// Lost returns why the last leadership ended, 0 before that.
func (c *Candidate) Lost() Reason { return c.lost }

// expire ends a leadership whose deadline has passed. This is final: an answer that would
// have prolonged it comes too late, because Leads has returned false meanwhile.
func (c *Candidate) expire(now sched.Time) {
	if c.leading && now >= c.deadline {
		c.lose(NotRenewed)
	}
}

func (c *Candidate) lose(r Reason) { c.leading, c.lost = false, r }

// Answered is called when the write or removal in progress has succeeded, with its revision.
func (c *Candidate) Answered(now sched.Time, revision uint64) {
	c.expire(now)
	a := c.done(now)
	c.faults = 0
	if revision < c.seen.Revision {
		return // the store has reported a newer one meanwhile, and accept has judged it
	}
	c.known = true
	c.first = now
	if a.Operation == Remove {
		c.seen = Seen{Revision: revision}
		return
	}
	c.seen = Seen{Exists: true, Revision: revision, Claim: a.Claim}
	c.renewed = c.sent
	deadline := c.sent + c.self.TTL - Margin(c.self.TTL)
	switch taking := a.Claim.Token == 0; {
	case c.resigned:
	case taking && now < deadline:
		c.leading, c.token, c.deadline = true, revision, deadline
	case c.leading && a.Claim.Token == c.token:
		c.deadline = max(c.deadline, deadline)
	}
}

// done ends the operation in progress and returns it.
func (c *Candidate) done(now sched.Time) Action {
	a := c.asking
	c.asking, c.heard = Action{}, now
	return a
}

// Refused is called when the write or removal in progress was refused, because something
// was written since the revision that it named: by another, or by this process itself, when
// the answer was lost. The record has to be read.
func (c *Candidate) Refused(now sched.Time) {
	c.done(now)
	c.known = false
	c.fault(now, 1) // the first time it is read at once
}

// Failed is called when the operation in progress has failed or was not answered in time.
// A write may have been carried out, or may still be.
func (c *Candidate) Failed(now sched.Time) {
	a := c.asking
	c.asking = Action{}
	if a.Operation != Read {
		c.known = false
	}
	c.fault(now, 0)
}

func (c *Candidate) fault(now sched.Time, free int) {
	if c.faults++; c.faults > free {
		c.again = now + c.self.TTL/pauses
	}
}

// Found is called with the answer of the read in progress.
func (c *Candidate) Found(now sched.Time, s Seen) {
	c.done(now)
	if !c.known {
		c.accept(now, s) // even a lower revision: the revision known so far is wrong
		return
	}
	c.faults = 0
	if s.Revision > c.seen.Revision || s.Exists != c.seen.Exists {
		c.accept(now, s)
	}
}

// Heard is called when the store reports a revision by itself. One that is not newer
// than what is known is ignored.
func (c *Candidate) Heard(now sched.Time, s Seen) {
	c.heard = now
	if s.Revision > c.seen.Revision {
		c.faults = 0
		c.accept(now, s)
	}
}

// accept replaces what is known. The first time of a revision stays.
func (c *Candidate) accept(now sched.Time, s Seen) {
	if s != c.seen || !c.known && c.first == 0 {
		c.first = now
	}
	c.seen, c.known = s, true
	switch {
	case !c.leading:
	case !s.Exists:
		c.lose(Removed)
	case !c.own(s.Claim) || s.Token() != c.token:
		c.lose(TakenOver)
	}
}

// Resign ends the leadership now, and removes the claim. The candidate takes no leadership
// any more.
func (c *Candidate) Resign() {
	if c.leading {
		c.lose(Resigned)
	}
	c.resigned = true
}

// Idle reports whether a candidate that resigned has nothing left to do.
func (c *Candidate) Idle() bool {
	return c.resigned && c.known && c.asking.Operation == Wait && !(c.seen.Exists && c.own(c.seen.Claim))
}
