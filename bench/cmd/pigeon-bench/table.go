package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/spf13/cobra"
)

func tableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Take all measures several times; print medians and spreads as Markdown",
		Long: `Runs the measures of the scheduler, each several times and in a process of its
own, and prints their medians and spreads as a table of Markdown. What the table does
not have, go test -bench measures: make bench does both.`,
		Example: "  pigeon-bench table --runs 5 > table.md",
		Args:    cli.FlagsOnly,
	}
	runs := cmd.Flags().Int("runs", 5, "of every measure")
	only := cmd.Flags().String("only", "", "measures whose name holds this")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := simulation.CheckRuns(*runs); err != nil {
			return cli.AsUsageError(err)
		}
		measures := slices.DeleteFunc(launch.Measures(), func(m launch.Measure) bool { return !strings.Contains(m.Name, *only) })
		if len(measures) == 0 {
			return cli.AsUsageError(fmt.Errorf("--only %q: no measure's name holds it", *only))
		}
		pigeon, err := product.Program()
		if err != nil {
			return err
		}
		programs := map[string][]string{launch.Laboratory: {"/proc/self/exe"}, launch.Product: {pigeon}}
		rows, err := launch.Run(cmd.Context(), programs, measures, *runs, func(what string) { fmt.Fprintln(cmd.ErrOrStderr(), what) })
		if err != nil {
			return err
		}
		return launch.WriteTable(cmd.OutOrStdout(), rows)
	}
	return cmd
}
