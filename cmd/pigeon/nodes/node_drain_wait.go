package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/spf13/cobra"
)

// drainPoll is how often --wait looks at the nodes.
const drainPoll = 200 * time.Millisecond

// unknownFor is how long a node may be unknown to its master, which was started again, before
// it counts as gone: a node registers within seconds.
const unknownFor = 30 * time.Second

// drainWait waits until nodes are drained. A failure of one node is reported at once,
// since the others may take hours.
type drainWait struct {
	cmd      *cobra.Command
	cluster  *connect.Cluster
	output   cli.OutputFormat
	draining []drainingNode
	progress string // the line that was shown last
	failed   bool
}

// drainingNode is a node that has begun to drain and is not known to have ended that.
type drainingNode struct {
	api.NodeDrain
	seen    bool      // its master has shown it as draining
	unknown time.Time // since when its master does not know it; zero while it does
}

func newDrainWait(cmd *cobra.Command, c *connect.Cluster, output cli.OutputFormat) *drainWait {
	return &drainWait{cmd: cmd, cluster: c, output: output}
}

// drain makes the nodes drain, prints each when it is drained, and on standard error
// what still runs meanwhile.
func (w *drainWait) drain(names []string, o api.DrainOrder) error {
	for _, name := range names {
		d, err := drainNode(w.cmd.Context(), w.cluster, name, o)
		if err != nil && w.cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			w.fail(err)
			continue
		}
		warnOnly(w.cmd.ErrOrStderr(), &d)
		w.draining = append(w.draining, drainingNode{NodeDrain: d})
	}
	err := w.await()
	if err == nil && w.failed {
		err = cli.SilentError{Code: cli.ExitFailed}
	}
	return err
}

func (w *drainWait) fail(err error) {
	w.failed = true
	_ = cli.PrintTo(w.cmd.ErrOrStderr(), "pigeon: %v\n", w.cluster.ExplainDenied(err))
}

// await returns when no node drains any more.
func (w *drainWait) await() error {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	ctx := w.cmd.Context()
	for len(w.draining) > 0 {
		states, err := w.cluster.Groups(ctx)
		switch {
		case ctx.Err() != nil:
			return w.interrupted()
		case err != nil:
			return fmt.Errorf("%w; %s goes on draining", err, w.names())
		}
		if err := w.look(states, time.Now()); err != nil {
			return err
		}
		w.showProgress(states)
		if len(w.draining) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return w.interrupted()
		}
	}
	return nil
}

func (w *drainWait) interrupted() error {
	_ = cli.PrintTo(w.cmd.ErrOrStderr(), "interrupted; %s goes on draining\n", w.names())
	return cli.SilentError{Code: cli.ExitInterrupted}
}

// look prints the nodes that are drained, reports those that cannot be any more, and
// keeps the others.
func (w *drainWait) look(states []api.MasterState, now time.Time) error {
	var left []drainingNode
	for _, d := range w.draining {
		n := nodeOf(states, d.Node)
		if n != nil || !answers(states, d.Group) {
			d.unknown = time.Time{}
		} else if d.unknown.IsZero() {
			d.unknown = now
		}
		switch {
		case n == nil && !d.unknown.IsZero() && now.Sub(d.unknown) >= unknownFor:
			w.fail(notDrained(&d, fmt.Sprintf("the master of group %d was started again and has not heard of it for %v", d.Group, unknownFor), "look after its machine; its node monitor goes on draining when it is there"))
			continue
		case n == nil: // it has not registered with its master yet
		case n.State == api.StateDrained:
			d.State, d.Running, d.Results = n.State, 0, 0
			if err := printDrain(w.cmd.OutOrStdout(), &d.NodeDrain, w.output); err != nil {
				return err
			}
			continue
		case n.Gone():
			w.fail(notDrained(&d, fmt.Sprintf("it is %s: %s", n.State, n.Reason), "start its node monitor: it goes on draining"))
			continue
		case n.State == api.StateUp && d.seen:
			w.fail(notDrained(&d, "it was resumed", fmt.Sprintf("'pigeon nodes drain %s' drains it again", d.Node)))
			continue
		case n.State == api.StateDraining:
			d.seen = true
		}
		left = append(left, d)
	}
	w.draining = left
	return nil
}

// answers reports whether the master of a group has answered.
func answers(states []api.MasterState, group int) bool {
	return slices.ContainsFunc(states, func(s api.MasterState) bool {
		return s.Group == group && (s.Master == nil || s.Master.State == api.StateUp)
	})
}

// notDrained is the error about a drain that did not come to its end.
func notDrained(d *drainingNode, what, next string) error {
	return &api.Error{Problem: api.NotReady, What: what, Subject: fmt.Sprintf("node %q", d.Node), Tried: "waiting until it is drained", Next: next}
}

// showProgress prints what still runs, when that has changed.
func (w *drainWait) showProgress(states []api.MasterState) {
	var parts []string
	for _, d := range w.draining {
		n := nodeOf(states, d.Node)
		if n == nil || n.State == api.StateUp { // its master has not heard of the drain yet
			continue
		}
		part := fmt.Sprintf("%s: %d running", d.Node, n.Busy)
		if n.Executors > 0 {
			part += ", " + sched.Count(n.Executors, "executor", "executors")
		}
		if n.State != api.StateDraining {
			part += ", " + n.State
		}
		parts = append(parts, part)
	}
	if line := strings.Join(parts, ", "); line != "" && line != w.progress {
		w.progress = line
		fmt.Fprintln(w.cmd.ErrOrStderr(), line)
	}
}

func (w *drainWait) names() string {
	var names []string
	for _, d := range w.draining {
		names = append(names, d.Node)
	}
	return strings.Join(names, ", ")
}

// nodeOf returns the node of that name, nil when no master has it.
func nodeOf(states []api.MasterState, name string) *api.Node {
	for i := range states {
		nodes := nodesOf(&states[i])
		if k := slices.IndexFunc(nodes, func(n api.Node) bool { return n.ID == name }); k >= 0 {
			return &nodes[k]
		}
	}
	return nil
}
