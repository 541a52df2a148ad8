package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/soak"
)

func benchSoak() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run very many tasks while nodes come and go, and decide whether daemons grow",
		Long: `Runs sleep tasks of no length through a cluster of processes: two frontends, two masters
and four nodes that stay, and up to eight nodes that come and go, in order and by SIGKILL,
under as many names as --nodes says. Every two seconds it reads the memory, the goroutines and
the open descriptors of each daemon that stays. The exit status is 1 when one of them keeps
growing, by its slope over the second half of the run, or when a task failed.`,
		Example: `  pigeon bench soak                          10,000,000 tasks, some minutes
  pigeon bench soak --for 30s -o json`,
		Args: cobra.NoArgs,
	}
	output := addOutput(cmd)
	var o soak.Options
	fs := cmd.Flags()
	fs.IntVar(&o.Tasks, "tasks", 10_000_000, "tasks in all")
	fs.IntVar(&o.Nodes, "nodes", 100, "names of nodes that come and go")
	fs.DurationVar(&o.For, "for", 0, "no more tasks are submitted after this; 0 for no limit")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the coming and going of nodes")
	fs.StringVar(&o.Policy, "policy", "pigeon", "NAME[:key=value,...]")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkSoak(&o); err != nil {
			return wrongUse(err)
		}
		show := newProgress(cmd.ErrOrStderr())
		began := time.Now()
		o.Progress = func(done int) {
			show.linef("%d of %d tasks, %.0f/s", done, o.Tasks, float64(done)/time.Since(began).Seconds())
		}
		r, err := soak.Run(cmd.Context(), o)
		show.clear()
		if r == nil {
			return err
		}
		if *output == outputJSON {
			err = errors.Join(err, writeJSON(cmd.OutOrStdout(), r))
		} else {
			err = errors.Join(err, soak.WriteTable(cmd.OutOrStdout(), r))
		}
		if err == nil && !r.Flat() {
			err = errors.New("a daemon keeps growing, or tasks failed; the table says which")
		}
		return err
	}
	return cmd
}

func checkSoak(o *soak.Options) error {
	switch {
	case o.Tasks < 1 || o.Tasks > 1_000_000_000:
		return fmt.Errorf("--tasks %d is outside 1 to 1000000000", o.Tasks)
	case o.Nodes < 9 || o.Nodes > 1000: // eight are there at a time
		return fmt.Errorf("--nodes %d is outside 9 to 1000", o.Nodes)
	case o.For < 0:
		return fmt.Errorf("--for %v is below zero", o.For)
	}
	return nil
}
