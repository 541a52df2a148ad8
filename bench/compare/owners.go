package compare

import (
	"context"
	"math"
	"strconv"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// addAlone adds to the result of a run with a flood what the others get in the same run
// without it.
func (p *Prepared) addAlone(ctx context.Context, run *experiment.Run, into *measure.Result) error {
	alone, ok := run.WithoutFlood()
	if !ok {
		return nil
	}
	w, err := alone.Workload()
	if err != nil {
		return err
	}
	out, err := alone.Simulate(ctx, w, experiment.SimOptions{Delay: p.plan.Delay})
	if err != nil {
		return err
	}
	result := alone.Result(w, out)
	into.OthersAlone = result.Others
	return nil
}

// ownerTables are the tables of owners: what the others get during a flood, and how the use of
// workers agrees with the weights.
func (r *CellResult) ownerTables() (tables []markdown.Table) {
	first := &r.Policies[0].Results[0]
	if first.OthersAlone != nil {
		tables = append(tables, r.floods())
	}
	if first.Fairness != nil {
		tables = append(tables, r.fairness())
	}
	return tables
}

func (r *CellResult) floods() markdown.Table {
	t := markdown.Table{Head: []string{"all owners but the one that floods", "short mean / without the flood", "short p99 /", "long mean /", "long p99 /", "short mean (s)", "short p99 (s)", "without: short mean (s)", "short p99 (s)", "the flood's short mean (s)", "p99 (s)"}}
	mean, p99 := measure.Statistics()[0].Of, measure.Statistics()[3].Of
	for i := range r.Policies {
		p := &r.Policies[i]
		cells := []string{p.Policy}
		for class := range 2 {
			for _, of := range []func(*measure.Distribution) measure.Number{mean, p99} {
				cells = append(cells, ratio(ratioOf(each(p.Results, func(x *measure.Result) float64 {
					return float64(of(x.Others.Class(class)) / of(x.OthersAlone.Class(class)))
				}))))
			}
		}
		for _, of := range []func(x *measure.Result) measure.Number{
			func(x *measure.Result) measure.Number { return x.Others.Short.Mean },
			func(x *measure.Result) measure.Number { return x.Others.Short.P99 },
			func(x *measure.Result) measure.Number { return x.OthersAlone.Short.Mean },
			func(x *measure.Result) measure.Number { return x.OthersAlone.Short.P99 },
			func(x *measure.Result) measure.Number { return x.OwnerOf(workload.FloodOwner).Short.Completion.Mean },
			func(x *measure.Result) measure.Number { return x.OwnerOf(workload.FloodOwner).Short.Completion.P99 },
		} {
			cells = append(cells, timed(meanOf(each(p.Results, func(x *measure.Result) float64 { return float64(of(x)) }))))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (r *CellResult) fairness() markdown.Table {
	t := markdown.Table{Head: []string{"use of workers over what owners are entitled to, while they compete"}}
	for _, name := range measure.ClassNames() {
		t.Head = append(t.Head, name+" tasks: Jain's index", "least of a window", "windows", "least and most of an owner")
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		cells := []string{p.Policy}
		for class := range 2 {
			fair := func(of func(*measure.ClassFairness) float64) Interval {
				return meanOf(each(p.Results, func(x *measure.Result) float64 { return of(x.Fairness.Class(class)) }))
			}
			least, most := extremes(p.Results, class)
			cells = append(cells, index(fair(func(f *measure.ClassFairness) float64 { return float64(f.Jain) })),
				index(fair(func(f *measure.ClassFairness) float64 { return float64(f.Least) })),
				measure.Significant(float64(fair(func(f *measure.ClassFairness) float64 { return float64(f.Windows) }).Mean)),
				measure.Fixed(least, 3)+" - "+measure.Fixed(most, 3))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// index formats an index of fairness, which is near 1.
func index(in Interval) string {
	if math.IsNaN(float64(in.Mean)) {
		return "-"
	}
	return strconv.FormatFloat(float64(in.Mean), 'f', 4, 64)
}

// extremes returns the least and the most that an owner used of what it was entitled to.
func extremes(results []measure.Result, class int) (least, most float64) {
	least, most = math.NaN(), math.NaN()
	for i := range results {
		for k := range results[i].Owners {
			c := results[i].Owners[k].Class(class)
			if !(c.Entitled > 0) {
				continue
			}
			x := float64(c.Contended / c.Entitled)
			if !(least <= x) {
				least = x
			}
			if !(most >= x) {
				most = x
			}
		}
	}
	return least, most
}

func each(results []measure.Result, of func(*measure.Result) float64) (values []float64) {
	for i := range results {
		values = append(values, of(&results[i]))
	}
	return values
}
