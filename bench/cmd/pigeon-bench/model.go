package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/pigeon-sched/pigeon/bench/compare"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/spf13/cobra"
)

func modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		GroupID: cli.GroupMeasure,
		Short:   "Compute how likely a job is served without queueing, by group size and load",
		Long: `The queueing model of section 3 of the Pigeon paper: the probability
that a job is served without queueing and the expected queueing time, for Pigeon by
group size and load, and for Sparrow, whose queueing time the paper leaves out and
bench/model/README.md derives. With --simulate the same is simulated; with --out the
paper's figures 3(a) and 3(b) are drawn; figures 2 and 4, the same over the load, are not.`,
		Example: `  pigeon-bench model
  pigeon-bench model --group-sizes 40,100 --loads 0.7,0.95 -o json
  pigeon-bench model --simulate 10000 --out out/model          compared with simulation, in some minutes`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var m compare.Model
	var out string
	fs := cmd.Flags()
	fs.IntSliceVar(&m.GroupSizes, "group-sizes", []int{50, 75, 100, 125, 150, 175, 200}, "workers of a group")
	fs.Float64SliceVar(&m.Loads, "loads", []float64{0.8, 0.9}, "loads, above 0 and below 1")
	fs.IntVar(&m.Tasks, "tasks", 100, "tasks of a job")
	fs.DurationVar(&m.MeanTask, "mean", 100*time.Millisecond, "mean task duration")
	fs.IntVar(&m.Jobs, "simulate", 0, "simulate every point with this many jobs (0 = do not)")
	fs.IntVar(&m.Workers, "workers", 30_000, "simulated workers in all; as many as fill whole groups are used")
	fs.DurationVar(&m.Delay, "delay", 500*time.Microsecond, "one-way delay of a simulated message")
	fs.Uint64Var(&m.Seed, "seed", 1, "seed of the simulation")
	fs.StringVar(&out, "out", "", "folder for figures 3(a) and 3(b), SVG and PNG")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		slices.Sort(m.GroupSizes)
		if err := m.Check(); err != nil {
			return cli.AsUsageError(err)
		}
		if out != "" {
			if err := os.MkdirAll(out, 0o755); err != nil {
				return cli.AsUsageError(fmt.Errorf("the folder for the figures cannot be made: %w; nothing was computed; name another by --out", err))
			}
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		points, err := m.Points(cmd.Context(), func(p compare.Progress) { show.Linef("%d of %d simulated: %s", p.Done, p.All, p.What) })
		show.Clear()
		if err != nil {
			return fmt.Errorf("the simulation did not come to its end: %w", err)
		}
		if out != "" {
			if err := m.ModelFigures(points, filepath.Join(out, "figure3a"), filepath.Join(out, "figure3b")); err != nil {
				return err
			}
		}
		return printModel(cmd.OutOrStdout(), &m, points, *output)
	}
	return cmd
}

func printModel(out io.Writer, m *compare.Model, points []compare.ModelPoint, output cli.OutputFormat) error {
	if output == cli.OutputJSON {
		return cli.WriteAllJSON(out, points)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "policy\tload\tno task waits\tjob not put off\tqueueing (ms)\t")
	if m.Jobs > 0 {
		fmt.Fprint(t, "simulated:\tno task waits\tjob not put off\tqueueing (ms)\t")
	}
	fmt.Fprintln(t)
	for i := range points {
		p := &points[i]
		name := p.Policy
		if p.Group > 0 {
			name = fmt.Sprintf("%s, groups of %d", p.Policy, p.Group)
		}
		fmt.Fprintf(t, "%s\t%g\t%s\t%s\t%s\t", name, p.Load, decimals(p.NoTaskWaits, 4), decimals(p.Unqueued, 4), decimals(1e3*p.Queueing, 3))
		if s := p.Simulated; s != nil {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t", decimals(s.NoTaskWaits, 4), decimals(s.Unqueued, 4), decimals(1e3*s.Queueing, 3))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nprobabilities that no task of a job waits and, for exponential durations, that its completion is not put off;\n"+
		"queueing: of a task on average; jobs of %d tasks, mean task %v\n", m.Tasks, m.MeanTask)
	return err
}

func decimals(x measure.Number, n int) string {
	if math.IsNaN(float64(x)) {
		return "-"
	}
	return strconv.FormatFloat(float64(x), 'f', n, 64)
}
