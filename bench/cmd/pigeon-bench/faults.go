package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/check"
	"github.com/pigeon-sched/pigeon/bench/launch"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

func faultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Check all policies in simulated clusters with faults, seed after seed",
		Long: `Makes one simulated run with faults after another ("pigeon sim --faults"), each on a
cluster and a workload drawn from its seed, until the time is over or enough faults have
happened. The table on standard output counts faults, jobs and attempts. A run that
violates a check is printed at once on standard error, with the shortest command found
that repeats it, and the exit status is then 1.`,
		Example: `  pigeon-bench faults                                   a minute, all policies
  pigeon-bench faults --for 0 --total 10000000
  pigeon-bench faults --policy kairos --fault-kinds all`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o check.Options
	var kinds string
	fs := cmd.Flags()
	fs.Uint64Var(&o.Seed, "seed", 1, "the first seed; the others follow it")
	fs.StringArrayVar(&o.Policies, "policy", policy.Names(), "NAME[:key=value,...]; repeatable; each runs with every seed")
	fs.StringVar(&kinds, "fault-kinds", "", "kinds of faults, separated by commas: "+sim.AllKinds.String()+" (default: all)")
	fs.DurationVar(&o.Time, "fault-time", 20*time.Second, "how long faults happen in a run, in virtual time")
	fs.DurationVar(&o.For, "for", time.Minute, "no run begins later than this; 0 for no limit")
	fs.Int64Var(&o.Faults, "total", 0, "begin no run after this many faults; 0 for no limit")
	fs.IntVar(&o.Most, "violations", 10, "begin no run after this many violations; 0 for no limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkCampaign(&o, kinds); err != nil {
			return cli.AsUsageError(err)
		}
		o.Found = func(v check.Violation) {
			fmt.Fprintf(cmd.ErrOrStderr(), "policy %s, seed %d: %s\n  %s\n", v.Policy, v.Seed, v.What, v.Command)
		}
		r, err := check.Run(cmd.Context(), o)
		if r == nil {
			return cli.AsUsageError(err)
		}
		if err := errors.Join(err, printCampaign(cmd.OutOrStdout(), *output, r)); err != nil {
			return err
		}
		if n := len(r.Violations); n > 0 {
			return fmt.Errorf("%d runs violate what must hold; the commands printed above repeat them", n)
		}
		if r.Total().Runs == 0 {
			return fmt.Errorf("no run was made within --for %v, so that nothing was checked; give more time", o.For)
		}
		return nil
	}
	return cmd
}

func checkCampaign(o *check.Options, kinds string) (err error) {
	if kinds != "" {
		if o.Kinds, err = sim.ParseKinds(kinds); err != nil {
			return fmt.Errorf("--fault-kinds: %w", err)
		}
	}
	switch {
	case o.Time <= 0 || o.Time > time.Hour:
		return fmt.Errorf("--fault-time %v is outside 0s to 1h", o.Time)
	case o.For < 0 || o.Faults < 0 || o.Most < 0:
		return errors.New("--for, --total and --violations cannot be negative")
	case o.For == 0 && o.Faults == 0:
		return errors.New("without --for and --total the runs would never end; give one of them")
	case o.For == 0 && o.Kinds == sim.Drift:
		return fmt.Errorf("--total %d would never be reached: clocks drift during a whole run, and are counted as no fault; give --for, or other --fault-kinds too", o.Faults)
	}
	return nil
}

func printCampaign(out io.Writer, format cli.OutputFormat, r *check.Result) error {
	if format == cli.OutputJSON {
		return cli.WriteJSON(out, r)
	}
	return r.Write(out, launch.Machine())
}
