package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// figures holds the columns of the table in docs/policies.md for one run: mean and p99 of
// each class in seconds, and messages per task.
type figures struct {
	shortMean, shortP99, longMean, longP99, messages float64
}

func measured(t testing.TB, w *workload.Workload, cfg sim.Config) figures {
	t.Helper()
	o := run(t, w, cfg)
	c := completions(w, o)
	return figures{
		mean(c[sched.Short]), quantile(c[sched.Short], 0.99), mean(c[sched.Long]), quantile(c[sched.Long], 0.99),
		float64(o.Messages) / float64(w.Tasks()),
	}
}

func (f figures) plus(o figures) figures {
	return figures{f.shortMean + o.shortMean, f.shortP99 + o.shortP99, f.longMean + o.longMean, f.longP99 + o.longP99, f.messages + o.messages}
}

func mean(list []float64) (m float64) {
	for _, x := range list {
		m += x / float64(len(list))
	}
	return m
}

// steady draws jobs of the trace at random with Poisson arrivals: 20,000 of ngo,
// 8,000 of nyh.
func steady(t testing.TB, name string, load float64, seed uint64) *workload.Workload {
	t.Helper()
	jobs := 20_000
	if strings.HasPrefix(name, "nyh") {
		jobs = 8000
	}
	w, err := trace(t, name).Resample(jobs, seed, 120, load)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// row is a row of the table: the figures of a policy divided by pigeon's, on a steady
// workload.
type row struct {
	spec, trace string
	load        float64
	want        [4]float64 // short mean, p99; long mean, p99
}

// over returns the means over seeds of the policy's figures divided by pigeon's, and the
// largest number of messages per task.
func (r row) over(t testing.TB, seeds uint64) (ratio [4]float64, messages float64) {
	t.Helper()
	for seed := uint64(1); seed <= seeds; seed++ {
		w := steady(t, r.trace, r.load, seed)
		cfg := ec2(40, 40, 40)
		cfg.Seed = seed
		a, b := measured(t, w, under(t, r.spec, cfg)), measured(t, w, cfg)
		for i, x := range []float64{a.shortMean / b.shortMean, a.shortP99 / b.shortP99, a.longMean / b.longMean, a.longP99 / b.longP99} {
			ratio[i] += x / float64(seeds)
		}
		messages = max(messages, a.messages)
	}
	return ratio, messages
}

// seeds is the number of seeds for each row. The table needs many, because the short p99
// of one seed can be twice that of the next; with few seeds the suite is quick and finds
// large errors only.
var seeds = flag.Uint64("seeds", 2, "seeds for each row of the table of policies; 15 for the table's figures")

// tolerances are shares of a row's values.
func tolerances() [4]float64 {
	if *seeds < 15 {
		return [4]float64{0.25, 0.5, 0.25, 0.25}
	}
	return [4]float64{0.10, 0.15, 0.12, 0.09}
}

// chosen returns the rows to run: the first two unless all figures are wanted.
func chosen(rows []row) []row {
	if *seeds < 15 {
		return rows[:2]
	}
	return rows
}

// bothOrders adds to each row that configures nothing the same row with long jobs ordered
// by age, for which docs/policies.md states its figures; they also hold for the default,
// the tail.
func bothOrders(rows []row) (both []row) {
	both = slices.Clone(rows)
	for _, r := range rows {
		if !strings.Contains(r.spec, ":") {
			r.spec += ":tail=no"
			both = append(both, r)
		}
	}
	return both
}

// bench/results/expected.md: "pigeon-sort over pigeon, load
// 0.9 steady, by age: short mean, p99; long mean, p99 | ngo 0.61, 0.37; 0.45, 0.80;
// nyh 0.49, 0.93; 0.68, 1.02 (aging 0: long 0.44, 0.81; 0.68, 1.11); at most 5.5
// messages per task". The short p99 varies from seed to seed by a third.
func TestPigeonSortOverPigeon(t *testing.T) {
	tolerance := tolerances()
	for _, r := range chosen(bothOrders([]row{
		{"pigeon-sort", "ngo_90.tr", 0.9, [4]float64{0.61, 0.37, 0.45, 0.80}},
		{"pigeon-sort", "nyh_70.tr", 0.9, [4]float64{0.49, 0.93, 0.68, 1.02}},
		{"pigeon-sort:aging=0", "ngo_90.tr", 0.9, [4]float64{0, 0, 0.44, 0.81}},
		{"pigeon-sort:aging=0", "nyh_70.tr", 0.9, [4]float64{0, 0, 0.68, 1.11}},
	})) {
		got, messages := r.over(t, *seeds)
		t.Logf("%s over pigeon, %s at %.2f: %.3f, want %.2f; %.2f messages a task", r.spec, r.trace, r.load, got, r.want, messages)
		for i, want := range r.want {
			if want > 0 {
				within(t, fmt.Sprintf("%s, %s, figure %d", r.spec, r.trace, i+1), got[i], want, tolerance[i]*want)
			}
		}
		if messages > 5.5 {
			t.Errorf("%s, %s: %.2f messages a task", r.spec, r.trace, messages)
		}
	}
}

// The limit of 5.5 messages per task also holds in the bursts of the file, and for
// pigeon-x. A task that moves costs two messages, because it passes through its
// distributor.
func TestVariantsMessagesOnNGO90(t *testing.T) {
	w := trace(t, "ngo_90.tr")
	for _, spec := range []string{"pigeon-sort", "pigeon-x", "pigeon-x:canary=no"} {
		messages := measured(t, w, under(t, spec, ec2(40, 40, 40))).messages
		t.Logf("%s: %.2f messages a task", spec, messages)
		if messages > 5.5 {
			t.Errorf("%s: %.2f messages a task", spec, messages)
		}
	}
}

// "pigeon-x over pigeon, the same | ngo 0.53, 0.21; 0.45, 0.81; nyh 0.24, 0.19;
// 0.70, 1.07 (aging 0: long 0.44, 0.85; 0.69, 1.17; aging 3: 0.47, 0.80; 0.75,
// 1.03)"; "the same at load 0.7 / 0.95 | ngo long 0.70, 0.94 / 0.38, 0.78; nyh
// 0.92, 1.01 / 0.60, 1.16".
func TestPigeonXOverPigeon(t *testing.T) {
	tolerance := tolerances()
	for _, r := range chosen(bothOrders([]row{
		{"pigeon-x", "ngo_90.tr", 0.9, [4]float64{0.53, 0.21, 0.45, 0.81}},
		{"pigeon-x", "nyh_70.tr", 0.9, [4]float64{0.24, 0.19, 0.70, 1.07}},
		{"pigeon-x:aging=0", "ngo_90.tr", 0.9, [4]float64{0, 0, 0.44, 0.85}},
		{"pigeon-x:aging=0", "nyh_70.tr", 0.9, [4]float64{0, 0, 0.69, 1.17}},
		{"pigeon-x:aging=3", "ngo_90.tr", 0.9, [4]float64{0, 0, 0.47, 0.80}},
		{"pigeon-x:aging=3", "nyh_70.tr", 0.9, [4]float64{0, 0, 0.75, 1.03}},
		{"pigeon-x", "ngo_90.tr", 0.7, [4]float64{0, 0, 0.70, 0.94}},
		{"pigeon-x", "nyh_70.tr", 0.7, [4]float64{0, 0, 0.92, 1.01}},
		{"pigeon-x", "ngo_90.tr", 0.95, [4]float64{0, 0, 0.38, 0.78}},
		{"pigeon-x", "nyh_70.tr", 0.95, [4]float64{0, 0, 0.60, 1.16}},
	})) {
		got, messages := r.over(t, *seeds)
		t.Logf("%s over pigeon, %s at %.2f: %.3f, want %.2f; %.2f messages a task", r.spec, r.trace, r.load, got, r.want, messages)
		for i, want := range r.want {
			if want > 0 {
				within(t, fmt.Sprintf("%s, %s, figure %d", r.spec, r.trace, i+1), got[i], want, tolerance[i]*want)
			}
		}
	}
}

// "pigeon-x, short mean over the no-queueing bound | within 1.03 on ngo and nyh up
// to load 0.95". The bound is the job's longest task; it leaves out the three
// messages of 0.5 ms that every job waits for.
func TestPigeonXNearTheBound(t *testing.T) {
	for _, name := range []string{"ngo_90.tr", "nyh_70.tr"} {
		for seed := uint64(1); seed <= *seeds; seed++ {
			w := steady(t, name, 0.95, seed)
			cfg := under(t, "pigeon-x", ec2(40, 40, 40))
			cfg.Seed = seed
			got := measured(t, w, cfg).shortMean / noQueueing(w)
			t.Logf("%s, seed %d: short mean %.4f of the bound", name, seed, got)
			if got > 1.03 {
				t.Errorf("%s, seed %d: the short mean is %.4f of the bound", name, seed, got)
			}
		}
	}
}

// noQueueing returns the mean over short jobs of their longest task.
func noQueueing(w *workload.Workload) float64 {
	var longest []float64
	for i := range w.Jobs {
		if !w.Jobs[i].TrueLong {
			longest = append(longest, float64(slices.Max(w.Jobs[i].Durations))/1e9)
		}
	}
	return mean(longest)
}

// "groups of 60/40/20 workers: pigeon's long mean grows without bound (10 x in the
// run); pigeon-sort and pigeon-x stay below 0.5 x equal-group pigeon".
func TestVariantsOnUnequalGroups(t *testing.T) {
	limit := 0.5
	if *seeds < 15 {
		limit = 0.55
	}
	var equal, unequal float64
	ours := map[string]float64{"pigeon-sort": 0, "pigeon-x": 0}
	for seed := uint64(1); seed <= *seeds; seed++ {
		w := steady(t, "ngo_90.tr", 0.9, seed)
		even, uneven := ec2(40, 40, 40), ec2(60, 40, 20)
		even.Seed, uneven.Seed = seed, seed
		equal += measured(t, w, even).longMean
		unequal += measured(t, w, uneven).longMean
		for spec := range ours {
			ours[spec] += measured(t, w, under(t, spec, uneven)).longMean
		}
	}
	if unequal < 5*equal {
		t.Errorf("pigeon's long mean is %.2f of that in equal groups: too little for this test", unequal/equal)
	}
	for spec, sum := range ours {
		t.Logf("%s: %.3f of equal-group pigeon, pigeon itself %.1f", spec, sum/equal, unequal/equal)
		if sum > limit*equal {
			t.Errorf("%s: the long mean is %.3f of equal-group pigeon", spec, sum/equal)
		}
	}
}

// "20 % of jobs with the wrong class | pigeon-x short p99 at most 0.05 x pigeon's
// with the same errors". Classes of the figures are the true ones.
func TestVariantsWithWrongClasses(t *testing.T) {
	for _, name := range []string{"ngo_90.tr", "nyh_70.tr"} {
		var right, wrong, without figures
		for seed := uint64(1); seed <= *seeds; seed++ {
			w := steady(t, name, 0.9, seed).WrongClass(0.2, seed)
			cfg := ec2(40, 40, 40)
			cfg.Seed = seed
			wrong = wrong.plus(measured(t, w, cfg))
			right = right.plus(measured(t, w, under(t, "pigeon-x", cfg)))
			without = without.plus(measured(t, w, under(t, "pigeon-x:canary=no", cfg)))
		}
		t.Logf("%s: short p99 %.4f, short mean %.3f, long mean %.3f, long p99 %.3f of pigeon's; without canary %.4f, %.3f, %.3f, %.3f", name,
			right.shortP99/wrong.shortP99, right.shortMean/wrong.shortMean, right.longMean/wrong.longMean, right.longP99/wrong.longP99,
			without.shortP99/wrong.shortP99, without.shortMean/wrong.shortMean, without.longMean/wrong.longMean, without.longP99/wrong.longP99)
		if right.shortP99 > 0.05*wrong.shortP99 {
			t.Errorf("%s: the short p99 is %.4f of pigeon's", name, right.shortP99/wrong.shortP99)
		}
	}
}

// Issue 4 wants the long p99 of pigeon-x at nyh and load 0.9 down to Pigeon's, for at
// most 2 % of the long mean and nothing of the short jobs: the changes of the tail
// against the order by age, seed by seed.
func TestTailOfPigeonX(t *testing.T) {
	var mean, p99 float64
	for seed := uint64(1); seed <= *seeds; seed++ {
		w := steady(t, "nyh_70.tr", 0.9, seed)
		cfg := ec2(40, 40, 40)
		cfg.Seed = seed
		tail, age := measured(t, w, under(t, "pigeon-x", cfg)), measured(t, w, under(t, "pigeon-x:tail=no", cfg))
		mean += tail.longMean / age.longMean / float64(*seeds)
		p99 += tail.longP99 / age.longP99 / float64(*seeds)
		if x := tail.shortMean / age.shortMean; x < 0.995 || x > 1.005 {
			t.Errorf("seed %d: the short mean is %.4f of that by age", seed, x)
		}
	}
	t.Logf("long mean %.3f, long p99 %.3f of those by age", mean, p99)
	most := [2]float64{1.04, 1.02} // of few seeds
	if *seeds >= 15 {
		most = [2]float64{1.02, 0.97}
	}
	if mean > most[0] || p99 > most[1] {
		t.Errorf("long mean %.3f, p99 %.3f of those by age, want at most %.2f", mean, p99, most)
	}
}

// "guard (option, off) [...] With it no percentile of either class is meant to be
// worse than pigeon's." The price is most of what the long jobs' mean gains.
func TestGuardOverPigeon(t *testing.T) {
	tolerance := tolerances()
	for _, name := range []string{"ngo_90.tr", "nyh_70.tr"} {
		got, _ := row{spec: "pigeon-sort:guard=yes", trace: name, load: 0.9}.over(t, *seeds)
		t.Logf("%s: %.3f", name, got)
		for i, x := range got {
			if x > 1+tolerance[i]/3 {
				t.Errorf("%s: figure %d is %.3f of pigeon's", name, i+1, x)
			}
		}
	}
}
