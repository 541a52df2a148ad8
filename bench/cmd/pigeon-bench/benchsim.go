package main

import (
	"fmt"
	"os"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/speed"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/spf13/cobra"
)

func benchSim() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "speed",
		Short: "Measure the simulator: time and memory of every policy, as Markdown",
		Example: `  pigeon-bench speed --traces ../shared/traces
  pigeon-bench speed --runs 5 > speed.md`,
		Args: cli.FlagsOnly,
	}
	traces := cmd.Flags().String("traces", ".", "folder of ngo_90.tr and goog_sub.tr")
	runs := cmd.Flags().Int("runs", 3, "runs of each; the median counts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := simulation.CheckRuns(*runs); err != nil {
			return cli.AsUsageError(err)
		}
		measures, err := speed.Measures(*traces)
		if err != nil {
			return cli.AsUsageError(err)
		}
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("this program cannot be found, to run it again: %w", err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		rows, err := speed.Run(cmd.Context(), []string{program}, measures, *runs, func(s string) { show.Linef("%s", s) })
		show.Clear()
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "## Speed and memory of the simulator\n\n`pigeon-bench speed --runs %d` (`make bench-sim`); a process for each run, its time from start to end. %s\n\n", *runs, launch.Machine())
		return speed.WriteTable(out, rows)
	}
	return cmd
}
