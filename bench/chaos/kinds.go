package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
)

// kind is what the options, the programme and the injector know about a kind of fault. A new one
// is a constant of package history, an entry of the table below and the method that carries it
// out. The checks of package history state which kinds excuse what they find.
type kind struct {
	name     string
	network  bool // it needs hosts and mounts of the daemons' own
	standbys bool // only a cluster with standbys survives it
	shifts   bool // it needs daemons whose clocks can be moved (tools/wallshift.sh)
	alone    bool // its victim has no other fault of such a kind meanwhile
	// of draws the victim; node is the suggested node. Nil: any daemon.
	of func(node int, draw *rand.Rand) victim
	// lasts returns how long it lasts, from a share drawn from 0 to 1; nil: shorter or longer
	// than the silence after which a node counts as lost.
	lasts func(short bool, share float64) time.Duration
	// inject carries it out from its beginning to its end, and records in f what differs from
	// the plan.
	inject injection
}

type injection func(in *injector, ctx context.Context, p planned, f *history.Fault) error

// kinds are all kinds of faults. The programme of a seed depends on their order.
var kinds = []kind{
	{name: history.Kill, alone: true, lasts: untilRestart, inject: asPlanned((*injector).killed)},
	{name: history.Pause, alone: true, inject: asPlanned((*injector).paused)},
	{name: history.Stop, alone: true, lasts: untilRestart, inject: (*injector).terminated},
	{name: history.GuardKill, of: ofNode, lasts: atOnce, inject: asPlanned((*injector).guardKilled)},
	{name: history.TaskKill, of: ofNode, lasts: atOnce, inject: (*injector).taskKilled},
	{name: history.SlowDisk, alone: true, of: ofFrontend, inject: asPlanned((*injector).badDisk)},
	{name: history.BadDisk, alone: true, of: ofFrontend, inject: asPlanned((*injector).badDisk)},
	{name: history.NodeDisk, alone: true, of: ofNode, inject: asPlanned((*injector).nodeDisk)},
	{name: history.JournalLost, alone: true, of: ofFrontend, lasts: untilRestart, inject: asPlanned((*injector).lose)},
	{name: history.WallJump, shifts: true, inject: asPlanned((*injector).wallJump)},

	{name: history.Partition, network: true, inject: (*injector).network},
	{name: history.OneWay, network: true, inject: (*injector).network},
	{name: history.Isolation, network: true, inject: (*injector).network},
	{name: history.HalfOpen, network: true, alone: true, inject: (*injector).network},
	{name: history.Delay, network: true, inject: (*injector).network},
	{name: history.Loss, network: true, inject: (*injector).network},
	{name: history.Repeat, network: true, inject: (*injector).network},
	{name: history.FullDisk, network: true, alone: true, of: ofSmallDisk, inject: asPlanned((*injector).full)},

	{name: history.Machine, standbys: true, alone: true, lasts: between(2e9, 8e9), inject: asPlanned((*injector).lose)},
	{name: history.NATSLost, standbys: true, lasts: between(1e9, 6e9), inject: (*injector).natsLost},
	{name: history.LeaderPause, standbys: true, lasts: between(1e9, 6e9), inject: ofLeader((*injector).paused)},
	{name: history.Rolling, standbys: true, lasts: rollingRestart, inject: (*injector).rolling},
	{name: history.LeaderClock, standbys: true, shifts: true, lasts: between(1e9, 6e9), inject: ofLeader((*injector).slowClock)},
	{name: history.LeaderCut, standbys: true, network: true, lasts: between(1e9, 6e9), inject: (*injector).leaderCut},
}

// kindOf returns the kind with a name, one without a name if there is none.
func kindOf(name string) kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}
	}
	return kinds[i]
}

// length draws how long a fault lasts.
func (k *kind) length(draw *rand.Rand) time.Duration {
	short, lasts := draw.IntN(2) == 0, k.lasts
	if lasts == nil {
		lasts = aroundTheSilence
	}
	return lasts(short, draw.Float64())
}

// Kinds returns the names of all kinds of faults.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// NeedsStandbys reports whether only a cluster with standbys survives a kind of fault.
func NeedsStandbys(name string) bool {
	return kindOf(name).standbys
}

// NeedsNetwork reports whether a kind of fault needs hosts and mounts of the daemons' own.
func NeedsNetwork(name string) bool {
	return kindOf(name).network
}

func ofNode(node int, _ *rand.Rand) victim { return victim{cluster.NodeMonitor, node} }

func ofFrontend(_ int, draw *rand.Rand) victim {
	return victim{cluster.Frontend, draw.IntN(frontends)}
}

func ofSmallDisk(int, *rand.Rand) victim { return victim{cluster.Frontend, withSmallDisk} }

// atOnce is the length of a fault that is over when it has begun.
func atOnce(bool, float64) time.Duration { return 0 }

// untilRestart is the length of a fault after which the daemon is started again.
func untilRestart(short bool, share float64) time.Duration {
	if short {
		return time.Duration(share * 0.5e9)
	}
	return time.Duration(0.5e9 + share*2.5e9)
}

// aroundTheSilence is shorter or longer than the silence after which a node counts as lost.
func aroundTheSilence(short bool, share float64) time.Duration {
	if short {
		return time.Duration(0.2e9 + share*1.3e9)
	}
	return time.Duration(2e9 + share*4e9)
}

// between returns lengths from the least on, evenly over a range, in nanoseconds.
func between(least, over float64) func(bool, float64) time.Duration {
	return func(_ bool, share float64) time.Duration { return time.Duration(least + share*over) }
}

func rollingRestart(bool, float64) time.Duration { return rollingLasts }

// asPlanned carries out a fault exactly as planned.
func asPlanned(carryOut func(*injector, context.Context, planned) error) injection {
	return func(in *injector, ctx context.Context, p planned, _ *history.Fault) error {
		return carryOut(in, ctx, p)
	}
}

// ofLeader carries out a fault at the master that leads the group of the victim.
func ofLeader(carryOut func(*injector, context.Context, planned) error) injection {
	return func(in *injector, ctx context.Context, p planned, f *history.Fault) (err error) {
		if p.of, err = in.leader(ctx, p.of.number/(1+in.fleet.standbys)); err != nil {
			return err
		}
		f.Victim = in.name(p.of)
		return carryOut(in, ctx, p)
	}
}
