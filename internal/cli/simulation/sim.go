package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/spf13/cobra"
)

// simFlags are those of "pigeon sim" beyond the workload and the cluster.
type simFlags struct {
	delay            time.Duration
	history, actions string
	clairvoyant      bool
	losses           sim.MasterLosses
}

// Command returns the verb "sim".
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sim",
		GroupID: cli.GroupMeasure,
		Short:   "Simulate a workload on a cluster with the cores that run live",
		Long: `Runs the scheduling cores on an event heap, in virtual time: the very cores that
the daemons run. One result for every policy and seed.

With --faults SEED the run is checked instead of measured: messages are lost,
repeated and delayed; daemons are killed, paused, cut off from each other, and counted as
lost while they live; jobs are cancelled and tasks fail. Each fault is printed as it happens, and
at the end whether every job has ended, with one result for each task, and the other
things that must hold. When one does not, the exit status is 1, and a shortest command
that shows it is printed. Without --jobs such a run has 30 jobs.`,
		Example: `  pigeon sim                                       the paper's EC2 cluster, a generated workload
  pigeon sim --trace jobs.tr --load 0.7 --seeds 5 -o json
  pigeon sim --group-sizes 60,40,20 --weight 20
  pigeon sim --slots-per-node 16 --wide 0.1:2-8     tasks of several slots, beside an offline backfill
  pigeon sim --faults 7 --policy kairos --workers 12
  pigeon sim --jobs 100 --history life.jsonl --actions actions.txt`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	flags := AddFlags(cmd.Flags())
	var own simFlags
	fs := cmd.Flags()
	fs.DurationVar(&own.delay, "delay", 500*time.Microsecond, "one-way delay of a message")
	fs.StringVar(&own.history, "history", "", "file for every task's life, one JSON object per event")
	fs.StringVar(&own.actions, "actions", "", "file for the cores' actions in order, as text")
	fs.BoolVar(&own.clairvoyant, "clairvoyant", false, "add the completion times of a clairvoyant schedule, as a reference, which is no bound")
	faults := AddFaultFlags(fs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := faults.check(fs, *output); err != nil {
			return cli.AsUsageError(err)
		}
		if faults.checks(fs) && !fs.Changed("jobs") {
			flags.Workload.Options.Jobs = faultJobs
		}
		runs, err := flags.Runs()
		if err == nil {
			err = cli.AsUsageError(own.check(len(runs), flags.Desc.Trace))
		}
		if err != nil {
			return err
		}
		if faults.checks(fs) {
			return SimulateFaults(cmd, runs, own.delay, faults)
		}
		own.losses = faults.losses
		return simulateAll(cmd, runs, own, *output)
	}
	return cmd
}

// CheckDelay refuses a delay of a message that is out of range.
func CheckDelay(d time.Duration) error {
	if d < 0 || d > time.Hour {
		return fmt.Errorf("--delay %v is outside 0s to 1h", d)
	}
	return nil
}

// CheckSpeedup refuses a factor of time that is out of range.
func CheckSpeedup(x float64) error {
	if !(x >= 0.001 && x <= 1e9) {
		return fmt.Errorf("--speedup %v is outside 0.001 to 1e9", x)
	}
	return nil
}

// CheckRuns refuses a number of runs that is out of range.
func CheckRuns(n int) error {
	if n < 1 || n > 1000 {
		return fmt.Errorf("--runs %d is outside 1 to 1000", n)
	}
	return nil
}

func (f *simFlags) check(runs int, trace string) error {
	if err := CheckDelay(f.delay); err != nil {
		return err
	}
	for flag, path := range map[string]string{"--history": f.history, "--actions": f.actions} {
		if path != "" && runs > 1 {
			return fmt.Errorf("%s %s would be written by %d runs; ask for one policy and one seed", flag, path, runs)
		}
	}
	return f.checkPaths(trace)
}

// checkPaths refuses one file for two outputs, which would overwrite each other in it, and the trace
// for one of them.
func (f *simFlags) checkPaths(trace string) error {
	seen := map[string]string{} // flag, by path
	for _, of := range [][2]string{{"--history", f.history}, {"--actions", f.actions}} {
		flag, path := of[0], of[1]
		if path == "" {
			continue
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("%s %s: %w", flag, path, err)
		}
		if other := seen[whole]; other != "" {
			return fmt.Errorf("%s and %s would both write %s; name a file for each", other, flag, path)
		}
		seen[whole] = flag
		if err := CheckOutput(flag, path, trace); err != nil {
			return err
		}
	}
	return nil
}

// CheckOutput refuses a file to write that is one of those that are read, which would be lost.
func CheckOutput(flag, path string, inputs ...string) error {
	out, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // there is none yet, and nothing to lose
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s %s would overwrite %s, which is read; nothing was written; name another file", flag, path, input)
		}
	}
	return nil
}

// simulateAll makes the runs on all processors and prints their results in
// order, each as soon as it can be.
func simulateAll(cmd *cobra.Command, runs []experiment.Run, own simFlags, output cli.OutputFormat) error {
	files, err := OpenFiles(own.history, own.actions)
	if err != nil {
		return cli.AsUsageError(err)
	}
	options := experiment.SimOptions{Delay: own.delay, Losses: own.losses, History: files.Writer(0), Actions: files.Writer(1)}
	show := cli.NewProgress(cmd.ErrOrStderr())
	var results []measure.Result
	err = experiment.InParallel(cmd.Context(), len(runs),
		func(ctx context.Context, i int) (measure.Result, error) {
			return simulate(ctx, &runs[i], options, own.clairvoyant)
		},
		func(i int, r measure.Result) error {
			if len(runs) > 1 {
				show.Linef("%d of %d runs simulated", i+1, len(runs))
			}
			results = append(results, r)
			if output == cli.OutputJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), r)
			}
			return nil
		})
	show.Clear()
	if err = errors.Join(err, files.Close()); err != nil {
		return fmt.Errorf("the simulation did not come to its end: %w", err)
	}
	WarnNoShortJob(cmd, &results[0], runs[0].Description.Cutoff)
	if output == cli.OutputJSON {
		return nil
	}
	return PrintResults(cmd.OutOrStdout(), results)
}

func simulate(ctx context.Context, run *experiment.Run, o experiment.SimOptions, clairvoyant bool) (r measure.Result, err error) {
	w, err := run.Workload()
	if err != nil {
		return r, err
	}
	out, err := run.Simulate(ctx, w, o)
	if err != nil {
		return r, err
	}
	r = run.Result(w, out)
	if clairvoyant {
		r.References.Clairvoyant = measure.ClairvoyantTimes(w, r.Workers)
	}
	return r, nil
}

// PrintResults prints a table and, for each run, a summary.
func PrintResults(out io.Writer, results []measure.Result) error {
	named := make([]measure.Result, len(results))
	for i, r := range results {
		named[i] = r
		if len(results) > 1 {
			named[i].Policy = fmt.Sprintf("%s, seed %d", r.Policy, r.Seed)
		}
	}
	if err := measure.Table(out, named); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for i, r := range results {
		fmt.Fprintf(out, "%s: %d of %d jobs completed, %d failed", named[i].Policy, r.Completed, r.Jobs, r.Failed)
		printMeasured(out, "%.2f messages a task", r.MessagesPerTask)
		printMeasured(out, "workers busy %.1f %%", 100*r.Utilization)
		fmt.Fprintf(out, " of %.6g s; took %.2f s", float64(r.Makespan), float64(r.Wall))
		if r.Live != nil && !math.IsNaN(float64(r.CPUPerTask)) { // daemons of others are not measured
			fmt.Fprintf(out, "; %.0f us of processor a task, %.0f MiB", 1e6*float64(r.CPUPerTask), float64(r.RSSMax)/(1<<20))
		}
		if r.Partial {
			fmt.Fprint(out, "; PARTIAL: it was ended early")
		}
		fmt.Fprintln(out)
		if r.Wide != nil {
			r.Wide.Print(out)
		}
		if len(r.Owners) > 0 {
			fmt.Fprintln(out)
			if err := measure.OwnerTable(out, &results[i]); err != nil {
				return err
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintln(out, "times in seconds; mean to p99: completion of jobs; queued: delay of tasks")
	return nil
}

// printMeasured prints a figure, if it was measured.
func printMeasured(out io.Writer, format string, n measure.Number) {
	if !math.IsNaN(float64(n)) {
		fmt.Fprintf(out, "; "+format, float64(n))
	}
}

// OutputFiles are files that a verb writes in addition to its output.
type OutputFiles []*os.File

// OpenFiles creates the named files; an empty name stands for none.
func OpenFiles(paths ...string) (OutputFiles, error) {
	files := make(OutputFiles, len(paths))
	for i, path := range paths {
		if path == "" {
			continue
		}
		f, err := os.Create(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("a file to write cannot be made: %w; nothing was run; name another place", err), files.Close())
		}
		files[i] = f
	}
	return files, nil
}

// Writer returns the file with that index, nil when none was named.
func (f OutputFiles) Writer(i int) io.Writer {
	if f[i] == nil {
		return nil
	}
	return f[i]
}

// Close closes the files.
func (f OutputFiles) Close() (err error) {
	for _, file := range f {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}
