package measure

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

func near(t *testing.T, what string, got Number, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{2, 2, 2}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {[]float64{1, 3}, 0.8}} {
		if got := Jain(tt.values); got != tt.want {
			t.Errorf("Jain(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
	if !math.IsNaN(Jain(nil)) || !math.IsNaN(Jain([]float64{0, 0})) {
		t.Error("the index of nothing is a number")
	}
}

// Windows of 10. In the first a joins at 1, so it does not count; in the second a and b wait
// throughout, in the third b has nothing left at 25, in the fourth a and c wait.
func TestSharesCountWindowsOfCompetition(t *testing.T) {
	s := NewShares([]string{"a", "b", "c"}, []sched.Share{{Owner: "b", Weight: 2}, {Owner: "c", Weight: 3}}, 10)
	const a, b, c, short = 0, 1, 2, 0
	s.Waits(0, b, short, 5)
	s.Waits(1, a, short, 1)
	s.Runs(5, a, short, 1)
	s.Runs(10, b, short, 4) // both run until the end
	s.Waits(25, b, short, -5)
	s.Waits(26, b, short, 1) // too late for this window
	s.Waits(26, b, short, -1)
	s.Waits(28, c, short, 2)
	s.Runs(35, c, short, 2)
	s.Runs(40, a, short, -1)
	var r Result
	s.Runs(45, c, short, -2)
	s.fill(&r, 1)
	for k, want := range []struct{ weight, used, contended, entitled float64 }{
		{1, 35, 10 + 10, 50./3 + 20./4}, // of 50 one third, of 20 a quarter
		{2, 4 * 35, 40, 50 * 2. / 3},
		{3, 20, 10, 20 * 3. / 4},
	} {
		o := &r.Owners[k]
		near(t, o.Owner+"'s weight", o.Weight, want.weight)
		near(t, o.Owner+"'s contended", o.Short.Contended, want.contended)
		near(t, o.Owner+"'s entitled", o.Short.Entitled, want.entitled)
		if k != b { // b's use is known up to its last change
			near(t, o.Owner+"'s use", o.Short.Used, want.used)
		}
	}
	f := &r.Fairness.Short
	if f.Windows != 2 || r.Fairness.Long.Windows != 0 || !math.IsNaN(float64(r.Fairness.Long.Jain)) {
		t.Errorf("fairness %+v", r.Fairness)
	}
	near(t, "least index", f.Least, Jain([]float64{10 / 5., 10 / 15.}))
	near(t, "index", f.Jain, Jain([]float64{20 / (50./3 + 5), 40 / (100. / 3), 10 / 15.}))
}

// Windows in which nothing changes are counted together, with the figures that they have one by one:
// a call in each of them, which changes nothing, makes no difference.
func TestWindowsWithoutAChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 10
		owners := []string{"a", "b", "c"}
		together, single := NewShares(owners, []sched.Share{{Owner: "b", Weight: 2}}, window), NewShares(owners, []sched.Share{{Owner: "b", Weight: 2}}, window)
		at := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			next := at + rapid.Int64Range(0, 60).Draw(t, "later")
			for ; at/window < next/window; at += window {
				single.Waits(at/window*window+window, 0, 0, 0)
			}
			at = next
			owner, class := rapid.IntRange(0, 2).Draw(t, "owner"), rapid.IntRange(0, 1).Draw(t, "class")
			waits, runs := rapid.IntRange(0, 3).Draw(t, "waits"), rapid.IntRange(0, 3).Draw(t, "runs")
			for _, s := range []*Shares{together, single} {
				u := s.use[class][owner]
				s.Waits(at, owner, class, waits-u.waiting)
				s.Runs(at, owner, class, runs-u.running)
			}
		}
		var got, want Result
		together.fill(&got, 1)
		single.fill(&want, 1)
		same := func(a, b Number) bool { return math.Abs(float64(a-b)) <= 1e-9*math.Abs(float64(b)) || a != a && b != b }
		for class := range 2 {
			g, w := got.Fairness.Class(class), want.Fairness.Class(class)
			if g.Windows != w.Windows || !same(g.Jain, w.Jain) || !same(g.Least, w.Least) {
				t.Fatalf("class %d: %+v together, %+v one by one", class, *g, *w)
			}
			for k := range owners {
				g, w := got.Owners[k].Class(class), want.Owners[k].Class(class)
				if !same(g.Contended, w.Contended) || !same(g.Entitled, w.Entitled) {
					t.Fatalf("class %d of %s: %+v together, %+v one by one", class, owners[k], *g, *w)
				}
			}
		}
	})
}

// A window may be a nanosecond, and a run may take years: the windows are not visited one by one.
func TestWindowsOfANanosecond(t *testing.T) {
	const year = 365 * 24 * 3600 * int64(sched.Second)
	s := NewShares([]string{"a", "b"}, nil, 1)
	for k := range 2 {
		s.Waits(0, k, 0, 1)
		s.Runs(0, k, 0, 1)
	}
	s.Waits(year, 0, 0, -1)
	var r Result
	s.fill(&r, second)
	near(t, "a's part", r.Owners[0].Short.Contended/(365*24*3600), 1)
	if r.Fairness.Short.Windows != int(year)-1 { // not the first, at whose start nothing waited
		t.Errorf("%d windows of %d ns", r.Fairness.Short.Windows, year)
	}
}

// Two teams have half each when both have work, however many members compete; the team's own
// jobs get the part of one more member.
func TestEntitledInATree(t *testing.T) {
	owners := []string{"a", "a/x", "a/y", "b/z", "c"}
	tr := newTree(owners, []sched.Share{{Owner: "a/x", Weight: 2}, {Owner: "c", Weight: 4}})
	got := map[string]float64{}
	tr.entitle(func(k int) bool { return owners[k] != "c" }, func(k int, f float64) { got[owners[k]] = f })
	for owner, want := range map[string]float64{"a": 1 / 8., "a/x": 2 / 8., "a/y": 1 / 8., "b/z": 1 / 2.} {
		if math.Abs(got[owner]-want) > 1e-12 {
			t.Errorf("%s is entitled to %v, want %v", owner, got[owner], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("entitled: %v", got)
	}
}

// bench/README.md: "A figure without any job is null, not zero": of an owner none of whose jobs
// had completed when a live run was ended early, too.
func TestOwnerWithoutACompletedJob(t *testing.T) {
	c := NewCollector(Options{})
	c.Job(Job{Owner: "a", End: 1e9})
	s := NewShares([]string{"a", "b"}, nil, 1e9)
	s.Runs(0, 1, 0, 1)
	s.Runs(3e9, 1, 0, -1)
	f := facts()
	f.Shares = s
	r := c.Result(f)
	b := r.OwnerOf("b")
	near(t, "b's use", b.Short.Used, 3)
	for class := range 2 {
		if o := b.Class(class); o.Jobs != 0 || !math.IsNaN(float64(o.Completion.Mean)) || !math.IsNaN(float64(o.Completion.P99)) {
			t.Errorf("class %d of b, which completed nothing: %+v", class, o)
		}
	}
	near(t, "b's weight", b.Weight, 1)

	// Without the shares of a cluster that runs elsewhere no weight is known.
	r = c.Result(facts())
	var table bytes.Buffer
	if err := OwnerTable(&table, &r); err != nil || !math.IsNaN(float64(r.Owners[0].Weight)) || strings.Contains(table.String(), "NaN") {
		t.Errorf("weight %v, %v\n%s", r.Owners[0].Weight, err, table.String())
	}
}

func TestFiguresOfOwners(t *testing.T) {
	c := NewCollector(Options{Speedup: 2})
	for i, owner := range []string{"flood", "b", "a", "b"} {
		c.Job(Job{Owner: owner, Arrival: 0, End: int64(i+1) * 1e9, Long: owner == "a"})
	}
	s := NewShares([]string{"a", "b", "flood"}, nil, 1e9)
	s.Runs(0, 1, 0, 1)
	s.Runs(3e9, 1, 0, -1)
	f := facts()
	f.Shares = s
	r := c.Result(f)
	if len(r.Owners) != 3 || r.Owners[1].Owner != "b" || r.Owners[1].Short.Jobs != 2 {
		t.Fatalf("owners %+v", r.Owners)
	}
	near(t, "b's mean", r.Owners[1].Short.Completion.Mean, 6)
	near(t, "b's use", r.Owners[1].Short.Used, 6)
	near(t, "the others' short mean", r.Others.Short.Mean, 6)
	near(t, "the others' long mean", r.Others.Long.Mean, 6)
	var table bytes.Buffer
	if err := OwnerTable(&table, &r); err != nil || strings.Index(table.String(), " b ") > strings.Index(table.String(), " a ") {
		t.Errorf("%v\n%s", err, table.String())
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"fairness":{"window":2,`) {
		t.Errorf("%v: %s", err, text)
	}
	r = collected(Options{}).Result(facts())
	if r.Owners != nil || r.Others != nil || r.Fairness != nil {
		t.Error("there are figures of owners for jobs without owners")
	}
}
