package sim

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Under a policy with a single master everybody talks to workers, by the membership
// that the master publishes: the workers that are registered with it. Each daemon reads
// it in its own time, so one may know a worker that another has not met yet, or has
// taken for lost (docs/adr/0008-single-master.md).

const (
	publishAfter = 2 * sched.Second        // a master that follows another one waits for the nodes
	readWithin   = 500 * sched.Millisecond // a daemon reads a change
)

// membership is the membership that a daemon has read.
type membership struct {
	life    int // of the master
	version uint64
	list    []sched.Member
}

// taskRequest is what a worker asked a frontend: a task for a reservation.
type taskRequest struct {
	to       sched.Addr // the zero address: none is open
	msg      sched.Message
	since    sched.Time
	patience sched.Time // it is asked again after that
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

// readMembership reads the membership, if there is a new one and its master can be reached.
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

// membersWithout are the workers on the membership without those of a node.
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

// applyMembership has a daemon go by a membership: what is on its way to and from nodes that are
// not on it any more is dropped, but for results.
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

// senderUnknown reports whether a message has to wait because its receiver does not know the
// sender yet. What a dead sender has left is not waited for.
func (w *world) senderUnknown(e *envelope) bool {
	if !w.cfg.Policy.SingleMaster() || e.from.role != sched.Worker || e.to.role == sched.Master || e.from == e.to || e.msg.Kind == sched.Report {
		return false
	}
	from := w.process(e.from)
	return from.alive && from.life == e.fromLife && !w.process(e.to).lists(e.by.number)
}

// suspectNode has a daemon take a node for lost that lives and knows nothing of it, and meet
// it again. No other daemon need notice, since memberships are read now and then.
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

// announceFrontend has every node learn, in its own time, that a frontend has been started.
func (w *world) announceFrontend(f *daemon) {
	if w.cfg.Policy.SingleMaster() {
		for _, n := range w.nodes {
			w.after(&n.process, drawSpan(w.random, readWithin), func() { w.denyRequests(n, f) })
		}
	}
}

// denyRequests has a node find a frontend gone: what its workers asked there they are denied.
func (w *world) denyRequests(n *node, f *daemon) {
	for _, x := range n.workers {
		if q := x.pending; q.to.Role == sched.Distributor && int(q.to.ID) == f.id {
			x.pending = taskRequest{}
			w.stepCore(x.host, sched.Addr{}, &sched.Message{Kind: sched.NoTask, Job: q.msg.Job, Seq: q.msg.Seq})
		}
	}
}

// suspectFrontend has a node find a frontend gone that lives, and back: what it has said last is
// dropped, but for results, and the frontend, when it notices, probes once more.
func (w *world) suspectFrontend(n *node, f *daemon) {
	w.dropQueued(route{n.daemonID, f.daemonID}, func(e *envelope) bool { return e.msg.Kind != sched.Report })
	w.denyRequests(n, f)
	if f.membership.list != nil {
		w.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Members, More: &sched.More{Members: f.membership.list}, Resent: true})
	}
}
