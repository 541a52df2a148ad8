package chaos

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
)

// victim is a daemon.
type victim struct {
	role   cluster.Role
	number int
}

// planned is a fault of the programme.
type planned struct {
	number int // from 1
	kind   string
	of     victim
	peer   victim        // of a partition
	at     time.Duration // after the beginning of the run
	lasts  time.Duration
	amount float64 // share of packets, seconds of delay, or how far in general: from 0 to 1
}

// weights of the roles: how often one of their daemons is a victim.
var weights = map[cluster.Role]int{cluster.NATS: 2, cluster.Master: 3, cluster.Frontend: 3, cluster.NodeMonitor: 2}

// plan draws the programme of faults from the seed.
func plan(o *Options, f fleet) (list []planned) {
	draw := rand.New(rand.NewPCG(o.Seed, 0xfa017)) //nolint:gosec // it is to be repeated
	all := f.daemons()
	var weighted []victim
	for _, v := range all {
		for range weights[v.role] {
			weighted = append(weighted, v)
		}
	}
	busy := map[victim]time.Duration{}
	if o.Rate == 0 {
		return nil
	}
	for at := time.Second; ; {
		at += time.Duration(draw.ExpFloat64() / o.Rate * 1e9)
		if at >= o.Lasts || o.Faults > 0 && len(list) == o.Faults {
			return list
		}
		p := planned{kind: o.Kinds[draw.IntN(len(o.Kinds))], of: weighted[draw.IntN(len(weighted))], peer: all[draw.IntN(len(all))], at: at, number: len(list) + 1}
		k := kindOf(p.kind) // the options were checked
		if node := draw.IntN(groups * nodesPerGroup); k.of != nil {
			p.of = k.of(node, draw)
		}
		p.lasts, p.amount = k.length(draw), draw.Float64()
		occupies := f.occupied(&p, draw)
		if p.of == p.peer || slices.ContainsFunc(occupies, func(v victim) bool { return busy[v] > at }) {
			continue // the next one comes later
		}
		for _, v := range occupies {
			busy[v] = at + p.lasts + 2*time.Second
		}
		list = append(list, p)
	}
}
