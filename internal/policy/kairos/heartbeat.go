package kairos

import "github.com/pigeon-sched/pigeon/internal/sched"

// beatToken is the token of the heartbeat's timer; quanta count from 1.
const beatToken = 0

// beat is the state of a node's heartbeat. A node with at most one task has nothing to
// report between two changes, and sends nothing.
type beat struct {
	ticking bool // a timer is set
	changed bool // a task arrived or left since the last one
	owed    bool // one must be sent at the end of this step
}

// setBeat sends a heartbeat that is owed and requests the next one, at a multiple of
// its interval.
func (n *Node) setBeat(now sched.Time, out *sched.Actions) {
	if n.beat.owed {
		n.sendBeat(now, out)
	}
	if !n.beat.ticking && (n.beat.changed || len(n.tasks) > 1) {
		n.beat.ticking = true
		out.Timer((now/n.o.Heartbeat+1)*n.o.Heartbeat, beatToken)
	}
}

func (n *Node) beatDue(now sched.Time, out *sched.Actions) {
	n.beat.ticking = false
	if n.beat.changed || len(n.tasks) > 1 {
		n.sendBeat(now, out)
	}
}

// sendBeat reports every task and how long it has run. It carries the
// number of the last launch received, from which the master recognises tasks that the node
// could not yet report.
func (n *Node) sendBeat(now sched.Time, out *sched.Actions) {
	n.beat.changed, n.beat.owed = false, false
	slots := make([]sched.Attained, len(n.tasks))
	for i, t := range n.tasks {
		slots[i] = sched.Attained{ID: t.id, Service: t.attained(now), Running: t.running}
	}
	m := out.Send(n.cfg.Master, sched.Beat)
	m.Seq, m.More = n.received, &sched.More{Slots: slots}
}
