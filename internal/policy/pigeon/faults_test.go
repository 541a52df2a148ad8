package pigeon_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

var rounds = flag.Int("rounds", 100, "seeds of each test with faults")

// scenario is a small cluster with its work, and the faults that happen to it.
type scenario struct {
	cfg    sim.Config
	faults sim.Faults
	jobs   []sim.Job
}

// scenarioOf draws a small cluster. Two thirds of each group serve every application and
// at most a third of it is reserved, so that every task can run somewhere once all faults
// are over.
func scenarioOf(r *rand.Rand, seed uint64) *scenario {
	all, builtIn := []string{"", "app"}, []string{""}
	groups, sizes := make([][]sim.Node, 1+r.IntN(3)), []int{}
	slots := 1 + r.IntN(2)
	for g := range groups {
		groups[g] = []sim.Node{{Slots: slots, Serves: all}, {Slots: slots, Serves: all}, {Slots: slots, Serves: builtIn}}
		if r.IntN(2) == 0 {
			groups[g] = append(groups[g], sim.Node{Slots: 1, Serves: []string{"app"}, Fixed: true, Reserved: r.IntN(2) == 0})
		}
		sizes = append(sizes, 3*slots)
	}
	s := &scenario{
		cfg: sim.Config{
			Policy: pigeon.Policy(), Seed: 1, Frontends: 1 + r.IntN(2), Groups: sizes, Delay: sched.Millisecond,
			Params: sched.Params{Cutoff: sched.Second, Weight: []int{0, 1, 2, 20}[r.IntN(4)], Reserved: []float64{0, 0.1, 0.34}[r.IntN(3)]},
		},
		faults: sim.Faults{Seed: seed, Kinds: sim.AllKinds, Until: 10 * sched.Second, Nodes: groups, Apps: all, MaxTasks: []int{0, 9}[r.IntN(2)]},
	}
	at := sched.Time(0)
	for line := range 4 + r.IntN(20) {
		at += sched.Time(r.Int64N(int64(sched.Second)))
		j := sim.Job{Line: line, Arrival: at, Long: r.IntN(2) == 0, Estimate: sched.Millisecond}
		for range 1 + r.IntN(7) {
			j.Durations = append(j.Durations, r.Int64N(int64(sched.Second)))
		}
		s.jobs = append(s.jobs, j)
	}
	s.drawOwners(sched.Rand(seed, 1))
	return s
}

// drawOwners gives the jobs of two of three scenarios owners and priorities, and some of
// the owners shares. None has a max, which the check of W does not know.
func (s *scenario) drawOwners(r *rand.Rand) {
	if r.IntN(3) == 0 {
		return
	}
	owners := []string{"", "u", "u/v", "u/w", "x"}
	for i := range s.jobs {
		s.jobs[i].Owner, s.jobs[i].Priority = owners[r.IntN(len(owners))], int32(r.IntN(3)) //nolint:gosec // below 3
	}
	if r.IntN(2) == 0 {
		s.cfg.Shares = []sched.Share{{Owner: "u", Weight: 0.5, Min: 0.3}, {Owner: "u/v", Weight: 3}}
		s.cfg.HalfLife = sched.Time(r.IntN(2)) * sched.Second
	}
}

// check runs the scenarios of the given number of seeds.
func check(t *testing.T, change func(*scenario, *rand.Rand)) {
	t.Helper()
	for seed := range uint64(*rounds) { //nolint:gosec // a count
		r := sched.Rand(seed, 0)
		s := scenarioOf(r, seed)
		change(s, r)
		report, err := sim.RunWithFaults(context.Background(), s.jobs, s.cfg, s.faults)
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Violated(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, report.History(200))
		}
	}
}

// docs/design.md, section 2: execution is at least once, acceptance exactly once,
// whatever comes late, twice or never, and whichever daemon dies.
func TestNothingIsLost(t *testing.T) {
	check(t, func(*scenario, *rand.Rand) {})
}

// The same with one application, where every worker serves every task: W holds in any
// window of tasks taken from the queues.
func TestWeightWhateverHappens(t *testing.T) {
	check(t, func(s *scenario, _ *rand.Rand) {
		s.faults.Weight, s.faults.Apps = s.cfg.Params.Weight, nil
		for _, g := range s.faults.Nodes {
			for i := range g {
				g[i] = sim.Node{Slots: g[i].Slots, Serves: []string{""}}
			}
		}
	})
}

// kindsSent counts what masters send that only the variants send.
type kindsSent map[sched.Kind]int

func (k kindsSent) observe(_ sched.MasterCore, _ *sched.Message, out []sched.Action) error {
	for i := range out {
		kind := out[i].Msg.Kind
		if kind == sched.Returned && out[i].Msg.Peer.Role != sched.Master {
			continue // not a move
		}
		k[kind]++
	}
	return nil
}

// variant draws pigeon-sort or pigeon-x with options. Classes are drawn, so half of
// them are wrong, and a short task passes the cutoff soon.
func variant(s *scenario, r *rand.Rand) {
	o := pigeon.XOptions()
	o.Guard, o.Canary, o.Tail = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(4) > 0
	if r.IntN(2) == 0 {
		o.Patience = 50 * sched.Millisecond
	}
	s.cfg.Params.Cutoff = 300 * sched.Millisecond
	if r.IntN(3) == 0 {
		s.cfg.Policy = pigeon.SortPolicy(o)
		return
	}
	s.cfg.Policy = pigeon.XPolicy(o)
	s.cfg.Params.Reserved, s.cfg.Params.Weight = 0, 0
}

// The same as TestNothingIsLost for the variants: masters that are lost while a task
// moves, workers that are lost with a suspended task, duplicates, cancels of tasks that
// moved or are suspended, frontends that restart. Each job completes once, and no
// daemon keeps anything of it.
func TestVariantsLoseNothing(t *testing.T) {
	kinds := kindsSent{}
	check(t, func(s *scenario, r *rand.Rand) {
		variant(s, r)
		s.faults.Observe = kinds.observe
	})
	for _, k := range []sched.Kind{sched.Spare, sched.Returned, sched.Preempt, sched.Continue, sched.Yield, sched.Reclass} {
		if kinds[k] == 0 {
			t.Errorf("no %s in any run: the test shows little", k)
		}
	}
	t.Logf("%d moves, %d suspensions, %d continued, %d canaries stopped, %d classes sent", kinds[sched.Returned], kinds[sched.Preempt],
		kinds[sched.Continue], kinds[sched.Yield], kinds[sched.Reclass])
}
