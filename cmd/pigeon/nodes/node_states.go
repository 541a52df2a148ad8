package nodes

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
)

// stateOf returns the state of a node; masters of an earlier version state only whether it
// is up.
func stateOf(n *api.Node) string {
	switch {
	case n.State != "":
		return n.State
	case n.Up:
		return api.StateUp
	}
	return api.StateUnreachable
}

// reached reports whether the master of a group has answered.
func reached(s *api.MasterState) bool {
	if s.Master != nil {
		return s.Master.State == api.StateUp
	}
	return s.Epoch != 0
}

// nodesOf returns the registered nodes of a group, then those that are only shown.
func nodesOf(s *api.MasterState) []api.Node { return slices.Concat(s.Nodes, s.Departed) }

// nobodyToAsk returns an error when no master has answered.
func nobodyToAsk(states []api.MasterState) error {
	for i := range states {
		if reached(&states[i]) {
			return nil
		}
	}
	subject := fmt.Sprintf("%d groups", len(states))
	if len(states) == 1 {
		subject = "1 group"
	}
	return &api.Error{
		Problem: api.NotReady, What: "no master of any group can be reached, so nothing is known of the nodes", Subject: subject,
		Tried: "listing the nodes", Next: "start the masters, or correct masters in the settings of the frontends",
	}
}

// columns returns the further columns of a line: how long the daemon has been in its state
// and why, unless all are up, and its version, if versions differ.
func columns(allUp bool, state string, versions bool, version, reason string) string {
	line := ""
	if !allUp {
		line += "\t" + state
	}
	if versions {
		line += "\t" + version
	}
	if !allUp {
		line += "\t" + reason
	}
	return line
}

// differ reports whether not all daemons whose version is known have the same.
func differ(states []api.MasterState) bool {
	seen := map[string]bool{}
	for i := range states {
		for _, n := range nodesOf(&states[i]) {
			seen[n.Version] = true
		}
		for _, d := range daemonsOf(&states[i]) {
			seen[d.Version] = true
		}
	}
	delete(seen, "")
	return len(seen) > 1
}

// daemonsOf returns the master of a group and the frontends as that master sees them.
func daemonsOf(s *api.MasterState) []api.DaemonState {
	list := slices.Clone(s.Frontends)
	if s.Master != nil {
		list = append(list, *s.Master)
	}
	return list
}

// shown is a line of the table of frontends and masters. Several masters may see the same of
// a frontend.
type shown struct {
	role, name, address, state, version, reason string
}

// printDaemons prints the frontends and masters that are not up, and all of them when
// versions differ.
func printDaemons(out io.Writer, states []api.MasterState, versions bool) error {
	groups, ages := map[shown][]string{}, map[shown]float64{}
	for i := range states {
		for _, d := range daemonsOf(&states[i]) {
			if d.State == api.StateUp && !versions {
				continue
			}
			line := shown{"frontend", d.Name, d.Address, d.State, d.Version, d.Reason}
			if states[i].Master != nil && d == *states[i].Master {
				line.role, line.name = "master", "-"
			}
			groups[line] = append(groups[line], fmt.Sprint(states[i].Group))
			ages[line] = max(ages[line], d.StateSeconds)
		}
	}
	printNATS(out, states)
	if len(groups) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := cli.NewTable(out)
	fmt.Fprintln(w, "ROLE\tNAME\tGROUP\tADDRESS\tSTATE"+columns(false, "FOR", versions, "VERSION", "REASON"))
	order := func(a, b shown) int {
		return cmp.Or(strings.Compare(a.role, b.role), strings.Compare(a.name, b.name), strings.Compare(groups[a][0], groups[b][0]), strings.Compare(a.address, b.address), strings.Compare(a.state, b.state), strings.Compare(a.reason, b.reason))
	}
	for _, d := range slices.SortedFunc(maps.Keys(groups), order) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", d.role, d.name, strings.Join(groups[d], ","), cmp.Or(d.address, "-"), d.state,
			columns(false, age(ages[d]), versions, cmp.Or(d.version, "-"), cmp.Or(cli.Printable(d.reason), "-")))
	}
	return w.Flush()
}

// printNATS prints what is wrong with the NATS servers that keep leaderships and journals.
func printNATS(out io.Writer, states []api.MasterState) {
	seen := map[string]bool{}
	for i := range states {
		for _, fault := range states[i].NATSFaults {
			if !seen[fault] {
				fmt.Fprintf(out, "\n%s; 'pigeon doctor' says what to do\n", cli.Printable(fault))
			}
			seen[fault] = true
		}
	}
}

// since returns how long a master has not been reached, and why if that is known.
func since(d *api.DaemonState) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf(" for %s: %s", age(d.StateSeconds), cli.Printable(d.Reason))
}

// age shows a time in seconds, exact to the second below an hour and to the minute above.
func age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	unit, cut := time.Second, ""
	if d >= time.Hour {
		unit, cut = time.Minute, "0s"
	}
	return strings.TrimSuffix(d.Truncate(unit).String(), cut)
}
