package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/frontends"
	"github.com/spf13/cobra"
)

// drainPoll is how often --wait looks at the nodes.
const drainPoll = 200 * time.Millisecond

func nodeDrainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain NODE...",
		Short: "Have nodes take nothing new and end what they run",
		Long: `Has nodes take nothing new. What runs there ends there; what only waits there starts
elsewhere; executors of applications leave when their application has others. With
--deadline, what still runs then is given back and starts at once elsewhere, as the next
attempt: no loss and no retry is counted. With --kill that is done at once.

A drain outlives its node monitor: started again, that goes on draining, until 'pigeon node
resume'. Draining a node again changes the deadline. --wait shows what still runs and
returns when all nodes are drained. When no other node can run the tasks of an
application now, a warning names it.`,
		Example: "  pigeon node drain n7 --wait\n  pigeon node drain n7 n8 --deadline 10m --wait\n  pigeon node drain n7 --kill -o json",
		Args:    cobra.MinimumNArgs(1),
	}
	output := addOutput(cmd)
	var o api.DrainOrder
	cmd.Flags().DurationVar(&o.Deadline, "deadline", 0, "time after which what still runs is given back; 0s: none")
	cmd.Flags().BoolVar(&o.Kill, "kill", false, "give back at once what runs")
	wait := cmd.Flags().Bool("wait", false, "return when the nodes are drained")
	addClientFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if o.Deadline < 0 {
			return wrongUse(fmt.Errorf("--deadline is %v; use a duration above zero, or 0s for none", o.Deadline))
		}
		return withCluster(cmd, func(c *clusterClient) (err error) {
			var begun []string
			for _, name := range names {
				d, e := c.drainNode(cmd.Context(), name, o)
				if e != nil {
					err = errors.Join(err, e)
					continue
				}
				begun = append(begun, name)
				warnOnly(cmd.ErrOrStderr(), &d)
				if !*wait {
					err = errors.Join(err, printDrain(cmd.OutOrStdout(), &d, *output))
				}
			}
			if *wait {
				err = errors.Join(err, awaitDrained(cmd, c, begun, *output))
			}
			return err
		})
	}
	return cmd
}

func nodeResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume NODE...",
		Short:   "Have drained nodes take tasks again",
		Long:    "Ends the drain of nodes, whether they are drained yet or not: they take tasks again.",
		Example: "  pigeon node resume n7\n  pigeon node resume n7 n8 -o json",
		Args:    cobra.MinimumNArgs(1),
	}
	output := addOutput(cmd)
	addClientFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return withCluster(cmd, func(c *clusterClient) (err error) {
			for _, name := range names {
				var d api.NodeDrain
				e := c.Any(cmd.Context(), func(ctx context.Context, f *frontends.Frontend) (err error) {
					d, err = f.ResumeNode(ctx, name)
					return err
				})
				if e == nil {
					e = printDrain(cmd.OutOrStdout(), &d, *output)
				}
				err = errors.Join(err, e)
			}
			return err
		})
	}
	return cmd
}

// drainNode has the first frontend that answers pass the order on.
func (c *clusterClient) drainNode(ctx context.Context, name string, o api.DrainOrder) (d api.NodeDrain, err error) {
	err = c.Any(ctx, func(ctx context.Context, f *frontends.Frontend) (err error) {
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
		fmt.Fprintf(w, "warning: no other node that is up can run tasks of %s; they wait until one can\n", of)
	}
}

func printDrain(out io.Writer, d *api.NodeDrain, output outputFormat) error {
	if output == outputJSON {
		return writeJSON(out, d)
	}
	var err error
	switch d.State {
	case api.StateUp:
		_, err = fmt.Fprintf(out, "%s takes tasks again\n", d.Node)
	case api.StateDrained:
		_, err = fmt.Fprintf(out, "%s is drained\n", d.Node)
	default:
		_, err = fmt.Fprintf(out, "%s is draining: %d still running\n", d.Node, d.Running)
	}
	return err
}

// awaitDrained prints each node when it is drained, and on standard error what still
// runs meanwhile.
func awaitDrained(cmd *cobra.Command, c *clusterClient, names []string, output outputFormat) (err error) {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	last := ""
	for len(names) > 0 {
		states, e := c.groups(cmd.Context())
		if e != nil {
			return errors.Join(err, fmt.Errorf("%w; the drains go on", e))
		}
		names, err = c.printDrained(cmd.OutOrStdout(), states, names, output, err)
		if line := stillRunning(states, names); line != "" && line != last {
			last = line
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
		if len(names) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-cmd.Context().Done():
			fmt.Fprintf(cmd.ErrOrStderr(), "interrupted; %s goes on draining\n", strings.Join(names, ", "))
			return silentError{exitInterrupted}
		}
	}
	return err
}

// printDrained prints the nodes that are drained, adds to err those that can not be any
// more, and returns the others.
func (c *clusterClient) printDrained(out io.Writer, states []api.MasterState, names []string, output outputFormat, err error) ([]string, error) {
	var left []string
	for _, name := range names {
		switch n := nodeOf(states, name); {
		case n == nil:
			left = append(left, name) // its master is restarting
		case n.State == api.StateDrained:
			err = errors.Join(err, printDrain(out, &api.NodeDrain{Node: name, Group: n.Group, State: n.State}, output))
		case n.State == api.StateUp && n.Slots > 0:
			left = append(left, name) // its master has not heard of it yet
		case n.Gone():
			err = errors.Join(err, fmt.Errorf("node %q is %s: %s; it was not drained to its end", name, n.State, n.Reason))
		default:
			left = append(left, name)
		}
	}
	return left, err
}

// stillRunning is the line of progress.
func stillRunning(states []api.MasterState, names []string) string {
	var parts []string
	for _, name := range names {
		if n := nodeOf(states, name); n != nil {
			parts = append(parts, fmt.Sprintf("%s: %d running", name, n.Busy))
		}
	}
	return strings.Join(parts, ", ")
}

func nodeOf(states []api.MasterState, name string) *api.Node {
	for i := range states {
		nodes := nodesOf(&states[i])
		for k := range nodes {
			if nodes[k].ID == name {
				return &nodes[k]
			}
		}
	}
	return nil
}
