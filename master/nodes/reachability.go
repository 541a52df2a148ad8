package nodes

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// LinkState stops launches at a node that cannot be reached, and removes it when that lasts. A
// state of a process other than the registered one is late, and means nothing: no later call would
// report that the registered one is reached.
func (t *Nodes) LinkState(peer wire.Ref, s link.State) {
	n := t.byName[peer.Name]
	if peer.Role != sched.Worker || n == nil || s.Peer != 0 && s.Peer != n.incarnation {
		return
	}
	switch s.Status {
	case link.Up:
		if n.awayUntil > 0 {
			return // its former process answers, for a moment
		}
		t.setUp(n, true, "")
	case link.Down:
		t.cfg.Log.Warn("node cannot be reached; nothing is launched there meanwhile", "node", n.ref.Name, "error", s.Err)
		t.setUp(n, false, api.Reason(s.Err))
	case link.Lost:
		if t.waitsFor(n) {
			return
		}
		t.lose(n, false, fmt.Sprintf("it could not be reached for %v", t.cfg.LostAfter))
	}
}

func (t *Nodes) setUp(n *node, up bool, problem string) {
	if n.up != up {
		n.since = t.cfg.Now()
	}
	n.up, n.problem = up, problem
	for _, slot := range n.sorted() {
		t.stepServes(n, slot)
	}
}

// RefusedMessages removes a node that refused messages for good, so that it registers again
// and its tasks are tried elsewhere.
func (t *Nodes) RefusedMessages(peer wire.Ref, why error) {
	if n := t.byName[peer.Name]; peer.Role == sched.Worker && n != nil {
		t.lose(n, false, "it refused the master's messages: "+why.Error())
	}
}

// Restarted removes a node in whose place another process answers: its own has ended, and
// the next hello of the name is that of its successor.
func (t *Nodes) Restarted(peer wire.Ref, incarnation int64) {
	if n := t.byName[peer.Name]; peer.Role == sched.Worker && n != nil && n.incarnation == incarnation {
		t.lose(n, true, "its node monitor was restarted")
	}
}
