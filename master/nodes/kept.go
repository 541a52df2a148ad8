package nodes

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// keptResults are the results of a slot that did not reach their frontends for some
// seconds, as the node listed them last.
type keptResults struct {
	ids     []sched.AttemptID
	more    int32      // beyond those
	stepped sched.Time // when the core received them last
}

// keptEvery is how often a list that does not change is repeated to the core: well within
// the time for which cores remember an end.
const keptEvery = 4 * sched.Second

// applyKept reports to the core which results of a slot do not reach their frontends: if the
// node is lost, their attempts are.
func (t *Nodes) applyKept(n *node, s *wire.Slot) {
	k := &n.slots[s.Slot].kept
	k.more = s.KeptMore
	if len(s.Kept) == 0 && len(k.ids) == 0 {
		return
	}
	now := t.cfg.Now()
	if slices.Equal(s.Kept, k.ids) && now-k.stepped < keptEvery {
		return
	}
	k.ids, k.stepped = s.Kept, now
	t.cfg.Core.StepShell(&sched.Message{Kind: sched.ResultsKept, Peer: n.slots[s.Slot].worker, Kept: s.Kept})
}

// unlisted counts the results of a node that it did not list.
func (n *node) unlisted() (results int64) {
	for _, s := range n.slots {
		results += int64(s.kept.more)
	}
	return results
}
