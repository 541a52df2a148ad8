package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/soak"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func soakCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run very many tasks while nodes come and go, and decide whether daemons grow",
		Long: `Runs sleep tasks of no length through a cluster of processes: two frontends, two masters
and four nodes that stay, and up to eight nodes that come and go, in order and by SIGKILL,
under as many names as --nodes says. At every sample it reads the memory, the goroutines and
the open descriptors of each daemon that stays. The exit status is 1 when one of them keeps
growing, by its slope over the second half of the run, when a task failed, or when the run was
too short to tell.`,
		Example: `  pigeon-bench soak                          10,000,000 tasks, some minutes
  pigeon-bench soak --for 30s -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o soak.Options
	fs := cmd.Flags()
	fs.IntVar(&o.Tasks, "tasks", 10_000_000, "tasks in all")
	fs.IntVar(&o.Nodes, "nodes", 100, "names of nodes that come and go")
	fs.DurationVar(&o.For, "for", 0, "no more tasks are submitted after this; 0 for no limit")
	fs.DurationVar(&o.Every, "every", soak.SampleEvery, "time between two samples of each daemon")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the coming and going of nodes")
	fs.StringVar(&o.Policy, "policy", "pigeon", "NAME[:key=value,...]")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkSoak(&o); err != nil {
			return cli.AsUsageError(err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		began := time.Now()
		o.Progress = func(done int) {
			show.Linef("%d of %d tasks, %.0f/s", done, o.Tasks, float64(done)/time.Since(began).Seconds())
		}
		r, err := soak.Run(cmd.Context(), o)
		show.Clear()
		if r == nil {
			return err
		}
		if *output == cli.OutputJSON {
			err = errors.Join(err, cli.WriteJSON(cmd.OutOrStdout(), r))
		} else {
			err = errors.Join(err, soak.WriteTable(cmd.OutOrStdout(), r))
		}
		if err == nil {
			err = soakVerdict(r)
		}
		return err
	}
	return cmd
}

// soakVerdict returns what is wrong with a result.
func soakVerdict(r *soak.Result) error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("%d of %d tasks failed; look at the logs of the daemons, or run fewer tasks until none does", r.Failed, r.Tasks)
	case !r.Decided():
		return fmt.Errorf("the run was too short to tell whether a daemon keeps growing: each needs %d samples in the second half of the tasks; run more tasks, or sample more often with --every", soak.LeastPoints)
	case !r.Flat():
		return errors.New("a daemon keeps growing; the table says which, and by how much")
	}
	return nil
}

func checkSoak(o *soak.Options) error {
	switch {
	case o.Tasks < 1 || o.Tasks > 1_000_000_000:
		return fmt.Errorf("--tasks %d is outside 1 to 1000000000", o.Tasks)
	case o.Nodes < 9 || o.Nodes > 1000: // eight are there at a time
		return fmt.Errorf("--nodes %d is outside 9 to 1000", o.Nodes)
	case o.Every < 10*time.Millisecond:
		return fmt.Errorf("--every %v is below 10ms", o.Every)
	case o.For < 0:
		return fmt.Errorf("--for %v is below zero", o.For)
	}
	if _, _, err := policy.Configure(o.Policy, sched.Params{Cutoff: sched.Second}); err != nil {
		return fmt.Errorf("--policy: %w; nothing was started", err)
	}
	return nil
}
