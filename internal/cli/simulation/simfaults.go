package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/text"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// faultFlags are those of "pigeon sim" for a run with faults.
type faultFlags struct {
	seed, kinds string
	only        []int
	Simulate    faultRun // the simulator; another in tests
	time        time.Duration
	losses      sim.MasterLosses // of a run that is measured
}

// faultRun makes a run, as [experiment.Run.SimulateFaults].
type faultRun func(*experiment.Run, context.Context, *workload.Workload, time.Duration, sim.Faults) (*sim.Report, sim.Faults, int, error)

// faultJobs is the default number of jobs of a run with faults, every step of which is
// kept for the checks.
const faultJobs = 30

// AddFaultFlags adds the flags of a run with faults.
func AddFaultFlags(fs *pflag.FlagSet) *faultFlags {
	f := faultFlags{Simulate: (*experiment.Run).SimulateFaults}
	fs.StringVar(&f.seed, "faults", "", "seed of faults that happen to the cluster; shows them, and checks that nothing is lost (see bench/README.md). Or master-every=60s,standby=1s: measures while masters die")
	fs.StringVar(&f.kinds, "fault-kinds", "", "kinds of faults, separated by commas: "+sim.AllKinds.String()+" (default: all)")
	fs.IntSliceVar(&f.only, "only-faults", nil, "numbers of the faults that happen, of those that are planned")
	fs.DurationVar(&f.time, "fault-time", 20*time.Second, "how long faults happen, in virtual time; then everything heals")
	return &f
}

// given reports whether a run with faults is asked for.
func (f *faultFlags) given(fs *pflag.FlagSet) bool { return fs.Changed("faults") }

// checks reports whether a run is checked, and not measured.
func (f *faultFlags) checks(fs *pflag.FlagSet) bool { return f.given(fs) && f.losses.Every == 0 }

// parseLosses reads master-every=60s,standby=1s.
func parseLosses(text string) (l sim.MasterLosses, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		d, err := time.ParseDuration(value)
		switch {
		case err != nil || d <= 0 || d > 24*time.Hour:
			return l, fmt.Errorf("--faults: %q is no time within 24h; give master-every=60s,standby=1s, or a seed", part)
		case name == "master-every":
			l.Every = sched.Time(d)
		case name == "standby":
			l.Standby = sched.Time(d)
		default:
			return l, fmt.Errorf("--faults: there is no %q; give master-every=60s,standby=1s, or a seed", name)
		}
	}
	if l.Every == 0 || l.Standby == 0 || l.Standby >= l.Every {
		return l, fmt.Errorf("--faults %q: a master dies every master-every, and a standby leads after standby, before the next one dies; give both, such as master-every=60s,standby=1s", text)
	}
	return l, nil
}

// check refuses flags that conflict or are out of range.
func (f *faultFlags) check(fs *pflag.FlagSet, output cli.OutputFormat) (err error) {
	if !f.given(fs) {
		for _, name := range []string{"fault-kinds", "only-faults", "fault-time"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s is about faults, and none are asked for; add --faults SEED", name)
			}
		}
		return nil
	}
	if strings.Contains(f.seed, "=") {
		for _, name := range []string{"fault-kinds", "only-faults", "fault-time"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s does not go with masters that die at given times; leave one of them out", name)
			}
		}
		f.losses, err = parseLosses(f.seed)
		return err
	}
	for _, name := range []string{"history", "actions", "clairvoyant", "seeds"} {
		if fs.Changed(name) {
			return fmt.Errorf("--%s does not go with --faults: such a run is checked, not measured; leave one of them out", name)
		}
	}
	if fs.Lookup("classes").Value.String() == "learned" {
		return errors.New("--classes learned does not go with --faults SEED, under which frontends do not learn; leave one of them out")
	}
	if output == cli.OutputJSON {
		return errors.New("-o json does not go with --faults, which prints what happens as text; leave one of them out")
	}
	if _, err := strconv.ParseUint(f.seed, 10, 64); err != nil {
		return fmt.Errorf("--faults %q is not a seed; give a whole number from 0 on", f.seed)
	}
	if f.time <= 0 || f.time > time.Hour {
		return fmt.Errorf("--fault-time %v is outside 0s to 1h", f.time)
	}
	if i := slices.IndexFunc(f.only, func(n int) bool { return n < 1 }); i >= 0 {
		return fmt.Errorf("--only-faults %d is no fault: they are numbered from 1", f.only[i])
	}
	if f.kinds != "" {
		if _, err := sim.ParseKinds(f.kinds); err != nil {
			return fmt.Errorf("--fault-kinds: %w", err)
		}
	}
	return nil
}

// faults returns the settings of a run.
func (f *faultFlags) faults(log io.Writer) sim.Faults {
	seed, _ := strconv.ParseUint(f.seed, 10, 64) // checked
	kinds := sim.AllKinds
	if f.kinds != "" {
		kinds, _ = sim.ParseKinds(f.kinds) // checked
	}
	return sim.Faults{Seed: seed, Kinds: kinds, Only: f.only, Until: sched.Time(f.time), Log: log}
}

// SimulateFaults makes the runs one after another, and shows of each what happens and
// what the checks found.
func SimulateFaults(cmd *cobra.Command, runs []experiment.Run, delay time.Duration, flags *faultFlags) error {
	out := cmd.OutOrStdout()
	violated := 0
	var unplanned error // of --only-faults; a violation counts for more, also in a later run
	for i := range runs {
		run := &runs[i]
		w, err := run.Workload()
		if err != nil {
			return err
		}
		f := flags.faults(out)
		fmt.Fprintf(out, "%s, faults of seed %d: %s\n", run.Policy, f.Seed, f.Kinds)
		report, smaller, jobs, err := flags.Simulate(run, cmd.Context(), w, delay, f)
		if err != nil {
			return fmt.Errorf("the simulation of policy %s did not come to its end: %w", run.Policy, err)
		}
		printChecks(out, report)
		if fault := report.Violated(); fault != nil {
			violated++
			fmt.Fprintf(out, "\n%v\n\n", fault)
			if steps := report.HistoryOf(fault, 40); steps != "" {
				fmt.Fprintf(out, "The last steps of the cores that concern the job, by their own clocks:\n%s\n", steps)
			}
			fmt.Fprintf(out, "The last steps of the cores:\n%s\nThe shortest run found that violates a check:\n  %s\n",
				report.History(20), FaultCommand(cmd.Flags(), run, &smaller, jobs))
			continue // a smaller run may have no use for all of the faults
		}
		err = checkOnly(cmd.Context(), out, w.Simulated(), run.Cluster(delay), f, report)
		if _, wrong := errors.AsType[cli.UsageError](err); wrong {
			unplanned = cmp.Or(unplanned, err)
		} else if err != nil {
			return err
		}
	}
	if violated > 0 {
		return fmt.Errorf("faults of seed %s: %d of %d runs violate what must hold; the command printed above repeats it", flags.seed, violated, len(runs))
	}
	return unplanned
}

// checkOnly prints which faults of --only-faults did not happen, and refuses numbers that the
// seed does not plan: without them the run checked less than was asked for. A run tells only
// which faults happened, so what is planned is found by one in which all may happen.
func checkOnly(ctx context.Context, out io.Writer, jobs []sim.Job, cluster sim.Config, f sim.Faults, r *sim.Report) error {
	var missing []int
	for _, n := range f.Only {
		if !slices.Contains(r.Faults, n) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	f.Only, f.Kinds, f.Log = nil, sim.AllKinds, nil
	all, err := sim.RunWithFaults(ctx, jobs, cluster, f)
	if err != nil {
		return fmt.Errorf("which faults are planned is not known: %w", err)
	}
	last := 0
	for _, n := range all.Faults {
		last = max(last, n)
	}
	unplanned := slices.DeleteFunc(slices.Clone(missing), func(n int) bool { return n <= last })
	if len(unplanned) > 0 {
		return cli.AsUsageError(fmt.Errorf("--only-faults: no fault of the number %s is planned; the last that happens with seed %d within %v is number %d; leave the others out", join(unplanned), f.Seed, time.Duration(f.Until), last))
	}
	_, err = fmt.Fprintf(out, "  did not happen: number %s, of a kind that is not in --fault-kinds, or not possible at its time\n", join(missing))
	return err
}

func printChecks(out io.Writer, r *sim.Report) {
	fmt.Fprintf(out, "\n%d jobs accepted: %d completed, %d failed, %d cancelled; %d attempts, %d suspensions, %d steps of cores in %.0f s\n",
		r.Jobs, r.Done, r.Failed, r.Cancelled, r.Attempts, r.Suspensions, r.Steps, r.End.Seconds())
	for _, c := range r.Checks {
		switch {
		case c.Violated != nil:
			fmt.Fprintf(out, "  VIOLATED  %s\n", c.Name)
		case c.Evaluated == 0:
			fmt.Fprintf(out, "  --        %s (nothing to check)\n", c.Name)
		default:
			fmt.Fprintf(out, "  ok        %s (%d)\n", c.Name, c.Evaluated)
		}
	}
}

// FaultCommand returns the command that makes a run with faults again, as a shell reads it.
func FaultCommand(fs *pflag.FlagSet, run *experiment.Run, f *sim.Faults, jobs int) string {
	words := []string{"pigeon", "sim", "--faults", strconv.FormatUint(f.Seed, 10), "--fault-kinds", f.Kinds.String()}
	if f.Only != nil {
		words = append(words, "--only-faults", join(f.Only))
	}
	words = append(words, "--jobs", strconv.Itoa(jobs), "--policy", run.Policy)
	fs.Visit(func(given *pflag.Flag) {
		if slices.Contains([]string{"faults", "fault-kinds", "only-faults", "jobs", "policy"}, given.Name) {
			return
		}
		values := []string{given.Value.String()}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			if values = list.GetSlice(); given.Name != ShareFlag { // a value of which contains commas
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, v := range values {
			words = append(words, "--"+given.Name+"="+v)
		}
	})
	return text.JoinWords(words)
}
