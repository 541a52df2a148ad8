package main

import (
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node",
		GroupID: cli.GroupCluster,
		Short:   "Drain nodes, resume them, or stop showing those that are gone",
		Args:    cli.FlagsOnly,
	}
	cmd.AddCommand(nodeDrainCommand(), nodeResumeCommand(), nodeForgetCommand())
	return cmd
}
