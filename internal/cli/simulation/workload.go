package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// workloadFlags are the flags that shape a workload, the same for every verb
// that runs or writes one.
type workloadFlags struct {
	Options  workload.Options
	Cutoff   time.Duration
	declared float64
	owners   string
	names    string
	wide     string
	gang     string
}

// AddWorkloadFlags adds the flags that shape a workload.
func AddWorkloadFlags(fs *pflag.FlagSet) *workloadFlags {
	w := &workloadFlags{}
	fs.IntVar(&w.Options.Workers, "workers", 120, "workers that the load refers to")
	fs.DurationVar(&w.Cutoff, "cutoff", time.Second, "a job is short when its mean task duration is at most this")
	fs.Uint64Var(&w.Options.Seed, "seed", 1, "seed of all that is drawn")
	fs.Float64Var(&w.Options.Load, "load", 0, "rescale arrivals so that work / (workers x span of arrivals) is this (0 = as in the file)")
	fs.IntVar(&w.Options.Resample, "resample", 0, "draw this many jobs with replacement, with Poisson arrivals (0 = off)")
	fs.IntVar(&w.Options.Jobs, "jobs", 0, "only the first N jobs (0 = all)")
	fs.Float64Var(&w.Options.WrongClass, "wrong-class", 0, "share of jobs, 0 to 1, whose declared class is flipped")
	fs.Float64Var(&w.declared, "declared", 1, "share of jobs, 0 to 1, that declare class and estimate; of the others the scheduler knows neither")
	fs.StringVar(&w.names, "names", "", "give jobs the names of N recurring works, jobs of like durations: N[,odd=0.1] (the share of jobs with another name)")
	fs.StringVar(&w.owners, "owners", "", "assign jobs to N owners: N[,skew=1][,flood=0.5,burst=1000[,absent=true]][,priorities=3] (Zipf's exponent; the share of the short jobs' work that one owner submits, in bursts of this many tasks; leave its jobs out; draw priorities)")
	fs.StringVar(&w.wide, "wide", "", "give tasks of several slots to jobs: SHARE:LEAST-MOST[,split=true], as 0.1:2-8 for a tenth of the work in tasks of 2 to 8 slots of one node (split: in unit tasks instead, to compare with)")
	fs.StringVar(&w.gang, "gang", "", "make gangs of jobs, whose tasks start together: SHARE:LEAST-MOST[,split=true], as 0.1:8-32 for a tenth of the work in gangs of 8 to 32 tasks")
	fs.Float64Var(&w.Options.Noise, "noise", 0, "sigma of the log-normal factor on estimates")
	return w
}

// Open reads or generates a workload and applies the flags. Its refusals are wrong
// use: nothing has started.
func (w *workloadFlags) Open(spec string) (*workload.Workload, error) {
	options, err := w.settings()
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	raw, err := workload.Open(spec)
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	ready, err := raw.Prepare(options)
	return ready, cli.AsUsageError(err)
}

// settings returns the options of the flags, once they are checked.
func (w *workloadFlags) settings() (workload.Options, error) {
	o := w.Options
	o.Cutoff, o.Undeclared = w.Cutoff.Nanoseconds(), 1-w.declared
	err := w.check()
	if err == nil && w.owners != "" {
		o.Owners, err = workload.ParseOwners(w.owners)
	}
	if err == nil && w.names != "" {
		o.Names, err = workload.ParseNames(w.names)
	}
	if err == nil && w.wide != "" {
		o.Wide, err = workload.ParseWide("--wide", w.wide)
	}
	if err == nil && w.gang != "" {
		o.Gangs, err = workload.ParseWide("--gang", w.gang)
	}
	return o, err
}

func (w *workloadFlags) check() error {
	o := w.Options
	for _, c := range []struct {
		flag     string
		value    float64
		min, max float64
	}{
		{"workers", float64(o.Workers), 1, 10_000_000},
		{"load", o.Load, 0, 1000},
		{"resample", float64(o.Resample), 0, workload.MaxJobs},
		{"jobs", float64(o.Jobs), 0, workload.MaxJobs},
		{"wrong-class", o.WrongClass, 0, 1},
		{"declared", w.declared, 0, 1},
		{"noise", o.Noise, 0, 10},
	} {
		if !(c.value >= c.min && c.value <= c.max) { // so written, NaN is refused
			return fmt.Errorf("--%s %v is outside %v to %v", c.flag, c.value, c.min, c.max)
		}
	}
	const most = workload.MaxSeconds * time.Second // the longest task
	if w.Cutoff < 1 || w.Cutoff > most {
		return fmt.Errorf("--cutoff %v is outside %v to %v", w.Cutoff, time.Nanosecond, most)
	}
	return nil
}

// WarnNoShortJob prints a line about a run in which every job was long.
func WarnNoShortJob(cmd *cobra.Command, r *measure.Result, cutoff time.Duration) {
	if r.Jobs == 0 || r.Long.Jobs < r.Jobs {
		return
	}
	next := "give its --cutoff"
	name, _, _ := strings.Cut(strings.TrimPrefix(r.Trace, "gen:"), ",")
	for _, g := range workload.Generators() {
		if g.Name == name && g.Cutoff > cutoff {
			next = fmt.Sprintf("give --cutoff %v, which is that of gen:%s", g.Cutoff, name)
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: none of the %d jobs of %s is short: the mean task of each is above the cutoff of %v; to tell short jobs from long ones, %s\n", cmd.Root().Name(), r.Jobs, r.Trace, cutoff, next)
}
