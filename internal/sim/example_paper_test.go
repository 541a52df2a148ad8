package sim_test

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// jobs returns a workload of jobs that arrive together, in order, with the given keys and
// durations in seconds.
func jobs(keys []int, durations ...[]int64) *workload.Workload {
	w := &workload.Workload{Name: "example"}
	for i, list := range durations {
		j := workload.Job{Line: keys[i], Estimate: int64(sched.Second)}
		for _, d := range list {
			j.Durations = append(j.Durations, d*int64(sched.Second))
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// keys finds three keys whose draws under seed 1 give the split of section 4.1: the
// first block of A and all of B to the same of two groups, C to the other.
func keys() []int {
	firstGroup := func(key int) int { return sched.Rand(1, uint64(key)).Perm(2)[0] }
	var found []int
	for key, want := 1, []int{0, 0, 1}; len(found) < 3; key++ {
		if firstGroup(key) == want[len(found)] {
			found = append(found, key)
		}
	}
	return found
}

// Section 4.1: "4 workers, no delay, no reservation; job A {20,1,1,10,10,10}, then B
// {2}, C {2}. Two groups, A's first three tasks to group one and the others to
// group two, B to one, C to two: completion 20, 4, 12. One central queue: 20, 12,
// 13."
func TestWorkedExample(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []int
		want   []sched.Time
	}{
		{"two groups", []int{2, 2}, []sched.Time{20, 4, 12}},
		{"one central queue", []int{4}, []sched.Time{20, 12, 13}},
	} {
		w := jobs(keys(), []int64{20, 1, 1, 10, 10, 10}, []int64{2}, []int64{2})
		o := run(t, w, sim.Config{
			Policy: pigeon.Policy(), Params: sched.Params{Cutoff: sched.Second}, Groups: c.groups, Frontends: 1, Seed: 1,
		})
		var got []sched.Time
		for i := range o.Jobs {
			got = append(got, o.Jobs[i].Completion/sched.Second)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: completion %v, want %v", c.name, got, c.want)
		}
	}
}

// Unequal groups receive equal shares of each job, because the paper's distributor does
// not know their sizes: under a load that exceeds the capacity of a small group, jobs
// wait for it.
func TestUnequalGroups(t *testing.T) {
	w, err := workload.Open("gen:uniform,jobs=400,load=0.9,workers=12,fanout=12,spread=0,mean=100ms")
	if err != nil {
		t.Fatal(err)
	}
	mean := func(groups ...int) float64 {
		cfg := ec2(groups...)
		cfg.Params.Reserved = 0
		o, sum := run(t, w, cfg), 0.0
		for i := range o.Jobs {
			sum += float64(o.Jobs[i].Completion)
		}
		return sum / float64(len(o.Jobs))
	}
	if even, uneven := mean(4, 4, 4), mean(6, 4, 2); uneven < 3*even {
		t.Errorf("mean completion %.3f s with groups of 6, 4 and 2, %.3f s with equal ones", uneven/1e9, even/1e9)
	}
}
