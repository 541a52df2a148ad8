package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
)

// fleet is how many daemons of each role a run has.
type fleet struct {
	groups    int // masters, without standbys
	standbys  int // of each master
	nats      int
	frontends int // with standbys
}

func fleetOf(o *Options, groups int) fleet {
	if o.Standbys {
		return fleet{groups: groups, standbys: 1, nats: natsServers, frontends: 2 * frontends}
	}
	return fleet{groups: groups, nats: 1, frontends: frontends}
}

// natsServers are those of a cluster with standbys.
const natsServers = 3

// daemons lists all daemons.
func (f fleet) daemons() (all []victim) {
	for _, of := range []struct {
		role  cluster.Role
		count int
	}{{cluster.NATS, f.nats}, {cluster.Master, f.groups * (1 + f.standbys)}, {cluster.Frontend, f.frontends}, {cluster.NodeMonitor, groups * nodesPerGroup}} {
		for i := range of.count {
			all = append(all, victim{of.role, i})
		}
	}
	return all
}

// mastersOf lists the masters of a group.
func (f fleet) mastersOf(group int) (list []victim) {
	for k := range 1 + f.standbys {
		list = append(list, victim{cluster.Master, group*(1+f.standbys) + k})
	}
	return list
}

// nodesOf lists the nodes of a master's group.
func (f fleet) nodesOf(group int) (list []victim) {
	of := groups * nodesPerGroup / f.groups
	for k := range of {
		list = append(list, victim{cluster.NodeMonitor, group*of + k})
	}
	return list
}

// workers returns the number of workers of each group.
func (f fleet) workers() map[int]int {
	of := map[int]int{}
	for group := range f.groups {
		of[group] = slotsPerNode * len(f.nodesOf(group))
	}
	return of
}

// everyDaemon stands for all daemons: one rolling restart at a time.
var everyDaemon = victim{"", -1}

// rollingLasts is about how long a rolling restart takes.
const rollingLasts = 20 * time.Second

// occupied draws what a fault affects beyond its victim, and returns the daemons that have no
// other fault of their process meanwhile. One disk of three NATS servers may be gone at a
// time: two of them hold the acknowledged data.
func (f fleet) occupied(p *planned, draw *rand.Rand) []victim {
	servers := []victim{}
	for i := range f.nats {
		servers = append(servers, victim{cluster.NATS, i})
	}
	switch p.kind {
	case history.NATSLost:
		p.of = servers[draw.IntN(f.nats)]
		p.peer = victim{}
		if p.amount > 0.5 {
			p.peer = servers[(p.of.number+1)%f.nats]
		}
		return servers
	case history.LeaderPause, history.LeaderCut, history.LeaderClock:
		p.of = victim{cluster.Master, draw.IntN(f.groups) * (1 + f.standbys)}
		return f.mastersOf(p.of.number / (1 + f.standbys))
	case history.Rolling:
		return []victim{everyDaemon} // others may have faults meanwhile
	case history.Machine:
		if p.of.role == cluster.NATS {
			return servers
		}
	}
	if kindOf(p.kind).alone {
		return []victim{p.of}
	}
	return nil
}
