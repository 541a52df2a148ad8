package show

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// ExplainCommand is the verb explain.
func ExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain JOB",
		GroupID: cli.GroupWatch,
		Short:   "Show why a job waits, or why it ended as it did",
		Long: `Shows why a job waits or why it ended as it did, what each group holds of it, and
what would change that.`,
		Example:           "  pigeon explain JOB\n  pigeon explain JOB -o json",
		Args:              cli.NamesOne("job"),
		ValidArgsFunction: connect.CompleteJobs,
	}
	output := cli.AddOutputFlag(cmd)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var e *api.Explanation
		err := connect.Ask(cmd, func(c *connect.Cluster) (err error) {
			e, err = Explain(cmd.Context(), c, args[0])
			return err
		})
		if err != nil {
			return err
		}
		if *output == cli.OutputJSON {
			return cli.WriteJSON(cmd.OutOrStdout(), e)
		}
		return printExplanation(cmd.OutOrStdout(), e)
	}
	return cmd
}

// Explain returns the explanation of the job of an id or of its beginning.
func Explain(ctx context.Context, c *connect.Cluster, given string) (e *api.Explanation, err error) {
	id, err := c.JobID(ctx, given)
	if err != nil {
		return nil, err
	}
	_, err = c.Of(ctx, id, func(ctx context.Context, f *client.Frontend) (err error) {
		e, err = f.Explain(ctx, id)
		return err
	})
	return e, err
}

func printExplanation(out io.Writer, e *api.Explanation) error {
	var lines strings.Builder
	fmt.Fprintf(&lines, "job %s %s\n", cli.Printable(e.Status.Job), cli.Printable(StatePhrase(e.Status.State)))
	for _, sentence := range e.Why {
		fmt.Fprintln(&lines, "  "+cli.Printable(sentence))
	}
	if _, err := io.WriteString(out, lines.String()); err != nil {
		return err
	}
	if len(e.Groups) > 0 {
		fmt.Fprintln(out)
		w := cli.NewTable(out)
		fmt.Fprintln(w, "GROUP\tQUEUED\tRUNNING\tSHORT QUEUE\tLONG QUEUE\tIDLE GENERAL\tIDLE RESERVED\tSERVING\tOLDEST WAIT")
		for i := range e.Groups {
			g := &e.Groups[i]
			if !g.Reachable {
				fmt.Fprintf(w, "%d%s\tits master cannot be reached\n", g.Group, strings.Repeat("\t-", 8)) // fewer cells would end the columns
				continue
			}
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f s\n",
				g.Group, g.Queued, g.Running, g.AheadShort, g.AheadLong, g.IdleGeneral, g.IdleReserve, g.Serving, g.OldestWait)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if err := printTasks(out, e.Tasks); err != nil {
		return err
	}
	return printTrace(out, e)
}

// printTrace prints the id under which a job is traced, and where the trace is shown.
func printTrace(out io.Writer, e *api.Explanation) (err error) {
	switch {
	case e.TraceURL != "":
		err = cli.PrintTo(out, "\ntrace %s: %s\n", e.Trace, e.TraceURL)
	case e.Trace != "":
		err = cli.PrintTo(out, "\ntrace %s\n", e.Trace)
	}
	return err
}

// StatePhrase returns where a job stands, after its name in a sentence.
func StatePhrase(s api.State) string {
	switch s {
	case api.StateCompleted, api.StateFailed:
		return string(s)
	case api.StateCancelled:
		return "was cancelled"
	}
	return "is " + string(s)
}

func printTasks(out io.Writer, tasks []api.TaskStatus) error {
	if len(tasks) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := cli.NewTable(out)
	fmt.Fprintln(w, "TASK\tATTEMPT\tSTATE\tNODE\tELAPSED\tEXIT\tREASON")
	for i := range tasks {
		t := &tasks[i]
		elapsed, exit := "-", "-"
		if api.State(t.State).Ended() || t.Seconds > 0 {
			elapsed = fmt.Sprintf("%.3f s", t.Seconds)
		}
		if t.Exit != 0 || t.State == string(api.StateCompleted) { // 0 of any other: none is known
			exit = strconv.Itoa(t.Exit)
		}
		reason := t.Reason
		switch {
		case reason == "":
			reason = t.Code
		case t.Code != "":
			reason = t.Code + ": " + reason
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\n", t.Task, t.Attempt, t.State, t.Node, elapsed, exit, cli.Printable(reason))
	}
	return w.Flush()
}
