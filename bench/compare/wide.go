package compare

import (
	"context"

	"github.com/pigeon-sched/pigeon/bench/markdown"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// addSplit adds to the result of a run with tasks of several slots, or gangs, what the other jobs get
// when that work is in unit tasks. w is the workload of the run.
func (p *Prepared) addSplit(ctx context.Context, run *experiment.Run, w *workload.Workload, into *measure.Result) error {
	split, ok := run.WithoutDemand()
	if !ok || into.Wide == nil {
		return nil
	}
	units, err := split.Workload()
	if err != nil {
		return err
	}
	out, err := split.Simulate(ctx, units, experiment.SimOptions{Delay: p.plan.Delay})
	if err != nil {
		return err
	}
	var took [2][]int64
	for i := range w.Jobs {
		if j, got := &w.Jobs[i], &out.Jobs[i]; j.IsUnit() && got.Ended {
			took[j.TrueClass()] = append(took[j.TrueClass()], got.End-got.Arrival)
		}
	}
	unit := 1e-9 * run.Description.Speedup()
	into.Wide.UnitSplit = &measure.ByClass{Short: measure.Describe(took[0], unit), Long: measure.Describe(took[1], unit)}
	return nil
}

// wideTable is the table of tasks of several slots and of gangs, nil when the runs had none.
func (r *CellResult) wideTable() []markdown.Table {
	if r.Policies[0].Results[0].Wide == nil {
		return nil
	}
	t := markdown.Table{Head: []string{"tasks of several slots, and gangs", "other short jobs' p99 / with that work in unit tasks", "slots held back beside waiting unit tasks",
		"tasks: mean wait / offline backfill", "p99 /", "mean wait (s)", "gangs: mean wait / offline backfill", "p99 /", "mean wait (s)"}}
	for i := range r.Policies {
		p := &r.Policies[i]
		over := func(of func(*measure.WideResult) (a, b measure.Number)) string {
			return ratio(ratioOf(each(p.Results, func(x *measure.Result) float64 {
				a, b := of(x.Wide)
				return float64(a / b)
			})))
		}
		mean := func(of func(*measure.WideResult) measure.Number) Interval {
			return meanOf(each(p.Results, func(x *measure.Result) float64 { return float64(of(x.Wide)) }))
		}
		t.Rows = append(t.Rows, []string{
			p.Policy,
			over(func(x *measure.WideResult) (a, b measure.Number) { return x.Unit.Short.P99, x.UnitSplit.Short.P99 }),
			measure.Fixed(100*float64(mean(func(x *measure.WideResult) measure.Number { return x.Held }).Mean), 2) + " %",
			over(func(x *measure.WideResult) (a, b measure.Number) { return x.Wait.Mean, x.Reference.Mean }),
			over(func(x *measure.WideResult) (a, b measure.Number) { return x.Wait.P99, x.Reference.P99 }),
			timed(mean(func(x *measure.WideResult) measure.Number { return x.Wait.Mean })),
			over(func(x *measure.WideResult) (a, b measure.Number) { return x.GangWait.Mean, x.GangReference.Mean }),
			over(func(x *measure.WideResult) (a, b measure.Number) { return x.GangWait.P99, x.GangReference.P99 }),
			timed(mean(func(x *measure.WideResult) measure.Number { return x.GangWait.Mean })),
		})
	}
	return []markdown.Table{t}
}
