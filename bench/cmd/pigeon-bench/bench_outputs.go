package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pigeon-sched/pigeon/bench/outputs"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

func benchOutputs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outputs",
		Short: "Measure what tasks that write much cost a node: disk, and memory of its daemons",
		Long: `Starts a frontend, a master and a node as processes and runs tasks that each write --bytes.
It prints how long that took, the most disk that the outputs had, and the most memory of the
node monitor and of its guard. At the end it reads a sample of the outputs: each is whole, or
its removal is reported, because the node keeps --log-limit in all. The exit status is 1 when
a task failed or an output was cut.`,
		Example: `  pigeon-bench outputs                        10,000 tasks of 10 MB: 100 GB are written
  pigeon-bench outputs --tasks 200 -o json`,
		Args: cli.FlagsOnly,
	}
	output := cli.AddOutputFlag(cmd)
	var o outputs.Options
	fs := cmd.Flags()
	fs.IntVar(&o.Tasks, "tasks", 10_000, "tasks in all")
	fs.Int64Var(&o.Bytes, "bytes", 10_000_000, "that each task writes")
	fs.IntVar(&o.Slots, "slots", 8, "of the node: tasks that write at a time")
	fs.Int64Var(&o.Limit, "log-limit", 2_000_000_000, "bytes that the node keeps of the outputs of ended tasks (its setting log_limit)")
	fs.IntVar(&o.Read, "read", 100, "outputs that are read at the end")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the choice of these")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.Check(); err != nil {
			return cli.AsUsageError(err)
		}
		show := cli.NewProgress(cmd.ErrOrStderr())
		o.Progress = func(ended int) { show.Linef("%d of %d tasks have ended", ended, o.Tasks) }
		r, err := outputs.Run(cmd.Context(), o)
		show.Clear()
		if err != nil {
			return err
		}
		err = printMade(cmd.OutOrStdout(), *output, r, r.Write)
		return errors.Join(err, failedIf(!r.Kept()))
	}
	return cmd
}
