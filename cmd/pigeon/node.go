package main

import "github.com/spf13/cobra"

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node",
		GroupID: groupCluster,
		Short:   "Do something with nodes of the cluster",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(nodeForgetCommand())
	return cmd
}
