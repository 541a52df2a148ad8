package replay

import (
	"context"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestSharesOfARun starts the cluster of a run with shares and asks a frontend for them. A
// policy that shares nothing starts without.
func TestSharesOfARun(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]float64{"pigeon": 3, "hawk": 0} {
		d := &experiment.Description{
			Trace: "gen:uniform,jobs=5", Policies: []string{policy}, Groups: []int{2}, Frontends: 1, Cutoff: time.Second, Seed: 1, Seeds: 1,
			Shares: []sched.Share{{Owner: "team", Weight: 3}}, HalfLife: time.Hour,
		}
		d.Workload.Speedup = 4
		runs, err := d.Runs()
		if err != nil {
			t.Fatal(err)
		}
		c, err := cluster.Start(t.Context(), Spec(&runs[0]))
		if err != nil {
			t.Fatal(policy, err)
		}
		weight, halfLife := shareOf(t, c.Frontends()[0], "team")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if weight != want || policy == "pigeon" && halfLife != 900 {
			t.Errorf("%s: weight %v, want %v; half-life %v s", policy, weight, want, halfLife)
		}
	}
}

// shareOf returns the weight of an owner and the half-life in the first group.
func shareOf(t *testing.T, address, owner string) (weight, halfLife float64) {
	t.Helper()
	pool, err := client.New(client.Options{Name: "frontend", Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := wire.NewSchedulerClient(pool).Shares(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Groups[0].Owners {
		if o.Owner == owner {
			weight = o.Weight
		}
	}
	return weight, s.Groups[0].HalfLife
}
