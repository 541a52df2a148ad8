package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// Live describes the live runs that accompany the simulation, with the first seed.
type Live struct {
	Policies  []string // of those compared; none means all
	Runs      int      // of each policy on each cell
	Speedup   float64  // 0 means 1
	Isolation cluster.Isolation
}

// MaxLiveRuns bounds the live runs of a policy on a cell.
const MaxLiveRuns = 100

func (l *Live) chosen(policy string) bool {
	return len(l.Policies) == 0 || slices.Contains(l.Policies, policy)
}

func (l *Live) speedup() float64 { return cmp.Or(l.Speedup, 1) }

func (l *Live) check(policies []string) error {
	for _, p := range l.Policies {
		if !slices.Contains(policies, p) {
			return fmt.Errorf("%q is to run live and is not among the policies compared; did you mean %q? Nothing was run", p, nearest.Word(p, policies))
		}
	}
	if l.Runs < 1 || l.Runs > MaxLiveRuns {
		return fmt.Errorf("%d live runs are outside 1 to %d; nothing was run", l.Runs, MaxLiveRuns)
	}
	return l.Isolation.Check()
}

// checkClusters refuses runs, by policy and seed, whose clusters this machine cannot start:
// [cluster.Start] would find them only after all simulations. The cells have the same clusters.
func (l *Live) checkClusters(runs [][]experiment.Run) error {
	for _, seeds := range runs {
		run := &seeds[0]
		if !l.chosen(run.Policy) {
			continue
		}
		if err := run.CheckLive(); err != nil {
			return err
		}
		spec := replay.Spec(run)
		if err := spec.Fits(); err != nil {
			return fmt.Errorf("%s cannot run live: %w; nothing was run; ask for a smaller cluster, or leave --live out", run.Policy, err)
		}
	}
	return nil
}

// live makes the live runs one after another, so that each has the machine to itself.
func (p *Prepared) live(ctx context.Context, c *Comparison, kept *Kept, notify func(Progress)) error {
	l := p.plan.Live
	if l == nil {
		return nil
	}
	all, done := 0, 0
	for _, name := range p.plan.Policies {
		if l.chosen(name) {
			all += len(c.Cells) * l.Runs
		}
	}
	for i := range c.Cells {
		for k := range c.Cells[i].Policies {
			into := &c.Cells[i].Policies[k]
			for n := range l.Runs {
				if !l.chosen(into.Policy) {
					continue
				}
				what := into.Policy + " live on " + c.Cells[i].Cell.Title()
				progress := func(left time.Duration) {
					notify(Progress{Done: done, All: all, What: fmt.Sprintf("%s, about %.0f s left", what, left.Seconds())})
				}
				s := step{what: what, do: func(ctx context.Context) (*outcome, error) {
					return p.liveRun(ctx, &c.Cells[i].Cell.runs[k][0], progress)
				}}
				var err error
				if s.file, err = kept.path(append(p.inputs("live", &c.Cells[i], k, 0), n, l.speedup(), string(l.Isolation))...); err != nil {
					return err
				}
				o, err := s.outcome(ctx)
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				into.Live = append(into.Live, *o.Result)
				into.liveCurves = joinCurves(into.liveCurves, o.Curves)
				done++
				notify(Progress{Done: done, All: all, What: what})
			}
		}
	}
	return nil
}

// liveRun makes one live run, with the cluster of the simulated run and its workload,
// sped up.
func (p *Prepared) liveRun(ctx context.Context, simulated *experiment.Run, notify func(left time.Duration)) (*outcome, error) {
	d := *simulated.Description
	d.Policies, d.Seeds, d.Workload.Speedup = []string{simulated.Policy}, 1, p.plan.Live.speedup()
	runs, err := d.Runs()
	if err != nil {
		return nil, err
	}
	run := &runs[0]
	w, err := run.Workload()
	if err != nil {
		return nil, err
	}
	others := measure.WatchOthers()
	m, err := replay.OnNewCluster(ctx, run, w, replay.ClusterOptions{Isolation: p.plan.Live.Isolation, Progress: func(at replay.Progress) { notify(at.Left) }})
	if err != nil {
		return nil, err
	}
	if m.Outcome.Facts.Partial {
		return nil, fmt.Errorf("it was ended before its workload; %w", context.Cause(ctx))
	}
	result := run.Result(w, m.Outcome)
	result.NoteOthers(others)
	short, long := run.Completions(w, m.Outcome)
	return &outcome{Result: &result, Curves: addCurves([2][]float64{}, short, long)}, nil
}
