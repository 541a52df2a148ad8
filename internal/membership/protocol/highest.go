package protocol

import "github.com/pigeon-sched/pigeon/internal/sched"

// highestKept is how long a number counts after it was on a membership last: twice the rest
// of the numbers of ended processes, since a successor of the master must not assign those
// earlier either.
const highestKept = 60 * sched.Second

// Highest is the highest worker number, plus one, of the last membership and of those of
// the last minute. A follower states it to the master's successor. The zero value is 0.
type Highest struct {
	listed int32 // by the last membership
	before int32 // by an earlier one, until then
	until  sched.Time
}

// Observe records the highest number, plus one, of a newer membership.
func (h *Highest) Observe(highest int32, now sched.Time) {
	if highest < h.listed {
		h.before, h.until = max(h.listed, h.At(now)), now+highestKept
	}
	h.listed = highest
}

// At returns the highest number that counts at an instant.
func (h *Highest) At(now sched.Time) int32 {
	if now < h.until {
		return max(h.listed, h.before)
	}
	return h.listed
}
