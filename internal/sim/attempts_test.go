package sim_test

import (
	"context"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// The loss of a master or of a frontend is no reason to start a task again that its node
// runs well. Nor is the pause of a master: after it, in seeds 202 and 214 under hawk, the node
// was counted as lost.
func TestLostMastersStartNothingAgain(t *testing.T) {
	most := uint64(50)
	if testing.Short() {
		most = 10
	}
	seeds := []uint64{202, 214}
	for seed := range most {
		seeds = append(seeds, seed+1)
	}
	for _, policy := range []string{"pigeon", "pigeon-sort", "pigeon-x", "hawk", "fifo", "priority"} {
		t.Run(policy, func(t *testing.T) {
			cfg := under(t, policy, sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{40, 40}, Frontends: 2, Delay: sched.Millisecond, Seed: 1})
			for _, seed := range seeds {
				jobs := drawn().Simulated()[:20]
				for i := range jobs {
					for k := range jobs[i].Durations {
						jobs[i].Durations[k] = int64(20 * sched.Second)
					}
				}
				r, err := sim.RunWithFaults(context.Background(), jobs, cfg, sim.Faults{Seed: seed, Kinds: sim.CrashFrontend | sim.CrashMaster | sim.Pause, Until: 20 * sched.Second})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Violated(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}
