package frontend

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// tellMembers tells the core which workers there are, when that has changed.
func (o *owner) tellMembers() {
	p := &o.peers
	members := make([]sched.Member, 0, len(p.members))
	var of sched.Addr
	if o.plan.NewMaster != nil {
		of = sched.Addr{Role: sched.Master}
	}
	for _, n := range p.nodes { // sorted below
		for _, number := range n.Numbers {
			if number > 0 && !n.barred {
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

// wasSilent reckons with workers that have let go of what this frontend reserved:
// it may have been off the roll, and back before it looked.
func (o *owner) wasSilent() {
	if o.plan.rolled() {
		o.peers.doubtful = true
		o.tellMembers()
	}
}

// onRoll reports whether the roll names this process: those who read it take what it
// says. While it does not, some let go of its reservations.
func (o *owner) onRoll() bool {
	return slices.ContainsFunc(o.peers.roll.Frontends, func(f wire.MemberFrontend) bool {
		return f.Name == o.self.Name && f.Incarnation == o.incarnation
	})
}

// enrollFrontends takes the other frontends in and out. What one that has gone
// said last of its jobs does not count any more.
func (o *owner) enrollFrontends(graceful bool) {
	p := &o.peers
	listed := o.onRoll()
	p.doubtful = p.doubtful || (p.listed && !listed)
	p.listed = listed
	named := make(map[string]bool, len(p.roll.Frontends))
	for _, f := range p.roll.Frontends {
		if f.Name == o.self.Name {
			continue
		}
		named[f.Name] = true
		if p.others[f.Name] != f {
			p.others[f.Name] = f
			p.visitors.enter(frontendRef(f.Name), f.Incarnation)
			p.links.Add(frontendRef(f.Name), f.Address, f.Incarnation)
		}
	}
	for _, name := range o.otherFrontends() {
		if named[name] || graceful {
			continue
		}
		delete(p.others, name)
		p.visitors.leave(frontendRef(name))
		p.links.Remove(frontendRef(name))
		o.step(o.addrs.Addr(frontendRef(name)), &sched.Message{Kind: sched.LoadShare, More: &sched.More{}})
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
