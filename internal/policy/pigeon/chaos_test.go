package pigeon_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/coretest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
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

// weightWatch counts, for each master, the short tasks in a row that general
// workers took from the queues while long ones waited.
type weightWatch struct {
	weight   int
	reserved map[sched.Core]map[sched.Addr]bool
	passed   map[sched.Core]int
}

// observe sees a master's step. Tasks that come in, or in again, may find a worker
// idle; all other launches are taken from the queues.
func (w *weightWatch) observe(master sched.Core, in *sched.Message, out []sched.Action) error {
	if w.reserved[master] == nil {
		w.reserved[master] = map[sched.Addr]bool{}
	}
	arrived := in.Kind == sched.Tasks || in.Kind == sched.Refused || in.Kind == sched.Timeout
	for _, a := range out {
		switch {
		case a.Msg.Kind == sched.SetReserved:
			w.reserved[master][a.To] = a.Msg.Reserved
		case arrived || a.Msg.Kind != sched.Launch || w.reserved[master][a.To]:
		case a.Msg.Class == sched.Long || master.(*pigeon.Master).Index().Queued(sched.Long) == 0:
			w.passed[master] = 0
		default:
			w.passed[master]++
		}
	}
	if w.weight > 0 && w.passed[master] >= w.weight {
		return fmt.Errorf("general workers took %d short tasks in a row, and W is %d", w.passed[master], w.weight)
	}
	return nil
}

// atRest: after everything, workers idle + busy = workers registered, and none is
// busy.
func atRest(master sched.Core, workers int) error {
	m := master.(*pigeon.Master)
	idle := m.Index().Idle(sched.General) + m.Index().Idle(sched.Reserved)
	if idle != workers || m.Queued() != 0 {
		return fmt.Errorf("%d of %d workers are idle, %d tasks wait", idle, workers, m.Queued())
	}
	return nil
}

// design.md, section 2: execution is at least once, acceptance exactly once,
// whatever comes late, twice or never, and whoever dies. Go test's -short makes
// it shorter; -rapid.checks=N multiplies it.
func TestNothingIsLost(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		rapid.Check(t, func(t *rapid.T) { coretest.Chaos(t, cluster(t), []string{"", "app"}) })
	}
}

// The same with one application, where every worker serves every task: W holds in
// any window of tasks taken from the queues.
func TestWeightWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := cluster(t)
		w := weightWatch{cfg.Params.Weight, map[sched.Core]map[sched.Addr]bool{}, map[sched.Core]int{}}
		cfg.Observe = w.observe
		for _, g := range cfg.Groups {
			for i := range g {
				g[i] = coretest.Node{Slots: g[i].Slots, Serves: []string{""}}
			}
		}
		coretest.Chaos(t, cfg, []string{""})
	})
}
