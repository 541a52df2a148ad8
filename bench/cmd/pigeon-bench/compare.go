package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/compare"
	local "github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/cli/simulation"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// compareFlags are those of "pigeon-bench compare" beyond the workload and the cluster.
type compareFlags struct {
	*simulation.Flags
	policies, traces []string
	loads            []float64
	delay            time.Duration
	out              string
	live             bool
	livePolicies     []string
	liveRuns         int
	speedup          float64
	isolation        string
}

func compareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare",
		GroupID: cli.GroupMeasure,
		Short:   "Compare policies on traces and loads, with figures and a report",
		Long: `Simulates every policy on every trace and load with several seeds, on all
processors, and with --live runs them live too. Writes a report with tables and
figures, relative to the first policy, with two references: the longest task of each
job, which no policy is below, and a clairvoyant schedule, which is no bound. Runs that have
ended are kept in the folder: after Ctrl-C the same command goes on from them.`,
		Example: `  pigeon-bench compare --loads 0.5,0.7,0.9 --seeds 5            every policy but static and random, a generated workload
  pigeon-bench compare --policies pigeon,pigeon:weight=20 --traces a.tr,b.tr --out out/weight
  pigeon-bench compare --policies pigeon --traces a.tr --live --speedup 10
  pigeon-bench compare results out/ec2 out/weight > results.md  one page of several comparisons`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	fs := cmd.Flags()
	f := &compareFlags{Flags: simulation.AddFlags(fs)}
	fs.StringArrayVar(&f.policies, "policies", nil, "NAME[:key=value,...],NAME,...; the others are compared with the first (default: all but static and random)")
	fs.StringArrayVar(&f.traces, "traces", nil, "files or gen:NAME[,key=value...], with commas between")
	fs.Float64SliceVar(&f.loads, "loads", nil, "loads to rescale every trace to, with commas between (default: as in the file)")
	fs.DurationVar(&f.delay, "delay", 500*time.Microsecond, "one-way delay of a message, simulated")
	fs.StringVar(&f.out, "out", filepath.Join("out", "compare"), "folder for results, figures and report")
	fs.BoolVar(&f.live, "live", false, "run live too, with the first seed, on clusters in this machine")
	fs.StringArrayVar(&f.livePolicies, "live-policies", nil, "those of --policies that are run live (default: all)")
	fs.IntVar(&f.liveRuns, "live-runs", 1, "live runs of each policy, trace and load")
	fs.Float64Var(&f.speedup, "speedup", 1, "live: divide arrivals and durations by this; results are multiplied back")
	fs.StringVar(&f.isolation, "isolation", string(local.Goroutine), "live: goroutine or process, as of pigeon-bench replay")
	fs.Lookup("trace").Hidden, fs.Lookup("policy").Hidden = true, true // the lists are clearer here
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plan, err := f.plan()
		if err != nil {
			return cli.AsUsageError(err)
		}
		ready, err := plan.Prepare()
		if err == nil {
			err = compare.MakeFolder(f.out)
		}
		if err != nil {
			return cli.AsUsageError(err)
		}
		return f.run(cmd, ready, *output)
	}
	cmd.AddCommand(resultsCommand())
	return cmd
}

func (f *compareFlags) plan() (*compare.Plan, error) {
	d, err := f.Description()
	if err != nil {
		return nil, err
	}
	p := &compare.Plan{Base: d, Loads: f.loads, Delay: f.delay, Policies: list(f.policies), Traces: list(f.traces)}
	if len(p.Policies) == 0 {
		if p.Policies = d.Policies; !f.Set.Changed("policy") {
			p.Policies = policy.Compared()
		}
	}
	if len(p.Traces) == 0 {
		p.Traces = []string{d.Trace}
	}
	switch {
	case f.Set.Changed("policies") && f.Set.Changed("policy") || f.Set.Changed("traces") && f.Set.Changed("trace"):
		return nil, fmt.Errorf("--policy or --trace is set with --policies or --traces; nothing was run; name all in the list")
	case len(f.loads) > 0 && f.Set.Changed("load"):
		return nil, fmt.Errorf("--load %v is set with --loads; nothing was run; name it in --loads", d.Workload.Load)
	}
	if err := cmp.Or(simulation.CheckDelay(f.delay), simulation.CheckSpeedup(f.speedup)); err != nil {
		return nil, err
	}
	if !f.live {
		for _, flag := range []string{"live-policies", "live-runs", "speedup", "isolation"} {
			if f.Set.Changed(flag) {
				return nil, fmt.Errorf("--%s applies to live runs only; nothing was run; add --live, or leave it out", flag)
			}
		}
		return p, nil
	}
	p.Live = &compare.Live{Policies: list(f.livePolicies), Runs: f.liveRuns, Speedup: f.speedup, Isolation: local.Isolation(f.isolation)}
	return p, nil
}

// list splits values at commas, except between the parameters of one value:
// "a:x=1,y=2,b" is "a:x=1,y=2" and "b".
func list(values []string) (items []string) {
	for _, value := range values {
		start := len(items)
		for part := range strings.SplitSeq(value, ",") {
			last := len(items) - 1
			switch {
			case part == "":
			case last >= start && strings.Contains(items[last], ":") && strings.Contains(part, "=") && !strings.Contains(part, ":"):
				items[last] += "," + part
			default:
				items = append(items, part)
			}
		}
	}
	return items
}

func (f *compareFlags) run(cmd *cobra.Command, ready *compare.Prepared, output cli.OutputFormat) error {
	kept, err := keepRuns(f.out)
	if err != nil {
		return cli.AsUsageError(err)
	}
	defer func() { _ = kept.Close() }() // only locked
	show, taken := cli.NewProgress(cmd.ErrOrStderr()), 0
	c, err := ready.Run(cmd.Context(), kept, func(p compare.Progress) {
		taken = max(taken, p.Kept)
		show.Linef("%d of %d: %s%s", p.Done, p.All, p.What, remaining(p.Left))
	})
	show.Clear()
	if err != nil {
		where := filepath.Join(f.out, compare.KeptFolder)
		if cmd.Context().Err() != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "interrupted; the runs that had ended are kept in %s, and the same command goes on from there\n", where)
			return cli.SilentError{Code: cli.ExitInterrupted}
		}
		return fmt.Errorf("the comparison did not come to its end: %w; no report was written to %s, and the runs that had ended are kept in %s: the same command goes on from there", err, f.out, where)
	}
	if taken > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d runs had ended before and were taken from %s\n", taken, filepath.Join(f.out, compare.KeptFolder))
	}
	warned := map[string]bool{}
	if err := c.Records(func(r compare.Record) error {
		if !warned[r.Trace] {
			warned[r.Trace] = true
			simulation.WarnNoShortJob(cmd, &r.Result, f.Workload.Cutoff)
		}
		if line := r.AboutOthers(); line != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "pigeon-bench: %s live on %s: %s\n", r.Policy, r.Trace, line)
		}
		return nil
	}); err != nil {
		return err
	}
	c.Manifest.Command, c.Manifest.Program = commandLine(cmd), cli.CurrentVersion().String()
	if err := errors.Join(c.Write(f.out), kept.RemoveOthers()); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if output == cli.OutputJSON {
		return c.Records(func(r compare.Record) error { return cli.WriteJSON(out, r) })
	}
	if err := c.Table(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwritten to %s: %s, %s, %s, %s and the figures in %s\n", f.out,
		compare.ReportFile, compare.TableFile, compare.ResultsFile, compare.ManifestFile, compare.FigureFolder)
	return err
}

// keepRuns returns what keeps finished runs in the folder of a comparison.
func keepRuns(dir string) (*compare.Kept, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's file is not known: %w; runs cannot be kept", err)
	}
	return compare.KeepIn(dir, program)
}

// remaining returns how long something will still take, if that is known.
func remaining(left time.Duration) string {
	if left < time.Second {
		return ""
	}
	return fmt.Sprintf("; about %v left", left.Round(time.Second))
}

// commandLine returns the command that repeats the runs: the verb with the flags that
// were set.
func commandLine(cmd *cobra.Command) []string {
	words := strings.Fields(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			if f.Name == simulation.ShareFlag { // a value contains commas
				for _, s := range v.GetSlice() {
					words = append(words, "--"+f.Name, s)
				}
				return
			}
			words = append(words, "--"+f.Name, strings.Join(v.GetSlice(), ","))
		default:
			if f.Value.Type() == "bool" {
				words = append(words, "--"+f.Name+"="+strconv.FormatBool(f.Value.String() == "true"))
				return
			}
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	return words
}

func resultsCommand() *cobra.Command {
	page := &compare.Page{}
	cmd := &cobra.Command{
		Use:   "results DIR...",
		Short: "Write one page of Markdown from folders that pigeon-bench compare wrote",
		Long: `Reads the results of comparisons and prints one page: the tables of all of them,
how each was made, what the published figures are and where ours differ, and why.
With --beside the page is short, and each comparison gets a page of its own there.`,
		Example: `  pigeon-bench compare results out/ec2 out/yahoo > results.md
  pigeon-bench compare results --beside bench/results/simulated --see bench/results/live.md out/results/* > bench/results/simulated.md`,
		Args: cli.NamesAtLeastOne("folder"),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			page.Folders = dirs
			var text bytes.Buffer // nothing is printed of a page that fails
			if err := page.Write(&text); err != nil {
				return cli.AsUsageError(err)
			}
			_, err := text.WriteTo(cmd.OutOrStdout())
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&page.Beside, "beside", "", "folder, beside the page, for each comparison's tables and figures")
	fs.StringArrayVar(&page.With, "with", nil, "Markdown file whose text becomes part of the page; repeatable")
	fs.StringArrayVar(&page.See, "see", nil, "Markdown file beside the page that it names; repeatable")
	return cmd
}
