package compare

import (
	"context"
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/measure"
)

// Progress is reported during a comparison.
type Progress struct {
	Done, All int
	What      string // the step that is done, or under way when it is live
}

// Prepared is a checked plan, ready to run.
type Prepared struct {
	plan  *Plan
	cells []Cell
}

// Prepare checks a plan. Every mistake in it is found here.
func (p *Plan) Prepare() (*Prepared, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	loads := p.Loads
	if len(loads) == 0 {
		loads = []float64{p.Base.Workload.Load}
	}
	prepared := &Prepared{plan: p}
	for _, trace := range p.Traces {
		for _, load := range loads {
			c, err := p.cell(trace, load)
			if err != nil {
				return nil, err
			}
			prepared.cells = append(prepared.cells, c)
		}
	}
	return prepared, nil
}

// Run makes all runs. The first failure ends it.
func (p *Prepared) Run(ctx context.Context, notify func(Progress)) (*Comparison, error) {
	c := &Comparison{Manifest: p.manifest()}
	for i := range p.cells {
		c.Cells = append(c.Cells, p.empty(&p.cells[i]))
	}
	steps := p.steps(c)
	err := experiment.InParallel(ctx, len(steps),
		func(ctx context.Context, i int) (func(), error) {
			keep, err := steps[i].do(ctx)
			if err != nil {
				err = fmt.Errorf("%s: %w", steps[i].what, err)
			}
			return keep, err
		},
		func(i int, keep func()) error {
			keep()
			notify(Progress{i + 1, len(steps), steps[i].what})
			return nil
		})
	if err == nil {
		err = p.live(ctx, c, notify)
	}
	return c, err
}

func (p *Prepared) empty(cell *Cell) CellResult {
	seeds := p.plan.Base.Seeds
	r := CellResult{Cell: *cell, Longest: make([]measure.ByClass, seeds), Clairvoyant: make([]measure.ByClass, seeds)}
	for _, policy := range p.plan.Policies {
		r.Policies = append(r.Policies, PolicyResult{Policy: policy, Results: make([]measure.Result, seeds)})
	}
	return r
}

// step is one independent piece of work. The function that do returns is called by one goroutine,
// in the order of the steps.
type step struct {
	what string
	do   func(context.Context) (keep func(), err error)
}

func (p *Prepared) steps(c *Comparison) (steps []step) {
	for i := range c.Cells {
		cell := &c.Cells[i]
		where := cell.Cell.Title()
		for seed := range p.plan.Base.Seeds {
			if seed == 0 || cell.Cell.drawn() {
				steps = append(steps, step{"bounds of " + where, func(context.Context) (func(), error) { return p.boundsStep(cell, seed) }})
			}
		}
		for k, name := range p.plan.Policies {
			for seed := range p.plan.Base.Seeds {
				what := fmt.Sprintf("%s on %s, seed %d", name, where, cell.Cell.runs[k][seed].Seed)
				steps = append(steps, step{what, func(ctx context.Context) (func(), error) { return p.simulate(ctx, cell, k, seed) }})
			}
			steps = append(steps, step{name + " over time on " + where, func(ctx context.Context) (func(), error) { return p.follow(ctx, cell, k) }})
		}
	}
	return steps
}

func (p *Prepared) boundsStep(cell *CellResult, seed int) (func(), error) {
	w, err := cell.Cell.runs[0][seed].Workload()
	if err != nil {
		return nil, err
	}
	b := boundsOf(w, cell.Cell.desc.Workers())
	return func() {
		last := seed + 1
		if !cell.Cell.drawn() { // all seeds have this workload
			last = len(cell.Longest)
		}
		for s := seed; s < last; s++ {
			cell.Longest[s], cell.Clairvoyant[s] = b.longest, b.clairvoyant
		}
		if seed == 0 {
			cell.bounds = b
		}
	}, nil
}

func (p *Prepared) simulate(ctx context.Context, cell *CellResult, k, seed int) (func(), error) {
	run := &cell.Cell.runs[k][seed]
	w, err := run.Workload()
	if err != nil {
		return nil, err
	}
	out, err := run.Simulate(ctx, w, experiment.SimOptions{Delay: p.plan.Delay})
	if err != nil {
		return nil, err
	}
	result := run.Result(w, out)
	if err := p.addAlone(ctx, run, &result); err != nil {
		return nil, err
	}
	short, long := run.Completions(w, out)
	return func() {
		into := &cell.Policies[k]
		// The bounds of a seed come before its runs.
		result.Bound.Clairvoyant = &cell.Clairvoyant[seed]
		into.Results[seed] = result
		into.curves = addCurves(into.curves, short, long)
	}, nil
}

func (p *Prepared) follow(ctx context.Context, cell *CellResult, k int) (func(), error) {
	run := &cell.Cell.runs[k][0]
	w, err := run.Workload()
	if err != nil {
		return nil, err
	}
	timeline, state, err := watch(ctx, run, w, p.plan.Delay)
	return func() { cell.Policies[k].timeline, cell.Policies[k].State = timeline, state }, err
}

// addCurves adds a run's completion times, as quantiles, to the curves of other runs.
func addCurves(to [2][]float64, short, long []float64) [2][]float64 {
	for class, times := range [][]float64{short, long} {
		slices.Sort(times)
		to[class] = append(to[class], spread(times, 1)...)
	}
	return to
}

func (p *Prepared) manifest() Manifest {
	b := &p.plan.Base
	m := Manifest{
		Machine: measure.ThisMachine(), Policies: p.plan.Policies, Workers: b.Workers(), Groups: b.Groups, Reserved: b.Reserved,
		Cutoff: b.Cutoff.Seconds(), Weight: b.Weight, Delay: p.plan.Delay.Seconds(), Seed: b.Seed, Seeds: b.Seeds,
		Resample: b.Workload.Resample, WrongClass: b.Workload.WrongClass, Noise: b.Workload.Noise, Undeclared: b.Workload.Undeclared, Owners: b.Workload.Owners, Names: b.Workload.Names, Learned: b.Learned, Cells: p.cells,
	}
	if l := p.plan.Live; l != nil {
		m.Speedup, m.Isolation, m.LivePolicies = l.speedup(), string(l.Isolation), l.Policies
	}
	return m
}
