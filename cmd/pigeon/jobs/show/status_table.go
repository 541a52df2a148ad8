package show

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// printStatusTable prints a line for each job. On a narrow terminal names are cut, and columns
// that matter less are left out. Keys are cut last, to the length of an id, since the beginning of
// one names its job too. Where the screen has a height, the newest jobs are printed that it has lines for, beside the
// head, the line that counts the others, that of applications, and the last one, which stays empty.
func printStatusTable(out io.Writer, list []api.Status, screen cli.Terminal, now time.Time) error {
	all := len(list)
	if most := max(screen.Height-4, 1); screen.Height > 0 {
		list = list[:min(all, most)]
	}
	table := cli.FittedTable{Painted: 5, Columns: []cli.Column{
		{Head: "JOB", Last: connect.WholeID}, {Head: "NAME", Least: 8, Leaves: 6}, {Head: "COMMAND", Least: 12, Leaves: 7}, {Head: "OWNER", Least: 6, Leaves: 8}, {Head: "CLASS", Leaves: 5}, {Head: "STATE"},
		{Head: "DONE"}, {Head: "RUNNING", Leaves: 2}, {Head: "FAILED", Leaves: 3}, {Head: "AGE"}, {Head: "TOOK", Leaves: 4}, {Head: "SUBMITTED", Leaves: 1},
	}}
	for i := range list {
		s := &list[i]
		took := "-"
		if s.State.Ended() {
			took = fmt.Sprintf("%.3f s", s.Seconds)
		}
		table.Add(StateColour(s.State), s.Job, cmp.Or(s.Name, "-"), cmp.Or(s.Command, "-"), cmp.Or(s.Owner, "-"), s.Class, string(s.State),
			fmt.Sprintf("%d/%d", s.Completed+s.Failed, s.Tasks), fmt.Sprint(s.Running), fmt.Sprint(s.Failed), ageOf(s.Submitted, now), took, clockTime(s.Submitted))
	}
	err := table.Write(out, screen)
	if more := all - len(list); more > 0 && err == nil {
		_, err = fmt.Fprintf(out, "and %s\n", sched.Count(more, "more job", "more jobs"))
	}
	return err
}

// StateColour is that of a job in a list.
func StateColour(s api.State) int {
	switch s {
	case api.StateRunning:
		return cli.Cyan
	case api.StateCompleted:
		return cli.Green
	case api.StateFailed:
		return cli.Red
	case api.StateCancelled:
		return cli.Yellow
	}
	return cli.Plain
}

// ageOf returns the age of a job by the reader's clock.
func ageOf(submitted float64, now time.Time) string {
	d := max(now.Sub(time.UnixMicro(int64(submitted*1e6))), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// clockTime shows Unix seconds in the reader's time zone.
func clockTime(seconds float64) string {
	return time.UnixMicro(int64(seconds * 1e6)).Format("2006-01-02 15:04:05")
}
