package eagle

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func entry(class sched.Class, estimate sched.Time, count int32, delay sched.Time) probing.Entry {
	return probing.Entry{Probed: sched.Probed{Class: class, Estimate: estimate, Count: count}, Delay: delay}
}

func short(estimate sched.Time, count int32) probing.Entry {
	return entry(sched.Short, estimate, count, 0)
}

func long(estimate sched.Time, count int32) probing.Entry {
	return entry(sched.Long, estimate, count, 0)
}

// docs/policies.md, eagle: "The worker takes the probe with the least remaining work
// (estimate x unlaunched tasks), but one may overtake only if its estimate is at most
// the smallest slack of the short probes ahead of it."
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		queue []probing.Entry
		want  int
	}{
		"work that no number holds":            {[]probing.Entry{short(sched.MaxEstimate, 1), short(sched.MaxEstimate, 1<<14)}, 0},
		"one":                                  {[]probing.Entry{short(1, 1)}, 0},
		"the worked example":                   {[]probing.Entry{short(10, 10), short(20, 1), short(60, 1)}, 1},
		"least remaining work":                 {[]probing.Entry{short(10, 3), short(10, 2), short(10, 1)}, 2},
		"ties to the first":                    {[]probing.Entry{short(10, 2), short(20, 1), short(10, 2)}, 0},
		"estimate beyond the slack":            {[]probing.Entry{short(1, 100), short(6, 1)}, 0},
		"estimate of just the slack":           {[]probing.Entry{short(1, 100), short(5, 1)}, 1},
		"slack that is used up":                {[]probing.Entry{entry(sched.Short, 10, 100, 50), short(1, 1)}, 0},
		"the smallest slack of all ahead":      {[]probing.Entry{short(10, 9), short(1, 99), short(10, 1)}, 0},
		"long at the head":                     {[]probing.Entry{long(100, 1), short(1, 1)}, 0},
		"short overtakes long behind the head": {[]probing.Entry{short(10, 9), long(100, 1), short(10, 1)}, 2},
		"long has no slack to respect":         {[]probing.Entry{short(10, 9), entry(sched.Long, 1, 900, 900), short(10, 1)}, 2},
		"long that is picked ends the scan":    {[]probing.Entry{short(10, 9), long(20, 1), short(1, 1)}, 1},
		"long that is not picked does not end": {[]probing.Entry{short(10, 9), long(20, 9), short(1, 1)}, 2},
	} {
		var q probing.Queue
		for _, e := range c.queue {
			q.Push(e)
		}
		if got := (order{slack: 5}).next(&q); got != c.want {
			t.Errorf("%s: entry %d is served, want %d", name, got, c.want)
		}
	}
}

// docs/policies.md, eagle: "Every probe ahead of the pick is charged the pick's estimate", in the
// worked example: "A's slack is 3 s afterwards".
func TestCharge(t *testing.T) {
	var q probing.Queue
	for _, e := range []probing.Entry{short(1, 10), short(2, 1), short(6, 1)} {
		q.Push(e)
	}
	o := order{slack: 5}
	o.took(&q, 1)
	if a, b, c := o.left(q.At(0)), o.left(q.At(1)), o.left(q.At(2)); a != 3 || b != 10 || c != 30 {
		t.Errorf("slack of A, B and C %d, %d and %d, want 3, 10 and 30", a, b, c)
	}
	o.took(&q, 2)
	if a, b := o.left(q.At(0)), o.left(q.At(1)); a != -3 || b != 4 {
		t.Errorf("slack of A and B %d and %d after C, want -3 and 4: charges add up", a, b)
	}
}

// A slack that no number holds is the largest one, as a slack that stands for "without limit" is
// meant, and not below zero.
func TestSlackThatNoNumberHolds(t *testing.T) {
	for _, slack := range []float64{1e6, 1e9, math.MaxInt32} {
		var q probing.Queue
		for _, e := range []probing.Entry{short(100*sched.Second, 10), short(sched.Second, 1)} {
			q.Push(e)
		}
		o := order{slack: slack}
		if got := o.next(&q); got != 1 {
			t.Errorf("slack %g: entry %d is served, want 1, which has the least work left", slack, got)
		}
		if left := o.left(q.At(0)); left <= 0 {
			t.Errorf("slack %g of 100 s: %d ns are left", slack, left)
		}
	}
}

// "slack = 5 x estimate minus the delay already imposed", "every probe ahead of the
// pick is charged the pick's estimate": so none is delayed by more than that.
func TestDelayIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q probing.Queue
		o := order{slack: 5}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if q.Len() == 0 || rapid.Bool().Draw(t, "arrives") {
				q.Push(short(sched.Time(rapid.IntRange(1, 20).Draw(t, "estimate")), rapid.Int32Range(1, 9).Draw(t, "count")))
				continue
			}
			i := o.next(&q)
			o.took(&q, i)
			q.Remove(i, i+1)
			for k := range q.Len() {
				if e := q.At(k); e.Delay > 5*e.Estimate {
					t.Fatalf("an entry of estimate %d was delayed by %d", e.Estimate, e.Delay)
				}
			}
		}
	})
}
