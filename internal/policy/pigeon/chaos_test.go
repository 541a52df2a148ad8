package pigeon_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/coretest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// cluster draws a small cluster. Two thirds of each group serve every
// application and at most a third of it is reserved, so that every task can run
// somewhere once all faults are over.
func cluster(t *rapid.T) coretest.Config {
	all, builtIn := []string{"", "app"}, []string{""}
	groups := make([][]coretest.Node, rapid.IntRange(1, 3).Draw(t, "groups"))
	slots := rapid.IntRange(1, 2).Draw(t, "slots")
	for g := range groups {
		groups[g] = []coretest.Node{{Slots: slots, Serves: all}, {Slots: slots, Serves: all}, {Slots: slots, Serves: builtIn}}
		if rapid.Bool().Draw(t, "fixed") {
			groups[g] = append(groups[g], coretest.Node{Slots: 1, Serves: []string{"app"}, Fixed: true, Reserved: rapid.Bool().Draw(t, "reserved")})
		}
	}
	return coretest.Config{
		Policy: pigeon.Policy(), Seed: 1, Distributors: rapid.IntRange(1, 2).Draw(t, "distributors"), Groups: groups,
		Params: sched.Params{
			Cutoff: sched.Second, Weight: rapid.SampledFrom([]int{0, 1, 2, 20}).Draw(t, "weight"),
			Reserved: rapid.SampledFrom([]float64{0, 0.1, 0.34}).Draw(t, "share"),
		},
		MaxTasks: rapid.SampledFrom([]int{0, 9}).Draw(t, "limit"),
		AtRest:   atRest,
	}
}

// atRest: after everything, workers idle + busy = workers registered, and none is
// busy.
func atRest(master sched.Core, workers int) error {
	m := master.(*pigeon.Master)
	idle := m.Index().Idle(queue.General) + m.Index().Idle(queue.Reserved)
	if idle != workers || m.Queued() != 0 {
		return fmt.Errorf("%d of %d workers are idle, %d tasks wait", idle, workers, m.Queued())
	}
	return nil
}

// design.md, section 2: execution is at least once, acceptance exactly once,
// whatever comes late, twice or never, and whoever dies.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { coretest.Chaos(t, cluster(t), []string{"", "app"}) })
}
