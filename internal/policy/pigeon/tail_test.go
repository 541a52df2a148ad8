package pigeon

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const second = sched.Second

// Due at 90 cutoffs, r = e: the slack of a job of 10 cutoffs is 75 when it comes
// and 25 after 50; past 66 the floor of 9 counts, and from 75 on the excess
// divides. Two tasks, one of which runs, count for one and a half.
func TestBoundedIndex(t *testing.T) {
	x := measure{cutoff: second, aging: 2, due: 90 * second}
	for _, k := range []struct {
		queued, running int32
		age, want       sched.Time
	}{
		{1, 0, 0, 750}, {1, 1, 0, 1125}, {2, 0, 0, 1500}, {1, 0, 50, 250}, {1, 0, 70, 90}, {1, 0, 75, 90}, {1, 0, 165, 45},
	} {
		j := &queue.Job{Queued: k.queued, Running: k.running}
		got := x.of(10*second, x.unfinished(&facts{}, j), k.age*second, 10*second) / float64(second) / float64(second)
		if want := float64(k.want); got < want*(1-1e-12) || got > want*(1+1e-12) {
			t.Errorf("%d queued, %d running at age %d: %v, want %v", k.queued, k.running, k.age, got, want)
		}
	}
}

// docs/policies.md, pigeon-sort: due "is 0.9 of a limit that each master learns: 60 cutoffs at first",
// in its example "due = 54 cutoffs".
func TestDue(t *testing.T) {
	l := newTail(second)
	if due := l.due(); due != 54*second {
		t.Errorf("at first a job is due after %d s, want 54", due/second)
	}
}

// The same share of the tasks that came here is unfinished as of the whole job.
func TestUndone(t *testing.T) {
	for _, k := range []struct {
		queued, running, held, ended, total int32
		want                                float64
	}{
		{4, 0, 0, 0, 0, 4}, // no total
		{4, 2, 1, 9, 0, 5.5},
		{4, 0, 0, 0, 4, 4}, // all of it is here
		{4, 0, 0, 0, 12, 12},
		{1, 1, 1, 1, 12, 6}, // two of four, three groups
		{1, 0, 0, 3, 100_000, 25_000},
		{3, 0, 0, 2, 4, 3}, // two attempts of one ended here: it cannot be less than the number here
		{0, 0, 0, 5, 12, 0},
	} {
		j := &queue.Job{Queued: k.queued, Running: k.running}
		f := &facts{held: k.held, ended: k.ended, total: k.total}
		if got := f.undone(j); got != k.want {
			t.Errorf("%+v: %v", k, got)
		}
	}
}

// About one job in a hundred ends past the limit, wherever it starts.
func TestLimitFollowsThePercentile(t *testing.T) {
	for _, first := range []sched.Time{second, 60 * second, 5000 * second} {
		l := tail{limit: first, least: second}
		draws := sched.Rand(7, 7)
		var sum sched.Time
		for k := range 30_000 {
			l.learn(sched.Time(draws.Int64N(int64(1000 * second)))) // 99th percentile 990
			if k >= 10_000 {
				sum += l.limit / 20_000
			}
		}
		if mean := sum / second; mean < 900 || mean > 1100 {
			t.Errorf("from %d s on, the limit is %d s on average, want about 990", first/second, mean)
		}
	}
}

// Whatever the cutoff and the ages, no number leaves its range.
func TestLimitIsBounded(t *testing.T) {
	ages := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Just(int64(1)<<62)), 0, 700)
	rapid.Check(t, func(t *rapid.T) {
		cutoff := sched.Time(rapid.OneOf(rapid.Int64Min(0), rapid.Int64Range(0, 9)).Draw(t, "cutoff"))
		l := newTail(cutoff)
		for _, age := range ages.Draw(t, "ages") {
			l.learn(sched.Time(age))
			if l.limit < min(l.least, mostLimit) || l.limit > max(mostLimit, l.least) || l.due() < 0 {
				t.Fatalf("cutoff %d, age %d: the limit is %d", cutoff, age, l.limit)
			}
		}
	})
}
