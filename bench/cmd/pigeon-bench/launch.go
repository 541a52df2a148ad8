package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/bench/launch"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

func launchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "launch",
		Short: "Run many equal tasks and measure what scheduling them costs",
		Example: `  pigeon-bench launch                                    zero-length sleeps
  pigeon-bench launch --backend exec --tasks 2000 --workers 48
  pigeon-bench launch --duration 1s --workers 12000 --tasks 100000 -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	f := addClusterFlags(cmd, 120)
	fs := cmd.Flags()
	var o launch.RateOptions
	var backend string
	fs.IntVar(&o.Tasks, "tasks", 200_000, "tasks in all")
	fs.DurationVar(&o.Duration, "duration", 0, "of each task")
	fs.StringVar(&backend, "backend", string(api.BackendSleep), backendsMeasured)
	fs.IntVar(&o.JobTasks, "job-tasks", 100, "tasks of a job")
	fs.IntVar(&o.InFlight, "in-flight", 64, "jobs submitted and not ended")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.Backend = api.Backend(backend)
		if err := checkRate(&o); err != nil {
			return cli.AsUsageError(err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		o.Progress = func(done int) { show.Linef("%d of %d tasks", done, o.Tasks) }
		return f.on(cmd.Context(), false, func(c *local.Cluster, frontends []string) error {
			o.Workers = f.workers
			var usage func() (local.Usage, error)
			var err error
			if c != nil {
				usage = c.Usage
				if o.Security, err = c.Security(); err != nil {
					return err
				}
			}
			r, err := launch.Rate(cmd.Context(), frontends, o, usage)
			show.Clear()
			if err != nil {
				return err
			}
			if *output == cli.OutputJSON {
				err = cli.WriteJSON(cmd.OutOrStdout(), r)
			} else {
				printRate(cmd.OutOrStdout(), r)
			}
			if r.Failed > 0 {
				return errors.Join(err, fmt.Errorf("%d of %d tasks failed", r.Failed, r.Tasks))
			}
			return err
		})
	}
	return cmd
}

func checkRate(o *launch.RateOptions) error {
	if o.Duration < 0 || o.Duration > 24*time.Hour {
		return fmt.Errorf("--duration %v is outside 0s to %v", o.Duration, 24*time.Hour)
	}
	for _, c := range []struct {
		flag             string
		value, min, most int
	}{
		{"tasks", o.Tasks, 1, 100_000_000}, {"job-tasks", o.JobTasks, 1, api.MaxTasks}, {"in-flight", o.InFlight, 1, 10_000},
	} {
		if c.value < c.min || c.value > c.most {
			return fmt.Errorf("--%s %d is outside %d to %d", c.flag, c.value, c.min, c.most)
		}
	}
	return checkBackend(o.Backend)
}

func printRate(out io.Writer, r *launch.RateResult) {
	fmt.Fprintf(out, "%s of %v s (%s) on %s: %.3f s, %.0f tasks/s\n", sched.Count(r.Tasks, "task", "tasks"), float64(r.Duration), r.Backend, sched.Count(r.Workers, "worker", "workers"), float64(r.Total), float64(r.Rate))
	fmt.Fprintf(out, "overhead %.3f ms a task and worker, utilization %.1f %%\n", 1e3*float64(r.OverheadPerTask), 100*float64(r.Utilization))
	whose := "all daemons"
	if r.Shared {
		whose = "all daemons and this client"
	}
	if !math.IsNaN(float64(r.CPUPerTask)) { // daemons of others are not measured
		fmt.Fprintf(out, "%.1f us of processor a task and %.0f MiB at most, of %s\n", 1e6*float64(r.CPUPerTask), float64(r.RSSMax)/(1<<20), whose)
	}
	if !r.Shared {
		fmt.Fprintf(out, "%.1f us of processor a task of this client\n", 1e6*float64(r.GeneratorCPU))
	}
}
