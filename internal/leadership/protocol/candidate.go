package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// Claim is what a candidate writes under a name.
type Claim struct {
	Holder      string // the leader; never empty in a claim that was written
	Incarnation int64  // its process
	// Token is the revision that took the leadership; 0 in the write that takes it.
	Token uint64
	TTL   sched.Time // the leader's own; standbys go by it
}

// Seen is what the store has under the name, as far as is known.
type Seen struct {
	Exists   bool
	Revision uint64 // of the claim, or of its removal; 0 when there was none
	Claim    Claim
}

// Operation is what a candidate wants from the store.
type Operation int

// The operations.
const (
	Wait   Operation = iota // nothing to do yet
	Read                    // what the store has now
	Write                   // Claim, if the newest revision is After
	Remove                  // the claim, if the newest revision is After
)

// Action is an operation and its arguments.
type Action struct {
	Operation Operation
	After     uint64
	Claim     Claim
}

// Candidate is the state of one process that leads or waits to lead. Its methods are
// called by one goroutine, with times that do not go back.
type Candidate struct {
	self Claim

	// known: seen is the newest revision, as far as this process can tell. It does not hold
	// after a write that was refused, or whose outcome is unknown.
	known  bool
	seen   Seen
	first  sched.Time // when seen was seen first
	heard  sched.Time // when the store last reported anything
	again  sched.Time // no request before
	faults int        // requests in a row that were refused or failed

	asking Action // in progress, Wait if none
	sent   sched.Time

	leading  bool
	token    uint64
	deadline sched.Time // of the leading
	renewed  sched.Time // when the last write began that succeeded
	lost     Reason
	resigned bool
}

// NewCandidate returns a candidate that knows nothing yet. ttl is how long a leadership
// lasts without renewal.
func NewCandidate(holder string, incarnation int64, ttl, now sched.Time) Candidate {
	return Candidate{self: Claim{Holder: holder, Incarnation: incarnation, TTL: ttl}, heard: now, again: now}
}

// Margin is what separates the end of a leadership and the earliest takeover from the TTL,
// each: 1 part in 100 for clocks that run differently, and a fixed part for what a leader
// does between its look at the clock and its effect.
func Margin(ttl sched.Time) sched.Time { return ttl/100 + fixedMargin }

const fixedMargin = 25 * sched.Millisecond

// Parts of the TTL.
const (
	renewals = 5 // a leader renews every TTL/renewals
	silence  = 2 // a standby reads when the store was silent for TTL/silence
	tries    = 3 // a request has failed when it is unanswered for TTL/tries
	pauses   = 30
)

// RenewalEvery returns the time between two renewals of a leader.
func RenewalEvery(ttl sched.Time) sched.Time { return ttl / renewals }

// Patience returns how long a request may take before it counts as failed.
func Patience(ttl sched.Time) sched.Time { return ttl / tries }

// Leading returns the token, and until when the candidate leads unless it renews.
func (c *Candidate) Leading() (token uint64, deadline sched.Time, leads bool) {
	return c.token, c.deadline, c.leading
}

// Seen returns what the store has under the name, as far as known.
func (c *Candidate) Seen() Seen { return c.seen }

// own reports whether this process wrote the claim.
func (c *Candidate) own(s Claim) bool {
	return s.Holder == c.self.Holder && s.Incarnation == c.self.Incarnation
}

// Due returns what to do now. The operation is in progress from then on, until Answered,
// Found, Refused or Failed. Without one, Due is called again after an event or at the time
// wake, whichever comes first; wake is 0 if only an event can change anything.
func (c *Candidate) Due(now sched.Time) (a Action, wake sched.Time) {
	c.expire(now)
	if c.asking.Operation == Wait {
		a, wake = c.next(now)
		if a.Operation != Wait {
			c.asking, c.sent = a, now
			wake = 0
		}
	}
	if c.leading && (wake == 0 || c.deadline < wake) {
		wake = c.deadline
	}
	return a, wake
}

func (c *Candidate) next(now sched.Time) (a Action, wake sched.Time) {
	switch {
	case now < c.again:
		return Action{}, c.again
	case !c.known:
		return Action{Operation: Read}, 0
	case c.resigned:
		if c.seen.Exists && c.own(c.seen.Claim) {
			return Action{Operation: Remove, After: c.seen.Revision}, 0
		}
		return Action{}, 0
	case c.leading:
		if wake = c.renewed + RenewalEvery(c.self.TTL); now < wake {
			return Action{}, wake
		}
		return c.write(c.token), 0
	}
	free := c.free()
	if now >= free {
		return c.write(0), 0
	}
	read := c.heard + c.self.TTL/silence
	if now >= read {
		return Action{Operation: Read}, 0
	}
	return Action{}, min(free, read)
}

func (c *Candidate) write(token uint64) Action {
	claim := c.self
	claim.Token = token
	return Action{Operation: Write, After: c.seen.Revision, Claim: claim}
}

// free returns when a standby may write: at once where there is no claim, and where the claim
// comes from its own write whose answer was lost; otherwise when the claim has lapsed for certain.
// An address that refuses connections proves nothing: a firewall refuses them in a leader's place.
func (c *Candidate) free() sched.Time {
	s := c.seen
	if !s.Exists || c.own(s.Claim) {
		return c.first
	}
	ttl := s.Claim.TTL
	if ttl <= 0 {
		ttl = c.self.TTL
	}
	return c.first + ttl + Margin(ttl)
}

// token returns the token of a claim at a revision.
func token(c Claim, revision uint64) uint64 {
	if c.Token == 0 {
		return revision
	}
	return c.Token
}

// Token returns the token of the claim that was seen.
func (s Seen) Token() uint64 {
	if !s.Exists {
		return 0
	}
	return token(s.Claim, s.Revision)
}
