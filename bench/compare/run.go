package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Progress is reported during a comparison.
type Progress struct {
	Done, All int
	Kept      int    // of Done: taken from an earlier comparison that was ended
	What      string // the step that is done, or in progress when it is live
	// Left is about how long the simulated runs will still take, by those that were made; 0: not
	// known.
	Left time.Duration
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
	prepared := &Prepared{plan: p}
	for _, trace := range p.Traces {
		for _, load := range p.loads() {
			c, err := p.cell(trace, load)
			if err != nil {
				return nil, err
			}
			prepared.cells = append(prepared.cells, c)
		}
	}
	if p.Live == nil {
		return prepared, nil
	}
	return prepared, p.Live.checkClusters(prepared.cells[0].runs)
}

// Run makes all runs that are not kept, or takes them. The first failure ends it.
func (p *Prepared) Run(ctx context.Context, kept *Kept, notify func(Progress)) (*Comparison, error) {
	c := &Comparison{Manifest: p.manifest()}
	for i := range p.cells {
		c.Cells = append(c.Cells, p.empty(&p.cells[i]))
	}
	steps := p.steps(c)
	for i := range steps {
		var err error
		if steps[i].file, err = kept.path(steps[i].inputs...); err != nil {
			return nil, err
		}
	}
	began, taken := time.Now(), 0
	err := experiment.InParallel(ctx, len(steps),
		func(ctx context.Context, i int) (made, error) {
			m, err := steps[i].outcome(ctx)
			if err != nil {
				err = fmt.Errorf("%s: %w", steps[i].what, err)
			}
			return m, err
		},
		func(i int, m made) error {
			steps[i].take(m.outcome)
			at := Progress{Done: i + 1, All: len(steps), What: steps[i].what}
			if m.kept {
				taken++
			}
			if own := at.Done - taken; own > 0 {
				at.Left = time.Since(began) / time.Duration(own) * time.Duration(at.All-at.Done)
			}
			at.Kept = taken
			notify(at)
			return nil
		})
	if err == nil {
		err = p.live(ctx, c, kept, notify)
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

// step is one independent piece of work. take is called by one goroutine, in the order of the
// steps.
type step struct {
	what   string
	inputs []any  // all that its outcome depends on, besides the program
	file   string // where it is kept; "" nowhere
	do     func(context.Context) (*outcome, error)
	take   func(*outcome)
}

// made is an outcome and whether it was made by an earlier comparison.
type made struct {
	*outcome
	kept bool
}

// outcome takes the outcome of a step from its file, or makes it and writes the file.
func (s *step) outcome(ctx context.Context) (made, error) {
	if o := read(s.file); o != nil {
		return made{o, true}, nil
	}
	o, err := s.do(ctx)
	if err == nil {
		err = o.write(s.file)
	}
	return made{o, false}, err
}

func (p *Prepared) steps(c *Comparison) (steps []step) {
	for i := range c.Cells {
		cell := &c.Cells[i]
		where := cell.Cell.Title()
		for seed := range p.plan.Base.Seeds {
			if seed == 0 || cell.Cell.drawn() {
				steps = append(steps, step{
					what: "references of " + where, inputs: p.inputs("references", cell, 0, seed),
					do:   func(context.Context) (*outcome, error) { return p.references(cell, seed) },
					take: func(o *outcome) { cell.takeReferences(o.Refs, seed) },
				})
			}
		}
		for k, name := range p.plan.Policies {
			for seed := range p.plan.Base.Seeds {
				kind := "run"
				if seed == 0 {
					kind = "run over time"
				}
				steps = append(steps, step{
					what: fmt.Sprintf("%s on %s, seed %d", name, where, cell.Cell.runs[k][seed].Seed), inputs: p.inputs(kind, cell, k, seed),
					do:   func(ctx context.Context) (*outcome, error) { return p.simulate(ctx, cell, k, seed) },
					take: func(o *outcome) { cell.takeRun(o, k, seed) },
				})
			}
		}
	}
	return steps
}

// inputs returns all that a step depends on.
func (p *Prepared) inputs(kind string, cell *CellResult, policy, seed int) []any {
	d, run := *cell.Cell.desc, &cell.Cell.runs[policy][seed]
	d.Policies, d.Seed, d.Seeds = nil, 0, 0
	if kind == "references" {
		return []any{kind, cell.Cell.digest, d, run.Seed}
	}
	return []any{kind, cell.Cell.digest, d, run.Seed, run.Policy, p.plan.Delay}
}

func (p *Prepared) references(cell *CellResult, seed int) (*outcome, error) {
	w, err := cell.Cell.runs[0][seed].Workload()
	if err != nil {
		return nil, err
	}
	r := referencesOf(w, cell.Cell.desc.Workers())
	return &outcome{Refs: &keptReferences{r.longest, r.clairvoyant, r.curves, r.timelines}}, nil
}

func (r *CellResult) takeReferences(kept *keptReferences, seed int) {
	last := seed + 1
	if !r.Cell.drawn() { // all seeds have this workload
		last = len(r.Longest)
	}
	for s := seed; s < last; s++ {
		r.Longest[s], r.Clairvoyant[s] = kept.Longest, kept.Clairvoyant
	}
	if seed == 0 {
		r.references = &references{kept.Longest, kept.Clairvoyant, kept.Curves, kept.Timelines}
	}
}

// simulate makes a run. That of the first seed is also followed over time, and the state of
// its cores is measured.
func (p *Prepared) simulate(ctx context.Context, cell *CellResult, k, seed int) (*outcome, error) {
	run := &cell.Cell.runs[k][seed]
	w, err := run.Workload()
	if err != nil {
		return nil, err
	}
	made, options := &outcome{}, experiment.SimOptions{Delay: p.plan.Delay}
	if seed == 0 {
		f, peak := follower(w), measure.NewStatePeak(len(w.Jobs))
		made.Timeline, made.State = f.Timeline, &peak.State
		options.Observer, options.Inspector = f, peak
	}
	out, err := run.Simulate(ctx, w, options)
	if err != nil {
		return nil, err
	}
	if made.State != nil {
		for _, role := range measure.Roles() {
			made.State.ByRole(role).Sent = measure.Number(float64(out.Sent[role]) / float64(w.Tasks()))
		}
	}
	result := run.Result(w, out)
	if err := p.addAlone(ctx, run, &result); err != nil {
		return nil, err
	}
	if err := p.addSplit(ctx, run, w, &result); err != nil {
		return nil, err
	}
	short, long := run.Completions(w, out)
	made.Result, made.Curves = &result, addCurves([2][]float64{}, short, long)
	return made, nil
}

// takeRun takes a simulated run; the references of its seed were taken before.
func (r *CellResult) takeRun(o *outcome, policy, seed int) {
	into := &r.Policies[policy]
	o.Result.References.Clairvoyant = &r.Clairvoyant[seed]
	into.Results[seed] = *o.Result
	into.curves = joinCurves(into.curves, o.Curves)
	if seed == 0 {
		into.timeline, into.State = o.Timeline, o.State
	}
}

func joinCurves(to, more [2][]float64) [2][]float64 {
	for class := range to {
		to[class] = append(to[class], more[class]...)
	}
	return to
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
		Resample: b.Workload.Resample, WrongClass: b.Workload.WrongClass, Noise: b.Workload.Noise, Undeclared: b.Workload.Undeclared, Owners: b.Workload.Owners, Wide: b.Workload.Wide, Gangs: b.Workload.Gangs, NodeSlots: b.NodeSlots, Names: b.Workload.Names, Learned: b.Learned, Cells: p.cells,
	}
	if l := p.plan.Live; l != nil {
		m.Speedup, m.Isolation, m.LivePolicies = l.speedup(), string(l.Isolation), l.Policies
	}
	return m
}
