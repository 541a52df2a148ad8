package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
)

// replayFlags are those of "pigeon-bench replay" beyond the workload and the cluster.
type replayFlags struct {
	*simulation.Flags
	isolation string
	via       string
	spark     *sparkReplayFlags
	frontends []string
	speedup   float64
	history   string
	runs      int
	compare   bool
	delay     time.Duration
	title     string
	out       string
	demo      bool
}

func replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "replay",
		GroupID: cli.GroupMeasure,
		Short:   "Run a workload live, in real time, and measure it as sim does",
		Long: `Starts a cluster on this machine (or uses a running one), submits every job of
the workload when it is due, with sleeping tasks, and prints what pigeon sim prints.
With --via spark the jobs are those of Spark applications (see docs/spark.md).
Ctrl-C ends it cleanly and prints what was measured until then.`,
		Example: `  pigeon-bench replay --demo                               a quarter of a minute, with a plot
  pigeon-bench replay --trace jobs.tr --speedup 10 -o json
  pigeon-bench replay --trace jobs.tr --isolation process  a process for each daemon
  pigeon-bench replay --trace jobs.tr --policy hawk        another policy, with its one master
  pigeon-bench replay --jobs 500 --frontend 127.0.0.1:20503
  pigeon-bench replay --trace jobs.tr --runs 3 --compare-sim --out out/jobs
  pigeon-bench replay --via spark --drivers 3 --workers 8 --groups 2 --jobs 200   Spark jobs of three applications`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	fs := cmd.Flags()
	f := &replayFlags{Flags: simulation.AddFlags(fs)}
	fs.StringVar(&f.via, "via", viaThrift, "thrift: this program submits the jobs; spark: Spark applications run them")
	f.spark = addSparkReplayFlags(fs)
	fs.StringVar(&f.isolation, "isolation", string(local.Goroutine), "goroutine: all daemons in this process; process: one for each, every node on 127.0.<group>.<node>")
	fs.StringSliceVar(&f.frontends, "frontend", nil, "host:port of the frontends of a running cluster, instead of starting one")
	fs.Float64Var(&f.speedup, "speedup", 1, "divide arrivals and durations by this; results are multiplied back")
	fs.StringVar(&f.history, "history", "", "file for every task's life, one JSON object per event")
	fs.IntVar(&f.runs, "runs", 1, "number of repetitions of every run")
	fs.BoolVar(&f.compare, "compare-sim", false, "compare the live runs with the simulation of the same workload and seed")
	fs.DurationVar(&f.delay, "delay", 100*time.Microsecond, "one-way delay of a message in that simulation: what a hop takes on this machine")
	fs.StringVar(&f.out, "out", "", "base path of files for the comparison: .jsonl, .md, .svg and .png")
	fs.StringVar(&f.title, "title", "", "heading of the comparison (default: the trace)")
	fs.BoolVar(&f.demo, "demo", false, "what make run shows: a sped-up workload in this process, next to its simulation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.demo {
			f.setDemo()
		}
		runs, err := f.check(cmd)
		if err != nil {
			return err
		}
		show := &replayShow{cmd: cmd, flags: f, output: *output, progress: cli.NewProgress(cmd.ErrOrStderr())}
		if f.demo {
			show.progress.Every = cli.DemoReportEvery
		}
		return show.all(runs)
	}
	return cmd
}

// check returns the runs that the flags ask for; its refusals are wrong use, but that a running
// cluster does not answer is a failure.
func (f *replayFlags) check(cmd *cobra.Command) ([]experiment.Run, error) {
	err := cmp.Or(local.Isolation(f.isolation).Check(), simulation.CheckSpeedup(f.speedup), simulation.CheckRuns(f.runs), simulation.CheckDelay(f.delay))
	if err == nil {
		err = f.checkVia(cmd.Context())
	}
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	if len(f.frontends) > 0 {
		if err := f.checkShares(); err != nil {
			return nil, cli.AsUsageError(err)
		}
		if err := f.adopt(cmd.Context()); err != nil {
			return nil, err
		}
	}
	f.Workload.Options.Speedup = f.speedup
	runs, err := f.Flags.Runs()
	if err == nil {
		err = cli.AsUsageError(runs[0].CheckLive())
	}
	if err != nil {
		return nil, err
	}
	if f.history != "" && (len(runs)*f.runs > 1 || len(f.frontends) > 0 && f.via != viaSpark) {
		return nil, cli.AsUsageError(fmt.Errorf("--history %s is written by one run on a cluster of its own; leave --runs, --seeds and --frontend out", f.history))
	}
	if err := cmp.Or(f.checkOut(len(runs)), simulation.CheckOutput("--history", f.history, f.Desc.Trace)); err != nil {
		return nil, cli.AsUsageError(err)
	}
	if f.via == viaSpark {
		err = f.spark.checkRuns(cmd.Context(), f, runs)
	}
	return runs, cli.AsUsageError(err)
}

// checkOut refuses --out where nothing would be written to it, and where the comparison of one run
// would overwrite that of another.
func (f *replayFlags) checkOut(runs int) error {
	switch {
	case f.out == "" || f.demo:
		return nil
	case !f.compare:
		return fmt.Errorf("--out %s is for the comparison with the simulation; nothing was run; add --compare-sim, or leave it out (-o json prints the results)", f.out)
	case runs > 1:
		return fmt.Errorf("--out %s would be written by %d runs, each over the one before; nothing was run; ask for one policy and one seed", f.out, runs)
	}
	return nil
}

// checkVia checks --via and the flags that depend on it.
func (f *replayFlags) checkVia(ctx context.Context) error {
	switch f.via {
	case viaSpark:
		return f.spark.check(ctx, f)
	case viaThrift:
		for _, flag := range sparkReplayOnly {
			if f.Set.Changed(flag) {
				return fmt.Errorf("--%s is of Spark applications; add --via spark, or leave it out", flag)
			}
		}
		return nil
	}
	return fmt.Errorf("--via %q does not exist; use %s or %s", f.via, viaThrift, viaSpark)
}

// checkShares refuses shares of a cluster that has its own.
func (f *replayFlags) checkShares() error {
	for _, flag := range []string{simulation.ShareFlag, "half-life", "owners-file"} {
		if f.Set.Changed(flag) {
			return fmt.Errorf("--%s applies to clusters that are started here, and --frontend names a running one; nothing was run; leave it out, or set the shares in the configuration of that cluster's masters (docs/shares.md)", flag)
		}
	}
	return nil
}

// adopt sets the sizes to those of the running cluster.
func (f *replayFlags) adopt(ctx context.Context) error {
	sizes, err := groupsOf(ctx, f.frontends)
	if err != nil {
		return err
	}
	f.Sizes, f.Desc.Frontends = sizes, len(f.frontends)
	return nil
}

// groupsOf returns the sizes of the groups of a running cluster, as its first frontend reports them.
// Only an address that is none is wrong use.
func groupsOf(ctx context.Context, frontends []string) ([]int, error) {
	for _, address := range frontends {
		if _, err := wire.ParseAddress(address); err != nil {
			return nil, cli.AsUsageError(fmt.Errorf("--frontend %q is no host:port; nothing was submitted", address))
		}
	}
	return replay.GroupsOf(ctx, frontends[0])
}
