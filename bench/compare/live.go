package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/internal/cluster"
	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// Live describes the live runs beside the simulation, with the first seed.
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

// live makes the live runs one after another, so that each has the machine to itself.
func (p *Prepared) live(ctx context.Context, c *Comparison, notify func(Progress)) error {
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
			for range l.Runs {
				if !l.chosen(into.Policy) {
					continue
				}
				what := into.Policy + " live on " + c.Cells[i].Cell.Title()
				progress := func(left time.Duration) {
					notify(Progress{done, all, fmt.Sprintf("%s, about %.0f s left", what, left.Seconds())})
				}
				if err := p.liveRun(ctx, &c.Cells[i].Cell.runs[k][0], into, progress); err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				done++
				notify(Progress{done, all, what})
			}
		}
	}
	return nil
}

// liveRun makes one live run, with the cluster of the simulated run and its workload,
// sped up.
func (p *Prepared) liveRun(ctx context.Context, simulated *experiment.Run, into *PolicyResult, notify func(left time.Duration)) error {
	d := *simulated.Description
	d.Policies, d.Seeds, d.Workload.Speedup = []string{simulated.Policy}, 1, p.plan.Live.speedup()
	runs, err := d.Runs()
	if err != nil {
		return err
	}
	run := &runs[0]
	w, err := run.Workload()
	if err != nil {
		return err
	}
	m, err := replay.OnNewCluster(ctx, run, w, replay.ClusterOptions{
		Isolation: p.plan.Live.Isolation, Progress: func(at replay.Progress) { notify(at.Left) },
	})
	if err != nil {
		return err
	}
	if m.Outcome.Facts.Partial {
		return fmt.Errorf("it was ended before its workload; %w", context.Cause(ctx))
	}
	into.Live = append(into.Live, run.Result(w, m.Outcome))
	short, long := run.Completions(w, m.Outcome)
	into.liveCurves = addCurves(into.liveCurves, short, long)
	return nil
}
