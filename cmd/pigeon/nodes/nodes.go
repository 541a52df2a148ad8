// Package nodes has the verbs about the cluster as a whole: nodes with what drains and forgets them, shares, top,
// events.
package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// Command is the verb nodes.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "nodes",
		Aliases: []string{"node"},
		GroupID: cli.GroupCluster,
		Short:   "Show the nodes of the cluster and their slots; drain, resume or forget them",
		Long: `Shows the nodes as their masters see them: slots, how many of them are reserved for
short tasks, how many are busy, and which applications have a backend there. Nodes that
are lost, stopped or unreachable are shown with the reason and for how long they have been
so, until they return, are forgotten ('pigeon nodes forget') or have been gone for
forget_after, a setting of masters. A second table shows frontends and masters that are
not up. With --groups, the groups: their queues and workers. The exit status is 1 when no
master can be reached.`,
		Example: "  pigeon nodes\n  pigeon nodes --groups\n  pigeon nodes -o json\n  pigeon nodes drain n-3 --wait 10m",
		Args:    cli.FlagsOnly,
	}
	cmd.AddCommand(nodeDrainCommand(), nodeResumeCommand(), nodeForgetCommand())
	output := cli.AddOutputFlag(cmd)
	groups := cmd.Flags().Bool("groups", false, "groups instead of nodes")
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var states []api.MasterState
		err := connect.Ask(cmd, func(c *connect.Cluster) (err error) {
			states, err = c.Groups(cmd.Context())
			return err
		})
		if err != nil {
			return err
		}
		switch {
		case *output == cli.OutputJSON:
			err = writeGroups(cmd.OutOrStdout(), states, *groups)
		case *groups:
			err = printGroups(cmd.OutOrStdout(), states)
		default:
			err = printNodes(cmd.OutOrStdout(), states)
		}
		return errors.Join(err, nobodyToAsk(states))
	}
	return cmd
}

func writeGroups(out io.Writer, states []api.MasterState, groups bool) error {
	for i := range states {
		for k := range states[i].Nodes {
			states[i].Nodes[k].Apps = show.NamedOnce(states[i].Nodes[k].Apps)
		}
		if groups {
			states[i].Nodes, states[i].Departed = nil, nil
		} else if err := cli.WriteAllJSON(out, nodesOf(&states[i])); err != nil {
			return err
		}
	}
	if groups {
		return cli.WriteAllJSON(out, states)
	}
	return nil
}

// printNodes prints the nodes, and below them the frontends and masters that are not up. How
// long a node has been in its state and why is shown where one is not up or has no slots, and versions where
// they differ.
func printNodes(out io.Writer, states []api.MasterState) error {
	versions, allUp := differ(states), true
	for i := range states {
		for _, n := range nodesOf(&states[i]) {
			allUp = allUp && stateOf(&n) == api.StateUp && n.Reason == ""
		}
	}
	w := cli.NewTable(out)
	fmt.Fprint(w, "NODE\tGROUP\tADDRESS\tSLOTS\tRESERVED\tBUSY\tAPPLICATIONS\tOWNERS\tSTATE")
	fmt.Fprintln(w, columns(allUp, "FOR", versions, "VERSION", "REASON"))
	for i := range states {
		for _, n := range nodesOf(&states[i]) {
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s\t%s", n.ID, n.Group, n.Address, n.Slots, n.Reserved, n.Busy, applications(n.Apps), ownersOf(n.Owners), stateOf(&n))
			fmt.Fprintln(w, columns(allUp, age(n.StateSeconds), versions, cmp.Or(n.Version, "-"), cmp.Or(cli.Printable(n.Reason), "-")))
		}
	}
	return errors.Join(w.Flush(), printDaemons(out, states, versions))
}

// applications names those that the slots of a node serve besides the built-in
// backends.
func applications(apps []string) string {
	var names []string
	for _, a := range apps {
		if a != "" {
			names = append(names, a)
		}
	}
	if len(names) == 0 {
		return "-"
	}
	return cli.Printable(strings.Join(names, ","))
}

// shownOwners is how many owners the table of nodes names for each; JSON has all.
const shownOwners = 3

// ownersOf names the owners of the tasks that run on a node.
func ownersOf(owners []string) string {
	switch more := len(owners) - shownOwners; {
	case len(owners) == 0:
		return "-"
	case more > 0:
		return fmt.Sprintf("%s,and %d more", strings.Join(owners[:shownOwners], ","), more)
	}
	return strings.Join(owners, ",")
}

func printGroups(out io.Writer, states []api.MasterState) error {
	w := cli.NewTable(out)
	fmt.Fprintln(w, "GROUP\tNODES\tWORKERS\tBUSY GENERAL\tBUSY RESERVED\tSHORT QUEUE\tOLDEST\tLONG QUEUE\tOLDEST\tLAUNCHES\tLOST\tREFUSED")
	for i := range states {
		s := &states[i]
		if !reached(s) {
			fmt.Fprintf(w, "%d%s\tits master cannot be reached%s\n", s.Group, strings.Repeat("\t-", 11), since(s.Master)) // fewer cells would end the columns
			continue
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d of %d\t%d of %d\t%d\t%.3f s\t%d\t%.3f s\t%d\t%d\t%d\n",
			s.Group, len(s.Nodes), s.Workers, s.BusyGeneral, s.BusyGeneral+s.IdleGeneral, s.BusyReserved, s.BusyReserved+s.IdleReserved,
			s.QueuedShort, s.OldestShort, s.QueuedLong, s.OldestLong, s.Launches, s.Lost, s.RefusedLaunch)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printMasters(out, states)
}

// printMasters prints the leaders of the groups that have standbys, and the standbys.
func printMasters(out io.Writer, states []api.MasterState) error {
	w, some := cli.NewTable(out), false
	for i := range states {
		for _, m := range states[i].Masters {
			if !some {
				fmt.Fprintln(w, "\nGROUP\tMASTER\tROLE")
				some = true
			}
			fmt.Fprintf(w, "%d\t%s\t%s\n", states[i].Group, m.Address, cmp.Or(m.Role, "cannot be reached"))
		}
	}
	return w.Flush()
}
