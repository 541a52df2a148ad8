package shares_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

// docs/policies.md: of two owners, the one that "runs most for its weight, compared where the paths
// part", whatever the depths of the paths.
func TestExcess(t *testing.T) {
	g := newGroup(t, 12, sched.Share{Owner: "t", Weight: 2}, sched.Share{Owner: "t/a", Weight: 3}, sched.Share{Owner: "u", Weight: 1})
	leaves := map[string]*shares.Node{}
	for owner, running := range map[string]int{"t/a": 3, "t/b": 2, "u/c": 1, "u/d": 1, "v": 3, "w/x/y": 2} {
		for range running {
			leaves[owner] = g.launch(owner, sched.Long, 1)
		}
	}
	for _, c := range []struct {
		a, b string
		want int64 // in tasks times weight
	}{
		{"t/a", "t/b", 3*1 - 2*3},
		{"u/c", "u/d", 0},
		{"t/a", "u/c", 5*1 - 2*2}, // t runs 5, u 2
		{"t/b", "u/d", 5*1 - 2*2},
		{"t/b", "v", 5*1 - 3*2},
		{"t/a", "w/x/y", 5*1 - 2*2},
		{"v", "w/x/y", 3*1 - 2*1},
		{"v", "v", 0},
	} {
		if got := shares.Excess(leaves[c.a], leaves[c.b]); got != c.want*1_000_000 {
			t.Errorf("%s exceeds %s by %d, want %d", c.a, c.b, got, c.want*1_000_000)
		}
		if got := shares.Excess(leaves[c.b], leaves[c.a]); got != -c.want*1_000_000 {
			t.Errorf("%s exceeds %s by %d, want %d", c.b, c.a, got, -c.want*1_000_000)
		}
	}
}

// Max is rounded down, but never to nothing; min is rounded up. 0.1 x 30 is 3, although it is a little
// more in binary fractions.
func TestLimitsAreRounded(t *testing.T) {
	for _, c := range []struct {
		workers       int
		max, min      float64
		most, atLeast int
	}{
		{10, 0.25, 0.25, 2, 3}, {30, 0.1, 0.1, 3, 3}, {3, 0.1, 0.1, 1, 1}, {10, 0.7, 0.3, 7, 3}, {8, 1, 0, 8, 0},
	} {
		g := newGroup(t, c.workers, sched.Share{Owner: "a", Weight: 1, Max: c.max}, sched.Share{Owner: "b", Weight: 1, Min: c.min})
		a, b, most, atLeast := g.Hold("a"), g.Hold("b"), 0, 0
		for ; g.MayLaunch(a) && most < 100; most++ {
			g.Launch(a, sched.Short, 1, false)
		}
		for ; b.Below() && atLeast < 100; atLeast++ {
			g.Launch(b, sched.Short, 1, false)
		}
		if most != c.most || atLeast != c.atLeast {
			t.Errorf("of %d workers a max of %v is %d, want %d; a min of %v is %d, want %d", c.workers, c.max, most, c.most, c.min, atLeast, c.atLeast)
		}
	}
}
