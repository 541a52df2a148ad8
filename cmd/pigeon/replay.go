package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/measure"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/workload"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"github.com/spf13/cobra"
)

// replayFlags are those of "pigeon replay" beyond the workload and the cluster.
type replayFlags struct {
	*experimentFlags
	isolation string
	via       string
	spark     *sparkReplayFlags
	hosts     *hostFlags
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
		GroupID: groupMeasure,
		Short:   "Run a workload live, in real time, and measure it as sim does",
		Long: `Starts a cluster on this machine (or uses a running one), submits every job of
the workload when it is due, with sleeping tasks, and prints what pigeon sim prints.
With --via spark the jobs are those of Spark applications (see docs/spark.md), with --hosts the
cluster is started on the hosts of an inventory and removed afterwards (docs/researchers.md).
Ctrl-C ends it cleanly and prints what was measured until then.`,
		Example: `  pigeon replay --demo                               a quarter of a minute, with a plot
  pigeon replay --trace jobs.tr --speedup 10 -o json
  pigeon replay --trace jobs.tr --isolation process  a process for each daemon
  pigeon replay --trace jobs.tr --policy hawk        another policy, with its one master
  pigeon replay --jobs 500 --frontend 127.0.0.1:20503
  pigeon replay --trace jobs.tr --runs 3 --compare-sim --out out/jobs
  pigeon replay --hosts inventory.yaml --trace jobs.tr --compare-sim   on other machines, over ssh
  pigeon replay --via spark --drivers 3 --workers 8 --groups 2 --jobs 200   Spark jobs of three applications`,
		Args: cobra.NoArgs,
	}
	output := addOutput(cmd)
	fs := cmd.Flags()
	f := &replayFlags{experimentFlags: addExperimentFlags(fs)}
	fs.StringVar(&f.via, "via", viaThrift, "thrift: this program submits the jobs; spark: Spark applications run them")
	f.spark = addSparkReplayFlags(fs)
	f.hosts = addHostFlags(fs)
	fs.StringSliceVar(&f.spark.hosts, "hosts", nil, "host inventory: run on a cluster that is started on its hosts over ssh and removed afterwards; via spark, also names of hosts, to start the drivers there in turn, with --frontend")
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
		show := &replayShow{cmd: cmd, flags: f, output: *output, progress: newProgress(cmd.ErrOrStderr())}
		if f.demo {
			show.progress.every = demoReportEvery
		}
		return show.all(runs)
	}
	return cmd
}

// check returns the runs that the flags ask for; its refusals are wrong use, but that a running
// cluster does not answer is a failure.
func (f *replayFlags) check(cmd *cobra.Command) ([]experiment.Run, error) {
	err := cmp.Or(local.Isolation(f.isolation).Check(), checkSpeedup(f.speedup), checkRuns(f.runs), checkDelay(f.delay))
	if err == nil {
		err = f.takeHosts()
	}
	if err == nil {
		err = f.checkVia(cmd.Context())
	}
	if err != nil {
		return nil, wrongUse(err)
	}
	if len(f.frontends) > 0 {
		if err := f.checkShares(); err != nil {
			return nil, wrongUse(err)
		}
		if err := f.adopt(cmd.Context()); err != nil {
			return nil, err
		}
	}
	f.workload.options.Speedup = f.speedup
	runs, err := f.experimentFlags.runs()
	if err != nil {
		return nil, err
	}
	if f.history != "" && (len(runs)*f.runs > 1 || len(f.frontends) > 0 && f.via != viaSpark) {
		return nil, wrongUse(fmt.Errorf("--history %s is written by one run on a cluster of its own; leave --runs, --seeds and --frontend out", f.history))
	}
	if f.via == viaSpark {
		err = f.spark.checkRuns(cmd.Context(), f, runs)
	} else {
		err = f.hosts.check(runs)
	}
	return runs, wrongUse(err)
}

// checkVia checks --via and the flags that depend on it.
func (f *replayFlags) checkVia(ctx context.Context) error {
	switch f.via {
	case viaSpark:
		return f.spark.check(ctx, f)
	case viaThrift:
		for _, flag := range sparkReplayOnly {
			if f.flags.Changed(flag) {
				return fmt.Errorf("--%s is of Spark applications; add --via spark, or leave it out", flag)
			}
		}
		return nil
	}
	return fmt.Errorf("--via %q does not exist; use %s or %s", f.via, viaThrift, viaSpark)
}

// takeHosts gives the value of --hosts, which Spark's drivers have for names of hosts, its meaning.
func (f *replayFlags) takeHosts() error {
	list := f.spark.hosts
	if f.via == viaSpark && !slices.ContainsFunc(list, isInventory) {
		return nil
	}
	if len(list) > 1 {
		return fmt.Errorf("--hosts names %d files; nothing was run; name one host inventory (names of hosts are for --via %s)", len(list), viaSpark)
	}
	if len(list) == 1 {
		f.hosts.file, f.spark.hosts = list[0], nil
	}
	return f.hosts.adopt(f.experimentFlags)
}

// isInventory reports whether --hosts of Spark's drivers names the file of an inventory.
func isInventory(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// checkShares refuses shares of a cluster that has its own.
func (f *replayFlags) checkShares() error {
	for _, flag := range []string{shareFlag, "half-life", "owners-file"} {
		if f.flags.Changed(flag) {
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
	f.sizes, f.desc.Frontends = sizes, len(f.frontends)
	return nil
}

// groupsOf returns the sizes of the groups of a running cluster, as its first frontend reports them.
// Only an address that is none is wrong use.
func groupsOf(ctx context.Context, frontends []string) ([]int, error) {
	for _, address := range frontends {
		if _, err := wire.ParseAddress(address); err != nil {
			return nil, wrongUse(fmt.Errorf("--frontend %q is no host:port; nothing was submitted", address))
		}
	}
	return replay.GroupsOf(ctx, frontends[0])
}

// replayShow makes the runs and prints their results.
type replayShow struct {
	cmd      *cobra.Command
	flags    *replayFlags
	output   outputFormat
	progress *progress
}

func (s *replayShow) all(runs []experiment.Run) error {
	f := s.flags
	files, err := openFiles(f.history)
	if err != nil {
		return wrongUse(err)
	}
	defer files.close() //nolint:errcheck // a failed write was reported
	if f.out != "" {
		if err := os.MkdirAll(filepath.Dir(f.out), 0o755); err != nil {
			return wrongUse(fmt.Errorf("--out: %w", err))
		}
	}
	incomplete := false
	for i := range runs {
		w, err := runs[i].Workload()
		if err != nil {
			return wrongUse(err)
		}
		a := &experiment.Agreement{Title: f.title}
		if a.Title == "" {
			a.Title = w.Name
		}
		for k := range f.runs {
			partial, err := s.one(&runs[i], w, k, a, files)
			if err != nil {
				return fmt.Errorf("the replay did not come to its end: %w", err)
			}
			incomplete = incomplete || partial
			if partial {
				break
			}
		}
		if err := s.compare(&runs[i], w, a); err != nil {
			return err
		}
		if s.cmd.Context().Err() != nil {
			break
		}
	}
	if incomplete {
		return silentError{exitFailed}
	}
	return nil
}

// one makes one live run and prints its result.
func (s *replayShow) one(run *experiment.Run, w *workload.Workload, k int, a *experiment.Agreement, files outputFiles) (partial bool, err error) {
	f := s.flags
	s.announce(run, w, k)
	others := measure.WatchOthers()
	got, clocks, err := s.live(run, w)
	if err != nil {
		return false, err
	}
	if dst := files.writer(0); dst != nil {
		if err := replay.WriteHistory(dst, got.Events); err != nil {
			return false, err
		}
	}
	s.progress.clear()
	result := run.Result(w, got.Outcome)
	result.Hosts = clocks
	if line := result.AboutClocks(); line != "" {
		fmt.Fprintln(s.cmd.ErrOrStderr(), "pigeon: "+line)
	}
	if len(f.frontends) == 0 && len(clocks) == 0 { // the daemons of another cluster are not of this program
		result.NoteOthers(others)
	}
	if line := result.AboutOthers(); line != "" {
		fmt.Fprintln(s.cmd.ErrOrStderr(), "pigeon: "+line)
	}
	if f.spark.master != "" {
		result.Policy = f.spark.master
	}
	if got.Lateness > replay.Late {
		fmt.Fprintf(s.cmd.ErrOrStderr(), "a job was submitted %v after it was due: this machine was too busy to keep the workload's times\n", got.Lateness.Round(time.Millisecond))
	}
	a.Live = append(a.Live, result)
	short, long := run.Completions(w, got.Outcome)
	a.LiveTimes[0], a.LiveTimes[1] = append(a.LiveTimes[0], short...), append(a.LiveTimes[1], long...)
	if s.output == outputJSON {
		return result.Partial, writeJSON(s.cmd.OutOrStdout(), result)
	}
	if f.demo {
		return result.Partial, nil // demoEnd follows
	}
	return result.Partial, printResults(s.cmd.OutOrStdout(), []measure.Result{result})
}

// live makes the run. Only a new cluster has events, unless Spark's drivers report
// them; only hosts have clocks.
func (s *replayShow) live(run *experiment.Run, w *workload.Workload) (m *replay.Measured, clocks []measure.HostClock, err error) {
	f := s.flags
	switch {
	case f.via == viaSpark:
		return s.viaSpark(run, w)
	case f.hosts.inventory != nil:
		f.hosts.said = s.cmd.ErrOrStderr()
		return f.hosts.Run(s.cmd.Context(), run, w, s.draw)
	case len(f.frontends) == 0:
		m, err = replay.OnNewCluster(s.cmd.Context(), run, w, replay.ClusterOptions{Isolation: local.Isolation(f.isolation), Progress: s.draw})
		return m, nil, err
	}
	r, err := replay.Run(s.cmd.Context(), w, replay.Options{Frontends: f.frontends, Progress: s.draw})
	if err != nil {
		return nil, nil, err
	}
	replay.Unmeasured(r.Outcome, w)
	return &replay.Measured{Replayed: *r}, nil, nil
}

// announce prints what begins, on a terminal.
func (s *replayShow) announce(run *experiment.Run, w *workload.Workload, k int) {
	d := run.Description
	if !s.progress.terminal && !s.flags.demo {
		return
	}
	masters := len(d.Groups)
	if run.Cores.SingleMaster() {
		masters = 1
	}
	where := fmt.Sprintf("under policy %s on a cluster of %d frontends, %d masters and %d workers", run.Policy, d.Frontends, masters, d.Workers())
	if s.flags.via == viaSpark {
		where = s.flags.spark.where(where)
	}
	last := time.Duration(w.Jobs[len(w.Jobs)-1].Arrival)
	fmt.Fprintf(s.cmd.ErrOrStderr(), "replaying %d jobs (%d tasks) that arrive within %v, %s, run %d of %d\n",
		len(w.Jobs), w.Tasks(), last.Round(time.Second), where, k+1, s.flags.runs)
}

func (s *replayShow) draw(p replay.Progress) {
	line := fmt.Sprintf("%5.1f s  %d of %d jobs submitted, %d completed; about %.0f s left",
		p.Elapsed.Seconds(), p.Submitted, p.Jobs, p.Ended, p.Left.Seconds())
	s.progress.linef("%s", line)
}

// compare simulates the workload that was run live and prints both results.
func (s *replayShow) compare(run *experiment.Run, w *workload.Workload, a *experiment.Agreement) error {
	f := s.flags
	if !f.compare || len(a.Live) == 0 || a.Live[0].Completed == 0 {
		return nil
	}
	// The workload is sped up; messages are not, live or simulated.
	out, err := run.Simulate(s.cmd.Context(), w, experiment.SimOptions{Delay: f.delay})
	if err != nil {
		return err
	}
	a.Sim = run.Result(w, out)
	a.SimTimes[0], a.SimTimes[1] = run.Completions(w, out)
	if f.out != "" {
		if err := writeAgreement(f.out, a); err != nil {
			return err
		}
	}
	if s.output == outputJSON {
		return writeJSON(s.cmd.OutOrStdout(), a.Sim)
	}
	dst := s.cmd.OutOrStdout()
	fmt.Fprintln(dst)
	if err := a.Table(dst); err != nil {
		return err
	}
	if f.demo {
		return s.demoEnd(a)
	}
	if f.out != "" {
		fmt.Fprintf(dst, "\nwritten: %[1]s.jsonl, %[1]s.md, %[1]s.svg, %[1]s.png\n", f.out)
	}
	return nil
}

// writeAgreement writes the results, the table and the figure.
func writeAgreement(base string, a *experiment.Agreement) error {
	err := writeWhole(base+".jsonl", func(out io.Writer) error {
		return writeAllJSON(out, append([]measure.Result{a.Sim}, a.Live...))
	})
	if err == nil {
		err = writeWhole(base+".md", a.Markdown)
	}
	if err == nil {
		err = a.Figure(base)
	}
	return err
}

// The demo: enough jobs for a quarter of a minute, sped up so that short ones still
// take fifty times as long as scheduling them.
const (
	demoTrace   = "gen:ec2,jobs=1200"
	demoSpeedup = 7
)

func (f *replayFlags) setDemo() {
	for flag, set := range map[string]func(){
		"trace":   func() { f.desc.Trace = demoTrace },
		"speedup": func() { f.speedup = demoSpeedup },
		"out":     func() { f.out = filepath.Join("out", "run") },
	} {
		if !f.flags.Changed(flag) {
			set()
		}
	}
	f.compare = true
	f.title = fmt.Sprintf("Completion times, live and simulated (%s)", f.desc.Trace)
}

// demoEnd prints what was measured and what to try next.
func (s *replayShow) demoEnd(a *experiment.Agreement) error {
	f, l := s.flags, &a.Live[0]
	svg, err := filepath.Abs(f.out + ".svg")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.cmd.OutOrStdout(), `
%d jobs (%d tasks) on %d live workers: %d completed, %d failed. Times are those of the workload,
which ran %g times as fast. At a load of %.0f %%, %.0f %% of the short jobs did not wait at all.
All of it, %d frontends, %d masters, %d node monitors, NATS and the load generator, used %.1f s
of processor in %.1f s, on %d processors.

The plot: %s (and .png)

Try next:
  bin/pigeon sim --seeds 5                       the same cluster, five seeds, in a second
  bin/pigeon dev                                 a cluster to submit jobs to
  bin/pigeon replay --load 0.5 --speedup 20      less load, faster
`, l.Jobs, l.Tasks, l.Workers, l.Completed, l.Failed, f.speedup, 100*float64(l.Load), 100*float64(l.Short.Unqueued),
		f.desc.Frontends, l.Groups, l.Workers, float64(l.CPUPerTask)*float64(l.Tasks), float64(l.Wall), runtime.NumCPU(), svg)
	return err
}
