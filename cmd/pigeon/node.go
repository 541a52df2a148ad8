package main

import "github.com/spf13/cobra"

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node",
		GroupID: groupCluster,
		Short:   "Drain nodes, resume them, or stop showing those that are gone",
		Args:    flagsOnly,
	}
	cmd.AddCommand(nodeDrainCommand(), nodeResumeCommand(), nodeForgetCommand())
	return cmd
}
