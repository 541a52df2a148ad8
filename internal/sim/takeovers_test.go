package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// Former masters and former frontends that run on are caught where nothing refuses them,
// and do no harm where the epoch of launches and the writer of the journal are checked.
func TestFences(t *testing.T) {
	const seeds = 200 // at most, until something is found
	always := uint64(20)
	if testing.Short() {
		always = 5
	}
	for _, c := range []struct {
		name, policy, caught string
		kinds                sim.Kinds
	}{
		{"masters", "pigeon", "after the one that follows it", sim.Failover | sim.Reorder | sim.Drift},
		{"masters of kairos", "kairos", "after the one that follows it", sim.Failover | sim.Reorder | sim.Drift},
		{"frontends", "pigeon", "accepted results", sim.Takeover | sim.Reorder | sim.Drift},
		{"frontends that probe", "sparrow", "accepted results", sim.Takeover | sim.Reorder | sim.Drift},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := under(t, c.policy, sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{4, 4}, Frontends: 2, Delay: sched.Millisecond, Seed: 1})
			found := 0
			for seed := uint64(1); seed <= seeds && (found == 0 || seed <= always); seed++ {
				for _, off := range []bool{false, true} {
					r, err := sim.RunWithFaults(context.Background(), drawn().Simulated()[:30], cfg, sim.Faults{Seed: seed, Kinds: c.kinds, Until: 10 * sched.Second, NoFence: off})
					if err != nil {
						t.Fatal(err)
					}
					switch err := r.Violated(); {
					case err != nil && !off:
						t.Fatalf("seed %d: %v\n%s", seed, err, r.HistoryOf(err, 30))
					case err != nil && strings.Contains(err.Error(), c.caught):
						found++
					case err != nil:
						t.Logf("seed %d, without the fence: %v", seed, err)
					}
				}
			}
			if found == 0 {
				t.Errorf("without the fence nothing was found in %d seeds", seeds)
			}
		})
	}
}
