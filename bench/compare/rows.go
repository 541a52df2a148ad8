package compare

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Row is one figure of one policy, or reference, on one cell.
type Row struct {
	Cell   int // index
	Mode   string
	Policy string
	Class  int    // 0 short, 1 long
	Of     string // "completion", "queueing", "slowdown"
	What   string // "mean", "p50", "p90", "p99"
	Seeds  int
	// Value is in seconds (a ratio for slowdown), Relative to the first policy.
	Value, Relative Interval
}

// Modes of a row.
const (
	ModeSim       = "sim"
	ModeLive      = "live"
	ModeReference = "bound" // its name in results.csv from before it was known that policies pass one of them
)

type quantity struct {
	name string
	of   func(*measure.Summary) *measure.Distribution
}

func measured() []quantity {
	return []quantity{
		{"completion", func(s *measure.Summary) *measure.Distribution { return &s.Completion }},
		{"queueing", func(s *measure.Summary) *measure.Distribution { return &s.Queueing }},
		{"slowdown", func(s *measure.Summary) *measure.Distribution { return &s.Slowdown }},
	}
}

// Rows returns every figure of the comparison, cell by cell and class by class: first
// the simulated policies, then the references, then the live runs.
func (c *Comparison) Rows() (rows []Row) {
	for i := range c.Cells {
		for class := range 2 {
			rows = append(rows, c.Cells[i].rows(i, class)...)
		}
	}
	return rows
}

// rows returns the figures of a class, over the seeds whose workloads have jobs of it: a workload
// that is drawn may have none.
func (r *CellResult) rows(cell, c int) (rows []Row) {
	seeds := r.seedsWith(c)
	if len(seeds) == 0 {
		return nil
	}
	first := pick(r.Policies[0].Results, seeds)
	for k := range r.Policies {
		p := &r.Policies[k]
		for _, q := range measured() {
			rows = append(rows, compareAll(Row{Cell: cell, Mode: ModeSim, Policy: p.Policy, Class: c, Of: q.name},
				distributions(pick(p.Results, seeds), c, q), distributions(first, c, q))...)
		}
	}
	completion := measured()[0]
	for _, b := range []struct {
		name string
		of   []measure.ByClass
	}{{LongestTask, r.Longest}, {Clairvoyant, r.Clairvoyant}} {
		var ds []*measure.Distribution
		for _, s := range seeds {
			ds = append(ds, b.of[s].Class(c))
		}
		rows = append(rows, compareAll(Row{Cell: cell, Mode: ModeReference, Policy: b.name, Class: c, Of: completion.name},
			ds, distributions(first, c, completion))...)
	}
	if seeds[0] != 0 { // that of the live runs
		return rows
	}
	for k := range r.Policies {
		p := &r.Policies[k]
		for _, q := range measured() {
			// All live runs have the first seed; they are divided by the live run of
			// the first policy with the same number, where there is one.
			rows = append(rows, compareAll(Row{Cell: cell, Mode: ModeLive, Policy: p.Policy, Class: c, Of: q.name},
				distributions(p.Live, c, q), distributions(r.Policies[0].Live, c, q))...)
		}
	}
	return rows
}

// seedsWith returns the indices of the seeds whose workloads have jobs of a class.
func (r *CellResult) seedsWith(c int) (seeds []int) {
	for s := range r.Longest {
		if !math.IsNaN(float64(r.Longest[s].Class(c).Mean)) {
			seeds = append(seeds, s)
		}
	}
	return seeds
}

// pick returns the results with these indices.
func pick(results []measure.Result, indices []int) (picked []measure.Result) {
	for _, i := range indices {
		picked = append(picked, results[i])
	}
	return picked
}

func distributions(results []measure.Result, c int, q quantity) (ds []*measure.Distribution) {
	for i := range results {
		ds = append(ds, q.of(results[i].Class(c)))
	}
	return ds
}

// compareAll returns a row for each statistic; like holds the other fields.
func compareAll(like Row, of, reference []*measure.Distribution) (rows []Row) {
	if len(of) == 0 {
		return nil
	}
	for _, s := range measure.Statistics() {
		var values, ratios []float64
		for i, d := range of {
			values = append(values, float64(s.Of(d)))
			if i < len(reference) {
				ratios = append(ratios, float64(s.Of(d))/float64(s.Of(reference[i])))
			}
		}
		row := like
		row.What, row.Seeds, row.Value, row.Relative = s.Name, len(values), meanOf(values), ratioOf(ratios)
		rows = append(rows, row)
	}
	return rows
}
