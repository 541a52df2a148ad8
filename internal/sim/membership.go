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

// publisher holds the membership that the single master publishes.
type publisher struct {
	*cluster
	draws   *draws
	net     *network
	hosts   *hosts
	version uint64
	from    sched.Time // a successor publishes from then on
}

// publish is called when the membership has changed.
func (pub *publisher) publish() {
	if !pub.cfg.Policy.SingleMaster() {
		return
	}
	pub.version++
	for _, p := range pub.followers() {
		pub.after(p, drawSpan(pub.draws.random, readWithin), func() { pub.read(p) })
	}
}

// read applies the master's membership to a daemon, if there is a new version and the
// master can be reached.
func (pub *publisher) read(p *process) {
	if p.id < 0 {
		return
	}
	m := pub.masters[0]
	now := membership{life: m.life, version: pub.version}
	if !pub.cfg.Policy.SingleMaster() || !m.alive || m.resumes > pub.now || pub.now < pub.from || pub.net.blocked(route{m.daemonID, p.daemonID}) ||
		(p.membership.life == now.life && p.membership.version == now.version) {
		return
	}
	now.list = pub.members()
	pub.apply(p, now)
}

// members returns the workers that are registered with the master.
func (pub *publisher) members() (list []sched.Member) {
	m := pub.masters[0]
	for id := range m.members {
		if x := &m.members[id]; x.worker != nil && !x.gone {
			next := sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: int32(id)}, Node: x.worker.node.String()} //nolint:gosec // workers are few
			if m.host != nil {
				next.Master = sched.Addr{Role: sched.Master}
			}
			list = append(list, next)
		}
	}
	return list
}

// apply replaces a daemon's membership. Messages to and from nodes that have left it are
// dropped, except reports.
func (pub *publisher) apply(p *process, now membership) {
	before := p.membership.list
	p.membership = now
	for _, old := range before {
		if x := pub.byNumber[old.Worker.ID]; !p.lists(x.number) && x.node.daemonID != p.daemonID {
			pub.net.dropQueued(route{p.daemonID, x.node.daemonID}, func(*envelope) bool { return true })
			if p.role == sched.Distributor {
				pub.net.dropQueued(route{x.node.daemonID, p.daemonID}, func(e *envelope) bool { return e.msg.Kind != sched.Report })
			}
		}
	}
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: now.list}}
	switch {
	case p.role == sched.Distributor:
		pub.hosts.stepCore(pub.frontends[p.id].host, sched.Addr{}, &m)
	case pub.cfg.Policy.PeerAware:
		for _, x := range pub.nodes[p.id].workers {
			pub.hosts.stepCore(x.host, sched.Addr{}, &m)
		}
	}
}

func (p *process) lists(number int32) bool {
	_, found := slices.BinarySearchFunc(p.membership.list, number, func(m sched.Member, n int32) int { return int(m.Worker.ID - n) })
	return found
}

// senderUnknown reports whether a message must wait because its receiver does not know
// the sender yet. Messages of a dead sender do not wait.
func (pub *publisher) senderUnknown(e *envelope) bool {
	if !pub.cfg.Policy.SingleMaster() || e.from.role != sched.Worker || e.to.role == sched.Master || e.from == e.to || e.msg.Kind == sched.Report {
		return false
	}
	from := pub.process(e.from)
	return from.alive && from.life == e.fromLife && !pub.process(e.to).lists(e.by.number)
}

// refuseUnknown refuses the messages of a sender that their receiver does not know. From
// an inventory a frontend learns nevertheless that a node holds these attempts, whenever a
// node repeats one.
func (pub *publisher) refuseUnknown(queue []*envelope) {
	for _, e := range queue {
		to := pub.process(e.to)
		former := e.to.id < 0 || !to.alive || to.life != e.toLife // another process has the name
		if former || e.msg.Kind != sched.Held || e.due > pub.now || (e.refused > 0 && pub.now < e.refused+inventoryEvery*heartbeat) {
			continue
		}
		e.refused = pub.now
		pub.hosts.stepCore(pub.frontends[e.to.id].host, sched.Addr{}, &sched.Message{Kind: sched.Held, Kept: e.msg.Kept})
	}
}

// suspectNode makes a daemon declare a live node lost and then discover it again. The
// node does not notice, and no other daemon needs to, since memberships are read at
// intervals.
func (pub *publisher) suspectNode(p *process, n *node) {
	if p.membership.list == nil || !p.alive {
		return
	}
	now := p.membership
	without := now
	without.list = slices.DeleteFunc(slices.Clone(now.list), func(m sched.Member) bool { return pub.byNumber[m.Worker.ID].node == n })
	pub.apply(p, without)
	pub.apply(p, now)
}
