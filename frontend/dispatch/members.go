package dispatch

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// stepMembers steps the live workers into the core when they have changed.
func (p *peers) stepMembers() {
	members := make([]sched.Member, 0, len(p.members))
	var of sched.Addr
	if p.opts.Policy.NewMaster != nil {
		of = sched.Addr{Role: sched.Master}
	}
	for _, n := range p.nodes { // sorted below
		for _, number := range n.Numbers {
			if number > 0 && !n.excluded {
				members = append(members, sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: number - 1}, Master: of, Node: n.Name, Draining: n.Draining})
			}
		}
	}
	slices.SortFunc(members, func(a, b sched.Member) int { return int(a.Worker.ID) - int(b.Worker.ID) })
	resend := p.doubtful && p.listed
	if p.members != nil && !resend && slices.Equal(members, p.members) {
		return
	}
	p.members, p.doubtful = members, p.doubtful && !resend
	p.Step(&sched.Message{Kind: sched.Members, More: &sched.More{Members: members}, Resent: resend})
}

// lostContact makes the core probe again for all unbound tasks. Workers may have dropped
// the reservations of this frontend: it may have been off the membership, and back on it
// before it read the membership.
func (p *peers) lostContact() {
	if p.opts.Policy.SingleMaster() {
		p.doubtful = true
		p.stepMembers()
	}
}

// onMembership reports whether this process is on the membership. While it is not, nodes
// drop its reservations.
func (p *peers) onMembership() bool {
	return slices.ContainsFunc(p.membership.Frontends, func(f wire.MemberFrontend) bool {
		return f.Name == p.opts.Self.Name && f.Incarnation == p.process.Incarnation
	})
}

// applyFrontends removes the other frontends that have left and adds the new ones. The
// load that a removed frontend had shared is withdrawn from the core.
func (p *peers) applyFrontends(left []wire.Ref) {
	listed := p.onMembership()
	p.doubtful = p.doubtful || (p.listed && !listed)
	p.listed = listed
	for _, f := range p.membership.Frontends {
		if f.Name != p.opts.Self.Name && p.others[f.Name] != f {
			p.others[f.Name] = f
			p.sessions.Enter(frontendRef(f.Name), f.Incarnation)
			p.links.Add(frontendRef(f.Name), f.Address, f.Incarnation)
		}
	}
	for _, peer := range left {
		if peer.Role != sched.Distributor {
			continue
		}
		delete(p.others, peer.Name)
		p.links.Remove(peer)
		p.stepFrom(p.opts.Addrs.Addr(peer), &sched.Message{Kind: sched.LoadShare, More: &sched.More{}})
	}
}
