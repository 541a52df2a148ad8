package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

func nodeDrainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain NODE...",
		Short: "Stop launching on nodes, and let their running tasks end",
		Long: `Has nodes take nothing new. What runs there ends there; what only waits there starts
elsewhere; running executors of applications stay until their application or the
deadline ends. With --deadline, what still runs then is given back and starts at once
elsewhere, as the next attempt: no loss and no retry is counted. With --kill that is
done at once.

A drain survives a restart of the node monitor; it ends with 'pigeon nodes resume'. Draining a node again changes the deadline. --wait shows what still runs and
returns when all nodes are drained. When no other node can run the tasks of an
application now, a warning names it.`,
		Example: "  pigeon nodes drain n7 --wait\n  pigeon nodes drain n7 n8 --deadline 10m --wait\n  pigeon nodes drain n7 --kill -o json",
		Args:    cli.NamesAtLeastOne("node"),
	}
	output := cli.AddOutputFlag(cmd)
	var o api.DrainOrder
	cmd.Flags().DurationVar(&o.Deadline, "deadline", 0, "time after which what still runs is given back; 0s: none")
	cmd.Flags().BoolVar(&o.Kill, "kill", false, "give back at once what runs")
	wait := cmd.Flags().Bool("wait", false, "return when the nodes are drained")
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := checkDrain(o); err != nil {
			return cli.AsUsageError(err)
		}
		return connect.Order(cmd, func(c *connect.Cluster) error {
			if *wait {
				return newDrainWait(cmd, c, *output).drain(names, o)
			}
			return drainNodes(cmd, c, names, o, *output)
		})
	}
	return cmd
}

// checkDrain refuses an order without a request, or with two.
func checkDrain(o api.DrainOrder) error {
	switch {
	case o.Deadline < 0:
		return fmt.Errorf("--deadline is %v; use a duration above zero, or 0s for none", o.Deadline)
	case o.Deadline > 0 && o.Kill:
		return fmt.Errorf("--kill gives back at once what runs, and --deadline %v later; use one of them", o.Deadline)
	}
	return nil
}

// drainNodes prints what each node answers.
func drainNodes(cmd *cobra.Command, c *connect.Cluster, names []string, o api.DrainOrder, output cli.OutputFormat) (err error) {
	for _, name := range names {
		d, e := drainNode(cmd.Context(), c, name, o)
		if e == nil {
			warnOnly(cmd.ErrOrStderr(), &d)
			e = printDrain(cmd.OutOrStdout(), &d, output)
		}
		err = errors.Join(err, e)
	}
	return err
}

func nodeResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume NODE...",
		Short:   "Have drained nodes take tasks again",
		Long:    "Ends the drain of nodes, whether they are drained yet or not: they take tasks again.",
		Example: "  pigeon nodes resume n7\n  pigeon nodes resume n7 n8 -o json",
		Args:    cli.NamesAtLeastOne("node"),
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return connect.Order(cmd, func(c *connect.Cluster) (err error) {
			for _, name := range names {
				var d api.NodeDrain
				e := c.Any(cmd.Context(), func(ctx context.Context, f *client.Frontend) (err error) {
					d, err = f.ResumeNode(ctx, name)
					return err
				})
				if e == nil {
					e = printResumed(cmd.OutOrStdout(), &d, *output)
				}
				err = errors.Join(err, e)
			}
			return err
		})
	}
	return cmd
}

// printResumed prints what a node answers whose drain is over.
func printResumed(out io.Writer, d *api.NodeDrain, output cli.OutputFormat) error {
	if output == cli.OutputJSON || d.State == api.StateUp || d.Reason == "" {
		return printDrain(out, d, output)
	}
	return cli.PrintTo(out, "%s drains no more, but takes nothing yet: %s\n", d.Node, d.Reason)
}

// drainNode makes the first frontend that answers pass the order on.
func drainNode(ctx context.Context, c *connect.Cluster, name string, o api.DrainOrder) (d api.NodeDrain, err error) {
	err = c.Any(ctx, func(ctx context.Context, f *client.Frontend) (err error) {
		d, err = f.DrainNode(ctx, name, o)
		return err
	})
	return d, err
}

// warnOnly names the applications whose tasks no other node can run now.
func warnOnly(w io.Writer, d *api.NodeDrain) {
	for _, app := range d.Only {
		of := fmt.Sprintf("application %q", app)
		if app == "" {
			of = "sleep and exec"
		}
		_ = cli.PrintTo(w, "warning: without %s no node that is up can run tasks of %s; they wait until one can\n", d.Node, of)
	}
}

func printDrain(out io.Writer, d *api.NodeDrain, output cli.OutputFormat) error {
	if output == cli.OutputJSON {
		return cli.WriteJSON(out, d)
	}
	var err error
	switch d.State {
	case api.StateUp:
		err = cli.PrintTo(out, "%s takes tasks again\n", d.Node)
	case api.StateDrained:
		err = cli.PrintTo(out, "%s is drained\n", d.Node)
	default:
		err = cli.PrintTo(out, "%s is draining: %d still running\n", d.Node, d.Running)
	}
	return err
}
