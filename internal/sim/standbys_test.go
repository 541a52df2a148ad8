package sim_test

import (
	"context"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// Masters that die for good while tasks run cost no job, and each of their groups
// continues under a standby.
func TestMasterLosses(t *testing.T) {
	for _, name := range []string{"pigeon", "pigeon-sort", "pigeon-x"} {
		cfg := under(t, name, sim.Config{
			Params: sched.Params{Cutoff: sched.Second, Weight: 5, Reserved: 0.1}, Groups: []int{12, 10, 8}, Frontends: 4, Delay: sched.Millisecond / 2, Seed: 1,
			Losses: sim.MasterLosses{Every: 5 * sched.Second, Standby: sched.Second},
		})
		jobs := drawn().Simulated()
		out, err := sim.Run(context.Background(), jobs, cfg)
		if err != nil || out.Completed != len(jobs) {
			t.Errorf("%s: %+v, %v", name, out, err)
			continue
		}
		without := cfg
		without.Losses = sim.MasterLosses{}
		calm, err := sim.Run(context.Background(), jobs, without)
		if err != nil || out.Messages <= calm.Messages {
			t.Errorf("%s: %d messages with losses, %d without; %v", name, out.Messages, calm.Messages, err)
		}
	}
}

func TestMasterLossesRefused(t *testing.T) {
	base := sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{4, 4}, Frontends: 1, Seed: 1}
	for name, l := range map[string]sim.MasterLosses{
		"sparrow": {Every: 5, Standby: 1}, "hawk": {Every: 5, Standby: 1}, "pigeon": {Every: 5, Standby: 5}, "pigeon-x": {Every: 5},
	} {
		cfg := under(t, name, base)
		cfg.Losses = l
		if _, err := sim.Run(context.Background(), drawn().Simulated()[:3], cfg); err == nil {
			t.Errorf("%s with %+v is not refused", name, l)
		}
	}
}
