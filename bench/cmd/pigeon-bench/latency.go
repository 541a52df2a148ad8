package main

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/bench/launch"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/spf13/cobra"
)

func latencyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Submit single tasks to an idle cluster, one after another",
		Example: `  pigeon-bench latency
  pigeon-bench latency --backend exec                    a real process for each task
  pigeon-bench latency --samples 10000 --isolation process -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	f := addClusterFlags(cmd, 12)
	samples := cmd.Flags().Int("samples", 2000, "tasks that are measured")
	backend := cmd.Flags().String("backend", string(api.BackendSleep), backendsMeasured)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkBackend(api.Backend(*backend)); err != nil {
			return cli.AsUsageError(err)
		}
		if *samples < 1 || *samples > 10_000_000 {
			return cli.AsUsageError(fmt.Errorf("--samples %d is outside 1 to 10000000", *samples))
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		return f.on(cmd.Context(), true, func(c *local.Cluster, frontends []string) error {
			r, err := launch.Latency(cmd.Context(), launch.LatencyOptions{
				Cluster: c, Frontend: frontends[0], Backend: api.Backend(*backend), Samples: *samples, Workers: f.workers,
				Progress: func(done int) { show.Linef("%d of %d tasks", done, *samples) },
			})
			show.Clear()
			if err != nil {
				return err
			}
			if *output == cli.OutputJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), r)
			}
			printLatency(cmd.OutOrStdout(), r)
			return nil
		})
	}
	return cmd
}

func printLatency(out io.Writer, r *launch.LatencyResult) {
	fmt.Fprintf(out, "%d tasks (%s), one at a time, on %d idle workers (ms)  p50    p90    p99\n", r.Samples, r.Backend, r.Workers)
	for _, row := range []struct {
		name string
		d    measure.Distribution
	}{
		{"submission to start of the task", r.SubmitToStart}, {"submission to its answer (on the disk)", r.SubmitToAnswer},
		{"end of the task to the client's knowing", r.EndToTold}, {"submission to knowing, less the task", r.SubmitToTold},
	} {
		milliseconds := func(n measure.Number) string { return measure.Fixed(1e3*float64(n), 3) } // "-" where a running cluster does not tell
		fmt.Fprintf(out, "  %-42s %6s %6s %6s\n", row.name, milliseconds(row.d.P50), milliseconds(row.d.P90), milliseconds(row.d.P99))
	}
}
