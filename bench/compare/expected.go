package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// expectation is the measurement of a policy in a setting by an independent simulator
// of the same definitions.
type expectation struct {
	setting
	policy string
	class  int
	over   over
	what   []string  // statistics of completion times, or "messages"
	want   []float64 // one for each
}

// setting selects the cells of comparisons that an expectation belongs to.
type setting struct {
	family  string  // traces whose names begin so
	load    float64 // requested; 0: as in the file
	drawn   bool    // jobs drawn with Poisson arrivals, "steady"
	workers int
	groups  int
	cutoff  float64 // s
	uneven  bool    // groups of unequal size
	wrong   float64 // share of jobs that declare the wrong class
}

// over is the divisor of a figure.
type over int

const (
	overPigeon      over = iota
	overSecond           // it is a time
	overLongestTask      // the bound; an upper limit
	overEvenPigeon       // pigeon's in equal groups; an upper limit
	overWrongPigeon      // pigeon's with the same wrong classes; an upper limit
	overTask             // it is a count for each task
	overTaskLimit        // a count for each task, an upper limit
)

// limit reports whether the expected value is an upper limit.
func (o over) limit() bool {
	return o == overLongestTask || o == overEvenPigeon || o == overWrongPigeon || o == overTaskLimit
}

func (o over) String() string {
	return [...]string{"over pigeon", "s", "over the longest task", "over pigeon in equal groups", "over pigeon", "a task", "a task"}[o]
}

func expectations() []expectation {
	percentiles, tail, mean := []string{"p50", "p90", "p99"}, []string{"mean", "p99"}, []string{"mean"}
	file := setting{family: "ngo_90", workers: 120, groups: 3, cutoff: 1}
	steady := func(family string, load float64) setting {
		return setting{family: family, load: load, drawn: true, workers: 120, groups: 3, cutoff: 1}
	}
	uneven := steady("ngo", 0.9)
	uneven.uneven = true
	half := setting{family: "ngo_50", workers: 120, groups: 3, cutoff: 1}
	google := setting{family: "goog_sub", load: 0.9, workers: 5000, groups: 50, cutoff: 1129.532}
	return slices.Concat([]expectation{
		{file, "pigeon", 0, overSecond, percentiles, []float64{0.48, 1.86, 3.8}},
		{file, "pigeon", 1, overSecond, percentiles, []float64{199, 256, 292}},
		{file, "sparrow", 0, overPigeon, percentiles, []float64{212, 100, 57}},
		{file, "eagle", 0, overPigeon, percentiles, []float64{2.1, 26, 16}},
		{file, "hawk", 0, overPigeon, percentiles, []float64{16, 34, 33}},
		{file, "sparrow", 1, overPigeon, []string{"p50"}, []float64{0.86}},
		{file, "eagle", 1, overPigeon, percentiles, []float64{1, 1, 1}},
		{file, "hawk", 1, overPigeon, percentiles, []float64{1, 1, 1}},
		{google, "pigeon-x", 0, overPigeon, tail, []float64{0.12, 0.23}},
		{google, "pigeon-x", 1, overPigeon, tail, []float64{0.33, 0.91}},
		{uneven, "pigeon-sort", 1, overEvenPigeon, mean, []float64{0.5}},
		{uneven, "pigeon-x", 1, overEvenPigeon, mean, []float64{0.5}},
		{file, "pigeon", 0, overTask, []string{messages}, []float64{4}},
		{file, "sparrow", 0, overTask, []string{messages}, []float64{6.8}},
		{half, "pigeon-sort", 0, overTaskLimit, []string{messages}, []float64{5.5}},
	}, variants("ngo", steady, [][2]float64{{0.61, 0.37}, {0.45, 0.80}, {0.44, 0.81}, {0.53, 0.21}, {0.45, 0.81}, {0.44, 0.85}, {0.47, 0.80}, {0.70, 0.94}, {0.38, 0.78}}),
		variants("nyh", steady, [][2]float64{{0.49, 0.93}, {0.68, 1.02}, {0.68, 1.11}, {0.24, 0.19}, {0.70, 1.07}, {0.69, 1.17}, {0.75, 1.03}, {0.92, 1.01}, {0.60, 1.16}}))
}

// variants returns the expectations for pigeon-sort and pigeon-x on one family.
func variants(family string, steady func(string, float64) setting, want [][2]float64) (rows []expectation) {
	for k, r := range []struct {
		policy string
		load   float64
		class  int
	}{
		{"pigeon-sort", 0.9, 0},
		{"pigeon-sort", 0.9, 1},
		{"pigeon-sort:aging=0", 0.9, 1},
		{"pigeon-x", 0.9, 0},
		{"pigeon-x", 0.9, 1},
		{"pigeon-x:aging=0", 0.9, 1},
		{"pigeon-x:aging=3", 0.9, 1},
		{"pigeon-x", 0.7, 1},
		{"pigeon-x", 0.95, 1},
	} {
		rows = append(rows, expectation{steady(family, r.load), r.policy, r.class, overPigeon, []string{"mean", "p99"}, want[k][:]})
	}
	for _, load := range []float64{0.7, 0.9, 0.95} {
		rows = append(rows, expectation{steady(family, load), "pigeon-sort", 0, overTaskLimit, []string{messages}, []float64{5.5}})
	}
	wrong := steady(family, 0.9)
	wrong.wrong = 0.2
	return append(rows,
		expectation{wrong, "pigeon-x", 0, overWrongPigeon, []string{"p99"}, []float64{0.05}},
		expectation{steady(family, 0.95), "pigeon-x", 0, overLongestTask, []string{"mean"}, []float64{1.03}})
}

// messages is the statistic that is not one of completion times.
const messages = "messages"

// expectedBeside returns a table of the expectations for which the comparisons have a
// figure; nil without any.
func expectedBeside(all []*Comparison) *markdown.Table {
	t := &markdown.Table{Head: []string{"setting", "policy", "class", "figure", "expected", "measured", "difference"}}
	for _, e := range expectations() {
		c := e.best(all)
		if c == nil {
			continue
		}
		for _, i := range c.in(&e.setting) {
			for k, what := range e.what {
				got := c.figure(i, &e, what, all)
				if math.IsNaN(float64(got.Mean)) {
					continue
				}
				t.Rows = append(t.Rows, []string{e.name(&c.Cells[i].Cell), e.policy, e.of(), what + " " + e.over.String(), e.expected(k), ratio(got), e.verdict(k, float64(got.Mean))})
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// best returns the comparison with the most seeds among those that have the policy in
// the setting, nil when none has.
func (e *expectation) best(all []*Comparison) (best *Comparison) {
	for _, c := range all {
		if slices.Contains(c.Manifest.Policies, e.policy) && len(c.in(&e.setting)) > 0 && (best == nil || c.Manifest.Seeds > best.Manifest.Seeds) {
			best = c
		}
	}
	return best
}

func (e *expectation) name(c *Cell) string {
	name := c.Title()
	if e.drawn {
		name += ", steady"
	}
	if e.uneven {
		name += ", unequal groups"
	}
	if e.wrong > 0 {
		name += ", " + measure.Fixed(100*e.wrong, 0) + " % of classes wrong"
	}
	return name
}

// of returns the name of the class.
func (e *expectation) of() string {
	if e.what[0] == messages {
		return "both"
	}
	return measure.ClassNames()[e.class]
}

func (e *expectation) expected(k int) string {
	if e.over.limit() {
		return "at most " + significant(e.want[k])
	}
	return significant(e.want[k])
}

func (e *expectation) verdict(k int, got float64) string {
	switch {
	case !e.over.limit():
		return measure.Fixed(math.Round(100*(got-e.want[k])/e.want[k])+0, 0) + " %" // + 0 makes a 0 of -0
	case got <= e.want[k]:
		return "holds"
	}
	return measure.Fixed(100*(got-e.want[k])/e.want[k], 0) + " % above"
}

// in returns the cells of a setting.
func (c *Comparison) in(s *setting) (cells []int) {
	m := &c.Manifest
	if m.Policies[0] != "pigeon" || s.drawn != (m.Resample > 0) || s.workers != m.Workers || s.uneven != (m.GroupSizes() != "") || m.WrongClass != s.wrong || m.Noise > 0 || m.Undeclared > 0 || m.Owners != nil || m.Wide != nil || m.Gangs != nil {
		return nil
	}
	// All expected figures are of 10 % reserved workers, W infinite and 0.5 ms (docs/policies.md).
	if len(m.Groups) != s.groups || !near(m.Cutoff, s.cutoff) || !near(m.Reserved, 0.1) || m.Weight != 0 || !near(m.Delay, 0.0005) {
		return nil
	}
	for i := range c.Cells {
		if cell := &c.Cells[i].Cell; cell.Asked == s.load && strings.HasPrefix(TraceName(cell.Trace), s.family) {
			cells = append(cells, i)
		}
	}
	return cells
}

// near reports whether two settings are equal but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// figure returns the measurement of a cell for an expectation, missing if there is none.
func (c *Comparison) figure(cell int, e *expectation, what string, all []*Comparison) Interval {
	value, relative := c.completion(cell, e.policy, e.class, what)
	switch e.over {
	case overPigeon, overWrongPigeon:
		return relative
	case overSecond:
		return value
	case overLongestTask:
		bound, _ := c.completion(cell, LongestTask, e.class, what)
		return alone(float64(value.Mean) / float64(bound.Mean))
	case overEvenPigeon:
		return alone(float64(value.Mean) / evenPigeon(e, what, all))
	}
	return c.Cells[cell].messages(e.policy)
}

// completion returns the times of a cell's policy, and their ratio to pigeon's.
func (c *Comparison) completion(cell int, policy string, class int, what string) (value, relative Interval) {
	return completionIn(c.Cells[cell].rows(cell, class), policy, what)
}

// completionIn finds the completion times of a simulated policy, or of a bound, among
// rows; both values are missing when there are none.
func completionIn(rows []Row, policy, what string) (value, relative Interval) {
	for _, r := range rows {
		if r.Mode != ModeLive && r.Policy == policy && r.Of == "completion" && r.What == what {
			return r.Value, r.Relative
		}
	}
	return alone(math.NaN()), alone(math.NaN())
}

// evenPigeon returns pigeon's time in equal groups, from another comparison.
func evenPigeon(e *expectation, what string, all []*Comparison) float64 {
	even := e.setting
	even.uneven = false
	for _, c := range all {
		for _, i := range c.in(&even) {
			value, _ := c.completion(i, "pigeon", e.class, what)
			return float64(value.Mean)
		}
	}
	return math.NaN()
}

// messages returns a policy's messages for each task, over the seeds.
func (r *CellResult) messages(policy string) Interval {
	var each []float64
	for k := range r.Policies {
		if r.Policies[k].Policy == policy {
			for n := range r.Policies[k].Results {
				each = append(each, float64(r.Policies[k].Results[n].MessagesPerTask))
			}
		}
	}
	return meanOf(each)
}

// alone returns a figure without an interval.
func alone(x float64) Interval { return meanOf([]float64{x}) }
