package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Under a policy with a single master, every daemon addresses workers by the membership
// that the master publishes: the workers that are registered with it. Daemons read it at
// different times, so one may know a worker that another has not discovered yet, or has
// declared lost (docs/adr/0008-single-master.md).

const (
	publishAfter = 2 * sched.Second        // a successor waits for the nodes
	readWithin   = 500 * sched.Millisecond // of a change
)

// membership is the version of the membership that a daemon has read.
type membership struct {
	life    int // of the master
	version uint64
	list    []sched.Member
}

// taskRequest is a worker's request to a frontend for the task of a reservation.
type taskRequest struct {
	to      sched.Addr // the zero address: no request is pending
	msg     sched.Message
	since   sched.Time
	timeout sched.Time // after which it is repeated
}

func (q *taskRequest) answeredBy(from sched.Addr, m *sched.Message) bool {
	return q.to == from && q.msg.Job == m.Job && q.msg.Seq == m.Seq
}

// publish is called when the membership has changed.
func (w *world) publish(m *daemon) {
	if !w.cfg.Policy.SingleMaster() {
		return
	}
	m.version++
	for _, p := range w.followers() {
		w.after(p, drawSpan(w.random, readWithin), func() { w.readMembership(p) })
	}
}

func (w *world) followers() (list []*process) {
	for _, f := range w.frontends {
		list = append(list, &f.process)
	}
	for _, n := range w.nodes {
		list = append(list, &n.process)
	}
	return list
}

// readMembership applies the master's membership to a daemon, if there is a new version
// and the master can be reached.
func (w *world) readMembership(p *process) {
	m := w.masters[0]
	now := membership{life: m.life, version: m.version}
	if !w.cfg.Policy.SingleMaster() || !m.alive || m.resumes > w.now || w.now < m.publishFrom || w.blocked(route{m.daemonID, p.daemonID}) ||
		(p.membership.life == now.life && p.membership.version == now.version) {
		return
	}
	now.list = w.membersWithout(nil)
	w.applyMembership(p, now)
}

// membersWithout returns the members except the workers of n.
func (w *world) membersWithout(n *node) (list []sched.Member) {
	m := w.masters[0]
	for id := range m.members {
		if x := &m.members[id]; x.worker != nil && !x.gone && x.worker.node != n {
			next := sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: int32(id)}} //nolint:gosec // workers are few
			if m.host != nil {
				next.Master = sched.Addr{Role: sched.Master}
			}
			list = append(list, next)
		}
	}
	return list
}

// applyMembership replaces a daemon's membership. Messages to and from nodes that have
// left it are dropped, except reports.
func (w *world) applyMembership(p *process, now membership) {
	before := p.membership.list
	p.membership = now
	for _, old := range before {
		if x := w.byNumber[old.Worker.ID]; !p.lists(x.number) && x.node.daemonID != p.daemonID {
			w.dropQueued(route{p.daemonID, x.node.daemonID}, func(*envelope) bool { return true })
			if p.role == sched.Distributor {
				w.dropQueued(route{x.node.daemonID, p.daemonID}, func(e *envelope) bool { return e.msg.Kind != sched.Report })
			}
		}
	}
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: now.list}}
	switch {
	case p.role == sched.Distributor:
		w.stepCore(w.frontends[p.id].host, sched.Addr{}, &m)
	case w.cfg.Policy.PeerAware:
		for _, x := range w.nodes[p.id].workers {
			w.stepCore(x.host, sched.Addr{}, &m)
		}
	}
}

func (p *process) lists(number int32) bool {
	_, found := slices.BinarySearchFunc(p.membership.list, number, func(m sched.Member, n int32) int { return int(m.Worker.ID - n) })
	return found
}

// senderUnknown reports whether a message must wait because its receiver does not know
// the sender yet. Messages of a dead sender do not wait.
func (w *world) senderUnknown(e *envelope) bool {
	if !w.cfg.Policy.SingleMaster() || e.from.role != sched.Worker || e.to.role == sched.Master || e.from == e.to || e.msg.Kind == sched.Report {
		return false
	}
	from := w.process(e.from)
	return from.alive && from.life == e.fromLife && !w.process(e.to).lists(e.by.number)
}

// suspectNode makes a daemon declare a live node lost and then discover it again. The
// node does not notice, and no other daemon needs to, since memberships are read at
// intervals.
func (w *world) suspectNode(p *process, n *node) {
	if p.membership.list == nil || !p.alive {
		return
	}
	now := p.membership
	without := now
	without.list = slices.DeleteFunc(slices.Clone(now.list), func(m sched.Member) bool { return w.byNumber[m.Worker.ID].node == n })
	w.applyMembership(p, without)
	w.applyMembership(p, now)
}

// announceFrontend informs every node, within readWithin, that a frontend has been
// started.
func (w *world) announceFrontend(f *daemon) {
	if w.cfg.Policy.SingleMaster() {
		for _, n := range w.nodes {
			w.after(&n.process, drawSpan(w.random, readWithin), func() { w.denyRequests(n, f) })
		}
	}
}

// denyRequests answers the requests of a node's workers to a frontend that is gone:
// there is no task.
func (w *world) denyRequests(n *node, f *daemon) {
	for _, x := range n.workers {
		if q := x.pending; q.to.Role == sched.Distributor && int(q.to.ID) == f.id {
			x.pending = taskRequest{}
			w.stepCore(x.host, sched.Addr{}, &sched.Message{Kind: sched.NoTask, Job: q.msg.Job, Seq: q.msg.Seq})
		}
	}
}

// suspectFrontend makes a node declare a live frontend gone and then discover it again.
// The node's latest messages to it are dropped, except reports; the frontend notices,
// and probes once more.
func (w *world) suspectFrontend(n *node, f *daemon) {
	w.dropQueued(route{n.daemonID, f.daemonID}, func(e *envelope) bool { return e.msg.Kind != sched.Report })
	w.denyRequests(n, f)
	if f.membership.list != nil {
		w.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Members, More: &sched.More{Members: f.membership.list}, Resent: true})
	}
}
