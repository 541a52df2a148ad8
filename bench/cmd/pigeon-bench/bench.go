package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/bench/product"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// benchFlags describe the cluster that is measured.
type benchFlags struct {
	workers, groups, nodes, frontends int
	isolation, policy                 string
	running                           []string
	noSync, tls                       bool
}

func addBenchFlags(cmd *cobra.Command, workers int) *benchFlags {
	f, fs := &benchFlags{}, cmd.Flags()
	fs.IntVar(&f.workers, "workers", workers, "slots in all")
	fs.IntVar(&f.groups, "groups", 3, "groups, of equal size")
	fs.IntVar(&f.nodes, "nodes", 12, "nodes in all, which share the slots")
	fs.IntVar(&f.frontends, "frontends", 1, "frontends")
	fs.StringVar(&f.policy, "policy", "pigeon", "NAME[:key=value,...]; "+strings.Join(policy.Names(), ", "))
	fs.StringVar(&f.isolation, "isolation", string(local.Goroutine), "goroutine: all daemons in this process; process: one for each")
	fs.StringSliceVar(&f.running, "frontend", nil, "host:port of the frontends of a running cluster, instead of starting one")
	fs.BoolVar(&f.noSync, "no-sync", false, "journal without fsync")
	fs.BoolVar(&f.tls, "tls", false, "all calls by mutual TLS, in a cluster started for it in this process")
	return f
}

// spec returns the cluster that the flags ask for.
func (f *benchFlags) spec() (local.Spec, error) {
	switch {
	case f.groups < 1 || f.nodes < f.groups || f.nodes%f.groups != 0:
		return local.Spec{}, fmt.Errorf("--nodes %d do not share evenly among --groups %d", f.nodes, f.groups)
	case f.workers < f.nodes || f.workers%f.nodes != 0:
		return local.Spec{}, fmt.Errorf("--workers %d do not share evenly among --nodes %d", f.workers, f.nodes)
	}
	return local.Spec{
		Policy: f.policy,
		Groups: experiment.EvenGroups(f.nodes, f.groups), Slots: f.workers / f.nodes, Frontends: f.frontends,
		Isolation: local.Isolation(f.isolation), NoSync: f.noSync, TLS: f.tls,
	}, local.Isolation(f.isolation).Check()
}

// on runs a measurement on the cluster; c is nil on a running one.
func (f *benchFlags) on(ctx context.Context, history bool, measure func(c *local.Cluster, frontends []string) error) error {
	if len(f.running) > 0 {
		sizes, err := groupsOf(ctx, f.running)
		if err != nil {
			return err
		}
		f.groups, f.workers = len(sizes), 0
		for _, n := range sizes {
			f.workers += n
		}
		return measure(nil, f.running)
	}
	spec, err := f.spec()
	if err != nil {
		return cli.AsUsageError(err)
	}
	spec.History = history
	c, err := product.Start(ctx, spec)
	if err != nil {
		return err
	}
	return errors.Join(measure(c, c.Frontends()), c.Close())
}

func benchLatency() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Submit single tasks to an idle cluster, one after another",
		Example: `  pigeon-bench latency
  pigeon-bench latency --backend exec                    a real process for each task
  pigeon-bench latency --samples 10000 --isolation process -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	f := addBenchFlags(cmd, 12)
	samples := cmd.Flags().Int("samples", 2000, "tasks that are measured")
	backend := cmd.Flags().String("backend", string(api.BackendSleep), backendsOfBench)
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
		milliseconds := func(n measure.Number) string { return markdown.Fixed(1e3*float64(n), 3) } // "-" where a running cluster does not tell
		fmt.Fprintf(out, "  %-42s %6s %6s %6s\n", row.name, milliseconds(row.d.P50), milliseconds(row.d.P90), milliseconds(row.d.P99))
	}
}

func benchLaunch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "launch",
		Short: "Run many equal tasks and measure what scheduling them costs",
		Example: `  pigeon-bench launch                                    zero-length sleeps
  pigeon-bench launch --backend exec --tasks 2000 --workers 48
  pigeon-bench launch --duration 1s --workers 12000 --tasks 100000 -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	f := addBenchFlags(cmd, 120)
	fs := cmd.Flags()
	var o launch.RateOptions
	var backend string
	fs.IntVar(&o.Tasks, "tasks", 200_000, "tasks in all")
	fs.DurationVar(&o.Duration, "duration", 0, "of each task")
	fs.StringVar(&backend, "backend", string(api.BackendSleep), backendsOfBench)
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

// backendsOfBench describes the flag --backend of measurements.
const backendsOfBench = "sleep, or exec: real processes"

// checkBackend refuses a backend whose tasks no measurement can run.
func checkBackend(b api.Backend) error {
	if b != api.BackendSleep && b != api.BackendExec {
		return fmt.Errorf("--backend %q does not exist; use %s or %s", b, api.BackendSleep, api.BackendExec)
	}
	return nil
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

func benchTable() *cobra.Command {
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
