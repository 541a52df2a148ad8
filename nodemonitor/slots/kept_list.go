package slots

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Results that do not reach their frontend are listed in snapshots, so that the master
// reports their attempts lost if this node is. A result is listed once it is kept for
// oldAfter, which is well below the time for which masters remember an end without that.
const (
	oldAfter  = 5 * sched.Second
	maxOld    = 1000 // named for one worker; of more, the number is reported
	manyOld   = 1000 // of one node: that many are listed only once in manyEvery
	manyEvery = 4 * sched.Second
)

// oldResults is what was last listed.
type oldResults struct {
	at sched.Time
	n  int
}

// ListKept adds to the slots of a snapshot the attempts whose results are kept for some
// seconds, each to its slot, or to the first when that was removed. It returns false when it
// has left them out: those that it added before remain valid.
func (s *Workers) ListKept(slots []wire.Slot) bool {
	now := s.cfg.Now()
	if len(slots) == 0 || s.old.n > manyOld && now-s.old.at < manyEvery {
		return false
	}
	s.old = oldResults{at: now}
	s.cfg.Results.Each(oldAfter, func(_ sched.Addr, r *results.Result) bool {
		s.old.n++
		at, live := slices.BinarySearchFunc(slots, r.Slot, func(d wire.Slot, number int32) int { return int(d.Slot - number) })
		if !live {
			at = 0
		}
		if d := &slots[at]; len(d.Kept) < maxOld && s.old.n <= maxKeptNamed {
			d.Kept = append(d.Kept, r.ID)
		} else {
			d.KeptMore++
		}
		return true
	})
	return true
}
