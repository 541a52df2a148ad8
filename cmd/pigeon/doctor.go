package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/doctor"
	"github.com/spf13/cobra"
)

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: groupSelf,
		Short:   "Try what a cluster on this machine will need",
		Long: `Tries what a cluster on this machine will need and prints how to repair what does
not work. It changes nothing. Exit status 1 when something is bad.`,
		Example: `  pigeon doctor
  pigeon doctor -o json | grep -v '"status":"good"'`,
		Args: cobra.NoArgs,
	}
	output := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		worst, err := doctor.Run(cmd.Context(), doctor.Checks(defaultNeeds()), func(f doctor.Finding) error {
			if *output == outputJSON {
				return writeJSON(out, f)
			}
			fmt.Fprintf(out, "%-4s  %s: %s\n", f.Status, f.Check, f.Found)
			if f.Advice != "" {
				fmt.Fprintf(out, "      -> %s\n", f.Advice)
			}
			return nil
		})
		if err != nil {
			return errors.Join(errors.New("the checks were interrupted"), err)
		}
		if worst == doctor.Bad {
			return silentError{exitFailed}
		}
		return nil
	}
	return cmd
}

// defaultNeeds returns what the default settings need: the published ports, and the
// addresses of the first and of a later node of a local cluster.
func defaultNeeds() doctor.Options {
	return doctor.Options{
		TempDir: os.TempDir(),
		Ports: []doctor.Port{
			{Address: "127.0.0.1:20503", Use: "frontend, for applications"},
			{Address: "127.0.0.1:20501", Use: "node monitor, for backends"},
		},
		NATS:  "127.0.0.1:4222",
		Nodes: []string{"127.0.1.1", "127.0.3.40", "127.200.100.50"},
	}
}
