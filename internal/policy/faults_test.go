package policy_test

import (
	"context"
	"flag"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

var (
	rounds = flag.Int("rounds", 10, "seeds of faults under each policy")
	first  = flag.Uint64("first", 1, "the first of them")
)

// specs are all policies, with settings under which cores do what they seldom do.
func specs() []string {
	return append(policy.Names(), "pigeon:weight=3", "pigeon:order=fanout", "sparrow:cancel=yes,ratio=1", "hawk:tries=2", "hawk:ratio=1", "eagle:least=1",
		"peacock:interval=1ms", "peacock:printed=yes", "kairos:q=1,s=0", "kairos:q=2,quantum=200ms", "kairos:cores=2")
}

// work draws jobs of both classes, of tasks that take up to two seconds.
func work(seed uint64) []sim.Job {
	const count = 12
	r := sched.Rand(seed, 0)
	var jobs []sim.Job
	at := sched.Time(0)
	for line := range count {
		j := sim.Job{Line: line + 1, Arrival: at, Long: r.IntN(3) == 0, Estimate: sched.Time(1+r.IntN(3)) * sched.Second / 2}
		for range 1 + r.IntN(6) {
			j.Durations = append(j.Durations, r.Int64N(int64(2*sched.Second)))
		}
		jobs = append(jobs, j)
		at += sched.Time(r.Int64N(int64(sched.Second)))
	}
	return jobs
}

// docs/design.md, section 2, rule 1: "Execution is at least once, acceptance exactly
// once." Whatever messages are late or repeated and whatever processes pause or die,
// every job ends, and every task has one accepted result.
func TestNothingIsLost(t *testing.T) {
	for _, spec := range specs() {
		t.Run(spec, func(t *testing.T) {
			p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second, Reserved: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			for seed := *first; seed < *first+uint64(*rounds); seed++ { //nolint:gosec // a count
				cfg := sim.Config{Policy: p, Params: params, Groups: []int{4, 4}, Frontends: 2, Delay: sched.Millisecond / 2, Seed: seed}
				faults := sim.Faults{Seed: seed, Kinds: sim.AllKinds, Until: 15 * sched.Second}
				r, err := sim.RunWithFaults(context.Background(), work(seed), cfg, faults)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Violated(); err != nil {
					t.Fatalf("-first %d: %v\n%s", seed, err, r.History(100))
				}
			}
		})
	}
}
