package chaos

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
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

// ofProcess are faults that a victim can have one of at a time.
var ofProcess = []string{history.Kill, history.Pause, history.Stop, history.HalfOpen, history.FullDisk, history.SlowDisk, history.BadDisk, history.NodeDisk, history.JournalLost}

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
		node := victim{cluster.NodeMonitor, draw.IntN(groups * nodesPerGroup)}
		if p.kind == history.GuardKill || p.kind == history.TaskKill || p.kind == history.NodeDisk {
			p.of = node
		}
		switch p.kind {
		case history.FullDisk:
			p.of = victim{cluster.Frontend, withSmallDisk}
		case history.SlowDisk, history.BadDisk, history.JournalLost:
			p.of = victim{cluster.Frontend, draw.IntN(frontends)}
		}
		p.lasts, p.amount = durationOf(p.kind, draw), draw.Float64()
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

// durationOf draws how long a fault lasts: shorter and longer than the silence after which
// a node is taken for lost.
func durationOf(kind string, draw *rand.Rand) time.Duration {
	short := draw.IntN(2) == 0
	x := draw.Float64()
	switch kind {
	case history.GuardKill, history.TaskKill:
		return 0
	case history.Kill, history.Stop, history.JournalLost:
		if short {
			return time.Duration(x * 0.5e9)
		}
		return time.Duration(0.5e9 + x*2.5e9)
	case history.Machine:
		return time.Duration(2e9 + x*8e9)
	case history.NATSLost, history.LeaderPause, history.LeaderCut, history.LeaderClock:
		return time.Duration(1e9 + x*6e9)
	case history.Rolling:
		return rollingLasts
	default:
		if short {
			return time.Duration(0.2e9 + x*1.3e9)
		}
		return time.Duration(2e9 + x*4e9)
	}
}
