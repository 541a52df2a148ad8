package main

import (
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/pigeon-sched/pigeon/bench/agreement"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// The demo: enough jobs for a quarter of a minute, sped up so that short ones still
// take fifty times as long as scheduling them.
const (
	demoTrace   = "gen:ec2,jobs=1200"
	demoSpeedup = 7
)

// demoOthers are the policies that the demo simulates beside its live run.
var demoOthers = []struct{ policy, name string }{
	{"fifo", "in one queue, simulated"},
	{"sparrow", "under Sparrow, simulated"},
}

func (f *replayFlags) setDemo() {
	for flag, set := range map[string]func(){
		"trace":   func() { f.Desc.Trace = demoTrace },
		"speedup": func() { f.speedup = demoSpeedup },
		"out":     func() { f.out = filepath.Join("out", "run") },
	} {
		if !f.Set.Changed(flag) {
			set()
		}
	}
	f.compare = true
	f.title = fmt.Sprintf("Completion times, live and simulated (%s)", f.Desc.Trace)
}

// others simulates the workload of a run under the other policies.
func (s *replayShow) others(run *experiment.Run, w *workload.Workload) (list []agreement.Other, err error) {
	d := *run.Description
	d.Policies, d.Seed, d.Seeds = nil, run.Seed, 1
	for _, o := range demoOthers {
		d.Policies = append(d.Policies, o.policy)
	}
	runs, err := d.Runs()
	if err != nil {
		return nil, err
	}
	for i := range runs {
		out, err := runs[i].Simulate(s.cmd.Context(), w, experiment.SimOptions{Delay: s.flags.delay})
		if err != nil {
			return nil, err
		}
		o := agreement.Other{Name: demoOthers[i].name, Sim: runs[i].Result(w, out)}
		o.Times[0], o.Times[1] = runs[i].Completions(w, out)
		list = append(list, o)
	}
	return list, nil
}

// busy returns a sentence about a machine that had other work during the live run, "" about a quiet one.
func (s *replayShow) busy(live *measure.Result) string {
	if line := live.AboutOthers(); line != "" {
		return "This machine was busy: " + line + "."
	}
	if processors := runtime.NumCPU(); s.load > float64(processors) {
		return fmt.Sprintf("This machine was busy: its load average was %.1f before the run, on %d processors, and live times may be longer for it; run it again when the machine is quiet.", s.load, processors)
	}
	return ""
}

// demoBegin prints the short jobs' times here and under the other policies.
func (s *replayShow) demoBegin(a *agreement.Agreement) error {
	dst, live := s.cmd.OutOrStdout(), &a.Live[0]
	if line := s.busy(live); line != "" {
		fmt.Fprintf(dst, "\n%s\n", line)
	}
	fmt.Fprintln(dst)
	if err := a.ShortTable(dst); err != nil || live.Short.Jobs == 0 {
		return err
	}
	seconds := func(r *measure.Result) string { return measure.Significant(float64(r.Short.Completion.P99)) }
	_, err := fmt.Fprintf(dst, "\nOf 100 short jobs 99 took at most %s s here; the same jobs take %s s in one queue and %s s under Sparrow.\n",
		seconds(live), seconds(&a.Others[0].Sim), seconds(&a.Others[1].Sim))
	return err
}

// demoEnd prints what was measured and what to try next.
func (s *replayShow) demoEnd(a *agreement.Agreement) error {
	f, l := s.flags, &a.Live[0]
	svg, err := filepath.Abs(f.out + ".svg")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.cmd.OutOrStdout(), `
%d jobs (%d tasks) on %d live workers: %d completed, %d failed. Times are those of the workload,
which ran %g times as fast, at a load of %.0f %%. All of it, %d frontends, %d masters, %d node
monitors, NATS and the load generator, used %.1f s of processor in %.1f s, on %d processors.

The plot: %s (and .png)

Try next:
  bin/pigeon sim --seeds 5                       the same cluster, five seeds, in a second
  bin/pigeon dev                                 a cluster to submit jobs to
  bin/pigeon-bench replay --load 0.5 --speedup 20      less load, faster
`, l.Jobs, l.Tasks, l.Workers, l.Completed, l.Failed, f.speedup, 100*float64(l.Load),
		f.Desc.Frontends, l.Groups, l.Workers, s.used.CPU.Seconds(), float64(l.Wall), runtime.NumCPU(), svg)
	return err
}
