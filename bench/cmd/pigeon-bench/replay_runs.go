package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/agreement"
	"github.com/pigeon-sched/pigeon/bench/replay"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// replayShow makes the runs and prints their results.
type replayShow struct {
	cmd      *cobra.Command
	flags    *replayFlags
	output   cli.OutputFormat
	progress *cli.Progress
	used     local.Usage // of the daemons in the last run
	load     float64     // load average of the machine before it
}

func (s *replayShow) all(runs []experiment.Run) (err error) {
	f := s.flags
	files, err := simulation.OpenFiles(f.history)
	if err != nil {
		return cli.AsUsageError(err)
	}
	defer func() {
		if closed := files.Close(); err == nil && closed != nil { // an earlier error is what happened first
			err = fmt.Errorf("--history: %w; make room on the disk and run the replay again", closed)
		}
	}()
	if f.out != "" {
		if err := os.MkdirAll(filepath.Dir(f.out), 0o755); err != nil {
			return cli.AsUsageError(fmt.Errorf("--out: %w", err))
		}
	}
	incomplete := false
	for i := range runs {
		w, err := runs[i].Workload()
		if err != nil {
			return cli.AsUsageError(err)
		}
		a := &agreement.Agreement{Title: f.title}
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
	switch {
	case incomplete && context.Cause(s.cmd.Context()) != nil:
		return cli.SilentError{Code: cli.ExitInterrupted}
	case incomplete:
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return nil
}

// one makes one live run and prints its result.
func (s *replayShow) one(run *experiment.Run, w *workload.Workload, k int, a *agreement.Agreement, files simulation.OutputFiles) (partial bool, err error) {
	f := s.flags
	s.announce(run, w, k)
	s.load = float64(measure.LoadAverage())
	others := measure.WatchOthers()
	got, err := s.live(run, w)
	if err != nil {
		return false, err
	}
	if dst := files.Writer(0); dst != nil {
		if err := replay.WriteHistory(dst, got.Events); err != nil {
			return false, err
		}
	}
	s.progress.Clear()
	result := run.Result(w, got.Outcome)
	if len(f.frontends) == 0 { // the daemons of another cluster are not of this program
		result.NoteOthers(others)
	}
	if line := result.AboutOthers(); line != "" && !f.demo {
		fmt.Fprintln(s.cmd.ErrOrStderr(), "pigeon-bench: "+line)
	}
	if f.spark.master != "" {
		result.Policy = f.spark.master
	}
	if got.Lateness > replay.Late {
		fmt.Fprintf(s.cmd.ErrOrStderr(), "a job was submitted %v after it was due: this machine was too busy to keep the workload's times\n", got.Lateness.Round(time.Millisecond))
	}
	a.Live, s.used = append(a.Live, result), got.Usage
	short, long := run.Completions(w, got.Outcome)
	a.LiveTimes[0], a.LiveTimes[1] = append(a.LiveTimes[0], short...), append(a.LiveTimes[1], long...)
	simulation.WarnNoShortJob(s.cmd, &result, run.Description.Cutoff)
	if s.output == cli.OutputJSON {
		return result.Partial, cli.WriteJSON(s.cmd.OutOrStdout(), result)
	}
	if f.demo {
		return result.Partial, nil // demoEnd follows
	}
	return result.Partial, simulation.PrintResults(s.cmd.OutOrStdout(), []measure.Result{result})
}

// live makes the run. Only a new cluster has events, unless Spark's drivers report
// them.
func (s *replayShow) live(run *experiment.Run, w *workload.Workload) (*replay.Measured, error) {
	f := s.flags
	switch {
	case f.via == viaSpark:
		return s.viaSpark(run, w)
	case len(f.frontends) == 0:
		return replay.OnNewCluster(s.cmd.Context(), run, w, replay.ClusterOptions{Isolation: local.Isolation(f.isolation), Progress: s.draw})
	}
	r, err := replay.Run(s.cmd.Context(), w, replay.Options{Frontends: f.frontends, Progress: s.draw})
	if err != nil {
		return nil, err
	}
	replay.Unmeasured(r.Outcome, w)
	return &replay.Measured{Replayed: *r}, nil
}

// announce prints what begins, on a terminal.
func (s *replayShow) announce(run *experiment.Run, w *workload.Workload, k int) {
	d := run.Description
	if !s.progress.Terminal && !s.flags.demo {
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
	s.progress.Linef("%s", line)
}

// compare simulates the workload that was run live and prints both results.
func (s *replayShow) compare(run *experiment.Run, w *workload.Workload, a *agreement.Agreement) error {
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
	if f.demo {
		if a.Others, err = s.others(run, w); err != nil {
			return err
		}
	}
	if f.out != "" {
		if err := writeAgreement(f.out, a); err != nil {
			return err
		}
	}
	if s.output == cli.OutputJSON {
		return cli.WriteJSON(s.cmd.OutOrStdout(), a.Sim)
	}
	dst := s.cmd.OutOrStdout()
	if f.demo {
		if err := s.demoBegin(a); err != nil {
			return err
		}
	}
	fmt.Fprintln(dst)
	if err := a.Table(dst); err != nil {
		return err
	}
	if slices.ContainsFunc(a.Live, func(r measure.Result) bool { return r.Partial }) {
		fmt.Fprintln(dst, "PARTIAL: a live run was ended early; jobs that it lacks are among the simulated ones, so that the differences are not those of a whole run")
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
func writeAgreement(base string, a *agreement.Agreement) error {
	err := writeWhole(base+".jsonl", func(out io.Writer) error {
		all := append([]measure.Result{a.Sim}, a.Live...)
		for i := range a.Others {
			all = append(all, a.Others[i].Sim)
		}
		return cli.WriteAllJSON(out, all)
	})
	if err == nil {
		err = writeWhole(base+".md", a.Markdown)
	}
	if err == nil {
		err = a.Figure(base)
	}
	return err
}
