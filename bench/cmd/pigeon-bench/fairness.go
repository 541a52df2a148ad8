package main

import (
	"fmt"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/bench/fairness"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

func fairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fair",
		Short: "Measure how slots are shared between owners",
		Long: `Starts a cluster of 8 slots in this process for each of these measurements:
two tasks of 100 ms alongside 1,200 tasks of another owner (and, once, of the same);
four equal owners that always have work, with tasks of 20, 40, 80 and 160 ms; three
owners of the weights 1, 2 and 4 that always have work. Prints the medians of several
runs.`,
		Example: `  pigeon-bench fair
  pigeon-bench fair --runs 5 --window 1m --policy pigeon-x -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o fairness.Options
	cmd.Flags().IntVar(&o.Runs, "runs", 3, "of every measurement")
	cmd.Flags().DurationVar(&o.Window, "window", 30*time.Second, "time in which shares are measured")
	cmd.Flags().StringVar(&o.Policy, "policy", "pigeon", "NAME[:key=value,...]")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := simulation.CheckRuns(o.Runs); err != nil {
			return cli.AsUsageError(err)
		}
		if o.Window < time.Second || o.Window > time.Hour {
			return cli.AsUsageError(fmt.Errorf("--window %v is outside 1s to 1h", o.Window))
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		o.Progress = func(what string) { show.Linef("%s", what) }
		r, err := fairness.Measure(cmd.Context(), o)
		show.Clear()
		if err != nil {
			return err
		}
		if *output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), r)
		}
		return printFair(cmd.OutOrStdout(), r)
	}
	return cmd
}

func printFair(out io.Writer, r *fairness.Result) error {
	fmt.Fprintf(out, "%s, policy %s, medians of %s\n\n", sched.Count(r.Slots, "slot", "slots"), r.Policy, sched.Count(r.Runs, "run", "runs"))
	w := cli.NewTable(out)
	fmt.Fprintf(w, "two tasks of 100 ms alongside 1,200 of another owner\t%.3f s (slowest %.3f s; of the same owner %.1f s)\n", float64(r.Flood), float64(r.FloodWorst), float64(r.FloodOne))
	fmt.Fprintf(w, "four equal owners over %g s, Jain's index of slot-seconds\t%.4f (least %.4f)\n", float64(r.Window), float64(r.Jain), float64(r.JainWorst))
	fmt.Fprintf(w, "weights 1 : 2 : 4 over %g s, parts of the slot-seconds\t%.2f : %.2f : %.2f %% (worst %.2f %% from its share)\n", float64(r.Window),
		100*float64(r.Weights[0]), 100*float64(r.Weights[1]), 100*float64(r.Weights[2]), 100*float64(r.WeightsWorst))
	fmt.Fprintf(w, "slots that ran nothing meanwhile, at most\t%.1f %%\n", 100*float64(r.Idle))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\nload average %s\n", r.Machine, r.LoadAverage)
	return err
}
