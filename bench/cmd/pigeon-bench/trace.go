package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/spf13/cobra"
)

func traceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trace",
		GroupID: cli.GroupMeasure,
		Short:   "Look into trace files and workload generators, convert and fetch them",
		Long: "A trace is a file in the published format (one job per line: submit time,\nnumber of tasks, mean task duration, each task's duration; in seconds;\nthen, if the job has them, owner=team/alice and priority=3), or a generator:\n\n" +
			describeGenerators(),
	}
	cmd.AddCommand(traceInspect(), traceConvert(), traceList(), traceFetch())
	return cmd
}

func describeGenerators() string {
	var b strings.Builder
	for _, g := range workload.Generators() {
		fmt.Fprintf(&b, "  gen:%-8s %s\n", g.Name, g.About)
	}
	return b.String() + "\nAll generators take jobs, load, workers and seed: gen:ec2,jobs=5000,load=0.9"
}

func traceInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect TRACE",
		Short: "Show what is in a workload: jobs, tasks, load, distributions by class",
		Example: `  pigeon-bench trace inspect gen:ec2,load=0.7
  pigeon-bench trace inspect jobs.tr --workers 300 -o json`,
		Args: oneTrace,
	}
	output := cli.AddOutputFlag(cmd)
	flags := simulation.AddWorkloadFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := flags.Open(args[0])
		if err != nil {
			return err
		}
		s := summarize(w, flags.Options.Workers, flags.Cutoff)
		if *output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), s)
		}
		return s.print(cmd.OutOrStdout())
	}
	return cmd
}

func oneTrace(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%q needs one trace, a file or gen:NAME, not %d", cmd.CommandPath(), len(args))
	}
	return nil
}

func traceConvert() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert TRACE",
		Short: "Write a workload, transformed by the flags, in the published format",
		Example: `  pigeon-bench trace convert gen:ec2,jobs=1000 --to small.tr
  pigeon-bench trace convert jobs.tr --resample 5000 --load 0.8 > steady.tr`,
		Args: oneTrace,
	}
	flags := simulation.AddWorkloadFlags(cmd.Flags())
	to := cmd.Flags().String("to", "-", "file to write, - for standard output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := flags.Open(args[0])
		if err != nil {
			return err
		}
		if *to == "-" {
			return w.Write(cmd.OutOrStdout())
		}
		return writeWhole(*to, w.Write)
	}
	return cmd
}

// writeWhole writes a temporary file and renames it, so that a failure leaves neither a
// partial file nor a damaged older one.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; check the folder", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s was not written: %w", path, err), os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (s summary) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d jobs, %d tasks, %.6g s of work, arriving within %.6g s\n", s.Trace, s.Jobs, s.Tasks, s.Work, s.Span)
	fmt.Fprintf(out, "load %.3f on %d workers; a job is short up to a mean task duration of %g s\n\n", s.Load, s.Workers, s.Cutoff)
	w := text.NewRightTable(out)
	fmt.Fprintln(w, "class\tjobs\ttasks\twork\t\ttasks of a job: p50\tp90\tp99\tmax\t\ttask seconds: p50\tp90\tp99\tmax\t")
	for _, row := range []struct {
		name string
		c    classSummary
	}{{"short", s.Short}, {"long", s.Long}, {"all", s.All}} {
		c := row.c
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f%%\t", row.name, c.Jobs, c.Tasks, 100*c.WorkShare)
		for _, d := range []spread{c.Fanout, c.Duration} {
			fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\t", fourDigits(d.P50), fourDigits(d.P90), fourDigits(d.P99), fourDigits(d.Max))
		}
		fmt.Fprintln(w)
	}
	if len(s.Owners) > 0 {
		fmt.Fprintln(w, "\nowner\tjobs\ttasks\twork\tshort work\t")
	}
	for i, o := range s.Owners {
		if i == ownersShown {
			fmt.Fprintf(w, "(%d more)\t\t\t\t\t\n", len(s.Owners)-i)
			break
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f%%\t%.1f%%\t\n", cmp.Or(o.Owner, "(nobody)"), o.Jobs, o.Tasks, 100*o.WorkShare, 100*o.ShortShare)
	}
	return w.Flush()
}

// fourDigits formats a figure of a trace, "-" for one of nothing.
func fourDigits(n measure.Number) string {
	if math.IsNaN(float64(n)) {
		return "-"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

// ownersShown is how many owners a table on a terminal has.
const ownersShown = 50
