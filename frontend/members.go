package frontend

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// stepMembers steps the live workers into the core when they have changed.
func (o *owner) stepMembers() {
	p := &o.peers
	members := make([]sched.Member, 0, len(p.members))
	var of sched.Addr
	if o.plan.NewMaster != nil {
		of = sched.Addr{Role: sched.Master}
	}
	for _, n := range p.nodes { // sorted below
		for _, number := range n.Numbers {
			if number > 0 && !n.excluded {
				members = append(members, sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: number - 1}, Master: of})
			}
		}
	}
	slices.SortFunc(members, func(a, b sched.Member) int { return int(a.Worker.ID) - int(b.Worker.ID) })
	again := p.doubtful && p.listed
	if p.members != nil && !again && slices.Equal(members, p.members) {
		return
	}
	p.members, p.doubtful = members, p.doubtful && !again
	o.stepShell(&sched.Message{Kind: sched.Members, More: &sched.More{Members: members}, Resent: again})
}

// lostContact assumes that workers have dropped what this frontend reserved: it may have
// been off the membership, and back on it before it read one.
func (o *owner) lostContact() {
	if o.plan.rolled() {
		o.peers.doubtful = true
		o.stepMembers()
	}
}

// onMembership reports whether the membership has this process, so that its readers take
// its messages. While it has not, some of them drop its reservations.
func (o *owner) onMembership() bool {
	return slices.ContainsFunc(o.peers.membership.Frontends, func(f wire.MemberFrontend) bool {
		return f.Name == o.self.Name && f.Incarnation == o.incarnation
	})
}

// applyFrontends removes the other frontends that have left and adds those that are new.
// What one that has left reported of its jobs does not count any more.
func (o *owner) applyFrontends(left []wire.Ref) {
	p := &o.peers
	listed := o.onMembership()
	p.doubtful = p.doubtful || (p.listed && !listed)
	p.listed = listed
	for _, f := range p.membership.Frontends {
		if f.Name != o.self.Name && p.others[f.Name] != f {
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
		o.step(o.addrs.Addr(peer), &sched.Message{Kind: sched.LoadShare, More: &sched.More{}})
	}
}

// otherFrontends returns the names of the other frontends, in order.
func (o *owner) otherFrontends() []string {
	names := make([]string, 0, len(o.peers.others))
	for name := range o.peers.others {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
