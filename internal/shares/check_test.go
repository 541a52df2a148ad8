package shares_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

func TestCheck(t *testing.T) {
	w := func(owner string, weight float64) sched.Share { return sched.Share{Owner: owner, Weight: weight} }
	for _, c := range []struct {
		name  string
		list  []sched.Share
		fault string // "": none
	}{
		{"nothing", nil, ""},
		{"good", []sched.Share{{Owner: "a", Weight: 2, Max: 0.5, Min: 0.5}, w("a/b", 0.001), w("c", 1e6)}, ""},
		{"minima that sum to 1 with rounding", []sched.Share{{Owner: "a", Weight: 1, Min: 0.7}, {Owner: "b", Weight: 1, Min: 0.2}, {Owner: "c", Weight: 1, Min: 0.1}}, ""},
		{"no owner", []sched.Share{w("", 1)}, "names no owner"},
		{"weight 0", []sched.Share{w("a", 0)}, `weight of owner "a" is 0; a weight is from 0.001 to 1000000`},
		{"negative weight", []sched.Share{w("a", -1)}, `"a" is -1`},
		{"too light", []sched.Share{w("a", 1e-4)}, `"a" is 0.0001`},
		{"too heavy", []sched.Share{w("a", 2e6)}, `"a" is 2e+06`},
		{"weight NaN", []sched.Share{w("a", math.NaN())}, `"a" is NaN`},
		{"weight Inf", []sched.Share{w("a", math.Inf(1))}, `"a" is +Inf`},
		{"max above 1", []sched.Share{{Owner: "a", Weight: 1, Max: 1.5}}, `max of owner "a" is 1.5`},
		{"max NaN", []sched.Share{{Owner: "a", Weight: 1, Max: math.NaN()}}, `max of owner "a" is NaN`},
		{"min below 0", []sched.Share{{Owner: "a", Weight: 1, Min: -0.1}}, `min of owner "a" is -0.1`},
		{"min above 1", []sched.Share{{Owner: "a", Weight: 1, Min: 1.1}}, `min of owner "a" is 1.1`},
		{"min above max", []sched.Share{{Owner: "a", Weight: 1, Max: 0.2, Min: 0.3}}, `"a" is 0.3, above its max, 0.2`},
		{"twice", []sched.Share{w("a", 1), w("b", 1), w("a", 2)}, `owner "a" has two shares`},
		{"minima above all slots", []sched.Share{{Owner: "a", Weight: 1, Min: 0.6}, {Owner: "b", Weight: 1, Min: 0.5}}, `with owner "b", the minima of the owners below "" sum to 1.1, above the share 1 of all slots`},
		{"minima above the parent's max", []sched.Share{{Owner: "t/a", Weight: 1, Min: 0.3}, {Owner: "t", Weight: 1, Max: 0.2}}, `sum to 0.3, above the share 0.2 that "t" may have`},
		{"minima at different levels", []sched.Share{{Owner: "t", Weight: 1, Min: 0.9}, {Owner: "t/a", Weight: 1, Min: 0.9}}, ""},
		{"empty level", []sched.Share{w("a//b", 1)}, "empty level"},
		{"ends with a slash", []sched.Share{w("a/", 1)}, "empty level"},
		{"eight levels", []sched.Share{w("a/b/c/d/e/f/g/h", 1)}, ""},
		{"nine levels", []sched.Share{w("a/b/c/d/e/f/g/h/i", 1)}, "9 levels; at most 8"},
		{"long", []sched.Share{w(strings.Repeat("x", 256), 1)}, "256 bytes; at most 255"},
	} {
		err := shares.Check(c.list)
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
	many := make([]sched.Share, shares.MostShares+1)
	for i := range many {
		many[i] = w(fmt.Sprint(i), 1)
	}
	if err := shares.Check(many); err == nil || shares.Check(many[1:]) != nil {
		t.Errorf("of the number of shares: %v", err)
	}
}
