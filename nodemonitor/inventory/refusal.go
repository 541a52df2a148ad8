package inventory

import (
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A frontend refuses the inventory of a node that is not yet in its membership as busy, but
// records that a node holds the listed attempts. It takes attempts that no inventory has listed
// for lost, so a refusal does not end an inventory of several parts: the node sends the parts
// that follow as well, and all of it once more after a pause.

// busyFor returns how long a frontend is busy, and whether it is, from the error of a call.
func busyFor(err error) (time.Duration, bool) {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem != api.Busy {
		return 0, false
	}
	return min(e.RetryAfter, time.Duration(Every)), true
}

// sendNext sends what follows in an inventory of several parts after a call that a busy frontend
// has refused: the next part, or after a digest the first. It returns false if nothing follows.
func (s *Inventories) sendNext(f *frontend, v *wire.Inventory, wait time.Duration) bool {
	switch {
	case v.More:
		f.parts = f.parts[1:]
	case !v.Digest:
		return false
	}
	f.refused, f.calling = f.refused || v.More, true
	time.AfterFunc(wait, func() { s.cfg.Post(func() { s.sendPart(f) }) })
	return true
}
