package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// forgetful is a distributor core that does not know which life it is in.
func forgetful(p sched.Policy) sched.Policy {
	build := p.NewDistributor
	p.NewDistributor = func(cfg sched.DistributorConfig) sched.DistributorCore {
		cfg.FirstAttempt = 0
		return forgetfulDistributor{build(cfg)}
	}
	return p
}

type forgetfulDistributor struct{ sched.DistributorCore }

func (d forgetfulDistributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if m.Kind == sched.Submit {
		again := *m
		again.Attempt = 0
		m = &again
	}
	d.DistributorCore.Step(now, from, m, out)
}

// trusting returns the policy with a master core that launches the tasks that it is sent
// again, as if no earlier master could have.
func trusting(p sched.Policy) sched.Policy {
	build := p.NewMaster
	p.NewMaster = func(cfg sched.MasterConfig) sched.MasterCore { return trustingMaster{build(cfg)} }
	return p
}

type trustingMaster struct{ sched.MasterCore }

func (m trustingMaster) Step(now sched.Time, from sched.Addr, msg *sched.Message, out *sched.Actions) {
	if msg.Kind == sched.Tasks && msg.Resent {
		again := *msg
		again.Resent = false
		msg = &again
	}
	m.MasterCore.Step(now, from, msg, out)
}

// The check that an attempt number starts once catches a broken distributor and a broken
// master, each within some seeds, and finds nothing in the ones that are not.
func TestNumbersThatStartTwiceAreCaught(t *testing.T) {
	const seeds = 200
	same := func(p sched.Policy) sched.Policy { return p }
	for _, c := range []struct {
		name, policy string
		kinds        sim.Kinds
		breakIt      func(sched.Policy) sched.Policy
		caught       bool
	}{
		{"a distributor without lives", "pigeon", sim.CrashFrontend | sim.Reorder, forgetful, true},
		{"a master that launches what is sent again", "pigeon", sim.CrashMaster | sim.Pause | sim.Partition, trusting, true},
		{"pigeon", "pigeon", sim.CrashFrontend | sim.CrashMaster | sim.Pause | sim.Partition | sim.Reorder, same, false},
		{"sparrow", "sparrow", sim.CrashFrontend | sim.CrashMaster | sim.Pause | sim.Partition | sim.Reorder, same, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := under(t, c.policy, sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{4, 4}, Frontends: 2, Delay: sched.Millisecond, Seed: 1})
			cfg.Policy = c.breakIt(cfg.Policy)
			caught := false
			for seed := uint64(1); seed <= seeds && !caught && (c.caught || seed <= 20); seed++ {
				r, err := sim.RunWithFaults(context.Background(), drawn().Simulated()[:30], cfg, sim.Faults{Seed: seed, Kinds: c.kinds, Until: 10 * sched.Second})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Violated(); err != nil {
					if caught = strings.Contains(err.Error(), "has started before"); !caught && !c.caught {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			}
			if caught != c.caught {
				t.Errorf("caught is %v", caught)
			}
		})
	}
}
