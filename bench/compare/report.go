package compare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/measure"
)

// Report writes report.md: how it was made, tables and figures.
func (c *Comparison) Report(w io.Writer) error {
	out := &markdown{w: w}
	out.linef("# Policies compared\n")
	c.describe(out)
	for i := range c.Cells {
		c.cell(out, i)
	}
	out.linef("## Figures\n")
	for _, f := range c.figureList() {
		out.linef("![%s](%s/%s.svg)\n\n%s ([PNG](%s/%s.png)).\n", f.Caption, FigureFolder, f.Base, f.Caption, FigureFolder, f.Base)
	}
	out.linef("%s", howToRead)
	return out.err
}

const howToRead = `## How to read this

- Completion time: from a job's arrival at its frontend to the report of its last task. Classes are the true ones.
- A ratio is to the first policy on the same workload with the same seed; the geometric mean over the seeds stands first, the 95 % interval (Student's t over seeds, on logarithms) in brackets.
  Without brackets there was one seed, or all agree. Times are means over the seeds, with the interval of t.
- *longest task* and *clairvoyant* are bounds: no queueing at all, and preemptive shortest remaining work over all workers with every duration known. A percentile is not a mean: a policy may pass a percentile of
  the clairvoyant schedule in one class at the cost of the other, never the longest task.
- State is what a core has in memory, by its own data structures: the bytes (and elements of lists and tables: jobs, queued tasks, reservations, known workers) of the core that held the most, at the fullest of 32 instants of
  the run with the first seed. Live, a daemon adds payloads, connections and the journal.
- Figures over time are of the first seed. Of the bound *longest task*: no task waits, and busy workers are cut at the number of workers there are. A waiting task is one that has not started; what a policy or the
  clairvoyant schedule has suspended does not count as waiting.
`

// markdown writes lines and keeps the first error.
type markdown struct {
	w   io.Writer
	err error
}

func (m *markdown) linef(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", args...)
	}
}

func (m *markdown) row(cells ...string) { m.linef("| %s |", strings.Join(cells, " | ")) }

// head writes the head of a table: the first column to the left, the others to
// the right.
func (m *markdown) head(names ...string) {
	m.row(names...)
	m.linef("| --- |%s", strings.Repeat(" ---: |", len(names)-1))
}

// describe says how the comparison was made.
func (c *Comparison) describe(out *markdown) {
	m := &c.Manifest
	out.linef("```\n%s\n```\n", quote(m.Command))
	out.linef("- Cluster: %d workers in %d groups%s, reserved %g, W %s, cutoff %g s, message delay %g ms (simulated).", m.Workers, len(m.Groups), sizes(m.Groups), m.Reserved, weight(m.Weight), m.Cutoff, 1000*m.Delay)
	seeds := fmt.Sprintf("seed %d", m.Seed)
	if m.Seeds > 1 {
		seeds = fmt.Sprintf("seeds %d to %d", m.Seed, m.Seed+uint64(m.Seeds)-1) //nolint:gosec // a count above 0
	}
	if m.Resample > 0 {
		seeds += fmt.Sprintf("; each draws %d jobs of the trace, with Poisson arrivals", m.Resample)
	} else {
		seeds += "; all on the trace's own jobs and order, so they differ in the policies' draws alone"
	}
	out.linef("- Runs: %s.", seeds)
	if m.WrongClass+m.Noise > 0 {
		out.linef("- Mistakes: %g of the jobs declare the wrong class, noise %g on estimates; classes below are the true ones.", m.WrongClass, m.Noise)
	}
	if m.Speedup > 0 {
		out.linef("- Live runs: speedup %g, isolation %s; their times are multiplied back.", m.Speedup, m.Isolation)
	}
	out.linef("- Program: %s.", m.Program)
	out.linef("- Machine: %s.\n", m.Machine)
}

// sizes names the groups where they are not even.
func sizes(groups []int) string {
	for _, g := range groups {
		if g > groups[0] || g < groups[0]-1 {
			return " of " + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(groups), "[]")), ", ")
		}
	}
	return ""
}

func weight(w int) string {
	if w == 0 {
		return "infinite"
	}
	return strconv.Itoa(w)
}

// quote makes a command line that a shell reads as it was.
func quote(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (c *Comparison) cell(out *markdown, i int) {
	r := &c.Cells[i]
	out.linef("## %s, %s\n", TraceName(r.Cell.Trace), r.Cell.Label())
	first := &r.Policies[0].Results[0]
	out.linef("%d jobs (%d short, %d long), %d tasks, load %.3f.\n", r.Cell.Jobs, first.Short.Jobs, first.Long.Jobs, r.Cell.Tasks, r.Cell.Load)
	for class, name := range classNames() {
		if rows := r.rows(i, class); len(rows) > 0 {
			c.table(out, name, rows)
		}
	}
	r.costs(out)
	r.states(out)
	r.agreement(out)
}

// table shows one class: ratios of every policy and bound, and times.
func (c *Comparison) table(out *markdown, class string, rows []Row) {
	reference := c.Manifest.Policies[0]
	out.head(class+" jobs, completion", "mean / "+reference, "p50", "p90", "p99", "mean (s)", "p50 (s)", "p90 (s)", "p99 (s)")
	for start := range rows {
		r := rows[start]
		if r.Of != "completion" || r.What != "mean" {
			continue
		}
		name := r.Policy
		switch r.Mode {
		case ModeBound:
			name = "*" + name + "*"
		case ModeLive:
			name += ", live"
		}
		cells := []string{name}
		for k := range statistics() {
			cells = append(cells, ratio(rows[start+k].Relative))
		}
		for k := range statistics() {
			cells = append(cells, timed(rows[start+k].Value))
		}
		out.row(cells...)
	}
	out.linef("")
}

// ratio shows a mean, and its interval where there is one.
func ratio(in Interval) string {
	if !in.wide() {
		return significant(float64(in.Mean))
	}
	return significant(float64(in.Mean)) + " [" + significant(float64(in.Low)) + ", " + significant(float64(in.High)) + "]"
}

// timed likewise, of a mean that its interval lies around.
func timed(in Interval) string {
	if !in.wide() {
		return significant(float64(in.Mean))
	}
	return significant(float64(in.Mean)) + " ± " + significant(float64(in.High-in.Mean))
}

// wide reports whether the interval is one to show: it is not for one seed, nor
// where all seeds agree but for rounding.
func (in Interval) wide() bool {
	return float64(in.High-in.Low) > 1e-9*math.Abs(float64(in.Mean)) // not so for NaN
}

// significant shows three digits, without an exponent; 1 is what is the reference.
func significant(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "-"
	case x == 0 || x == 1:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', min(max(2-int(math.Floor(math.Log10(math.Abs(x)))), 0), 6), 64)
}

// costs shows what scheduling took.
func (r *CellResult) costs(out *markdown) {
	out.head("simulated", "messages / task", "suspensions / task", "attempts / task", "workers busy", "short jobs unqueued", "long jobs unqueued", "makespan (s)", "run took (s)")
	for _, p := range r.Policies {
		var sums [8]float64
		for k := range p.Results {
			x := &p.Results[k]
			for i, v := range []float64{
				float64(x.MessagesPerTask), float64(x.SuspensionsPerTask), float64(x.Attempts) / float64(x.Tasks), 100 * float64(x.Utilization),
				100 * float64(x.Short.Unqueued), 100 * float64(x.Long.Unqueued), float64(x.Makespan), float64(x.Wall),
			} {
				sums[i] += v / float64(len(p.Results))
			}
		}
		out.row(p.Policy, fixed(sums[0], 2), fixed(sums[1], 3), fixed(sums[2], 3), fixed(sums[3], 1)+" %", fixed(sums[4], 1)+" %", fixed(sums[5], 1)+" %", fixed(sums[6], 1), fixed(sums[7], 2))
	}
	out.linef("")
}

func fixed(x float64, decimals int) string {
	if math.IsNaN(x) {
		return "-"
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// states shows who sends how much and who holds how much.
func (r *CellResult) states(out *markdown) {
	out.head("a task's messages, and state", "from frontends", "from masters", "from workers", "largest frontend", "largest master", "largest worker", "all together")
	for _, p := range r.Policies {
		if p.State == nil {
			continue
		}
		cells, all := []string{p.Policy}, int64(0)
		for _, role := range measure.Roles() {
			cells = append(cells, fixed(float64(p.State.ByRole(role).Sent), 2))
		}
		for _, role := range measure.Roles() {
			s := p.State.ByRole(role)
			cells, all = append(cells, storage(s.Bytes)+" ("+strconv.FormatInt(s.Entries, 10)+")"), all+s.All
		}
		out.row(append(cells, storage(all))...)
	}
	out.linef("")
}

// storage shows an amount of memory.
func storage(n int64) string {
	switch {
	case n < 10<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 10<<20:
		return fixed(float64(n)/(1<<10), 0) + " KiB"
	}
	return fixed(float64(n)/(1<<20), 0) + " MiB"
}

// agreement sets each policy's live runs beside its simulation.
func (r *CellResult) agreement(out *markdown) {
	for _, p := range r.Policies {
		if len(p.Live) == 0 || out.err != nil {
			continue
		}
		a := experiment.Agreement{Title: fmt.Sprintf("%s on %s, %s: live beside simulated", p.Policy, TraceName(r.Cell.Trace), r.Cell.Label()), Sim: p.Results[0], Live: p.Live}
		out.err = a.Markdown(out.w)
	}
}
