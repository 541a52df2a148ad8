package compare

import (
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/bench/plot"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// ModelFigures draws the paper's figures 3(a), P_job(0), and 3(b), by T_q, by group size,
// with Sparrow's, simulated points next to the lines.
func (m *Model) ModelFigures(points []ModelPoint, baseA, baseB string) error {
	if len(m.GroupSizes) < 2 {
		return fmt.Errorf("a figure by group size needs two sizes, not %d; no figure was drawn", len(m.GroupSizes))
	}
	setting := fmt.Sprintf("jobs of %d tasks, mean task %v", m.Tasks, m.MeanTask)
	both := []string{"pigeon", "sparrow"}
	panel := func(policies []string, label string, formula func(*ModelPoint) measure.Number, simulated func(*ModelSimulated) measure.Number, unit float64) plot.SeriesPanel {
		p := plot.SeriesPanel{YLabel: label}
		for _, rho := range m.Loads {
			for _, policy := range policies {
				p.Lines = append(p.Lines, m.lines(points, policy, rho, formula, simulated, unit)...)
			}
		}
		return p
	}
	queueless := plot.Series{Title: "Served without queueing: " + setting, XLabel: "workers in a group", Panels: []plot.SeriesPanel{
		panel(both, "P(job not put off)", func(p *ModelPoint) measure.Number { return p.Unqueued }, func(s *ModelSimulated) measure.Number { return s.Unqueued }, 1),
		panel(both, "P(no task waits)", func(p *ModelPoint) measure.Number { return p.NoTaskWaits }, func(s *ModelSimulated) measure.Number { return s.NoTaskWaits }, 1),
	}}
	wait := plot.Series{Title: "Expected queueing time of a task: " + setting, XLabel: "workers in a group"}
	for _, policy := range both { // on one scale Sparrow's would hide Pigeon's
		wait.Panels = append(wait.Panels, panel([]string{policy}, policy+" (ms)",
			func(p *ModelPoint) measure.Number { return p.Queueing }, func(s *ModelSimulated) measure.Number { return s.Queueing }, 1e3))
	}
	if err := queueless.WriteFiles(baseA); err != nil {
		return err
	}
	return wait.WriteFiles(baseB)
}

// lines returns the line of the formula and the marks of the simulation of a policy at a
// load, as far as they have values.
func (m *Model) lines(points []ModelPoint, policy string, rho float64, formula func(*ModelPoint) measure.Number,
	simulated func(*ModelSimulated) measure.Number, unit float64) (drawn []plot.Line) {
	name := fmt.Sprintf("%s, load %g", policy, rho)
	line := plot.Line{Name: name, Kind: plot.Straight}
	marks := plot.Line{Name: name + ", simulated", Kind: plot.Marks, Of: name}
	for i := range points {
		p := &points[i]
		if p.Policy != policy || p.Load != rho {
			continue
		}
		for _, n := range m.at(p) {
			line.Times, line.Values = append(line.Times, float64(n)), append(line.Values, unit*float64(formula(p)))
			if s := p.Simulated; s != nil {
				marks.Times, marks.Values = append(marks.Times, float64(n)), append(marks.Values, unit*float64(simulated(s)))
			}
		}
	}
	for _, l := range []plot.Line{line, marks} {
		if len(l.Times) > 0 && !math.IsNaN(l.Values[0]) {
			drawn = append(drawn, l)
		}
	}
	return drawn
}

// at returns the group sizes at which a point is drawn: its own, or all of them for a
// policy without groups.
func (m *Model) at(p *ModelPoint) []int {
	if p.Group > 0 {
		return []int{p.Group}
	}
	return m.GroupSizes
}
