package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// printStatusTable prints a line for each job. On a narrow terminal names are cut, and columns
// that matter less are left out. Keys are cut last, to the length of an id, since the beginning of
// one names its job too. Where the screen has a height, the newest jobs are printed that it has lines for, beside the
// head, the line that counts the others, that of applications, and the last one, which stays empty.
func printStatusTable(out io.Writer, list []api.Status, screen terminal, now time.Time) error {
	all := len(list)
	if most := max(screen.height-4, 1); screen.height > 0 {
		list = list[:min(all, most)]
	}
	table := fitted{painted: 5, columns: []column{
		{head: "JOB", last: wholeID}, {head: "NAME", least: 8, leaves: 6}, {head: "COMMAND", least: 12, leaves: 7}, {head: "OWNER", least: 6, leaves: 8}, {head: "CLASS", leaves: 5}, {head: "STATE"},
		{head: "DONE"}, {head: "RUNNING", leaves: 2}, {head: "FAILED", leaves: 3}, {head: "AGE"}, {head: "TOOK", leaves: 4}, {head: "SUBMITTED", leaves: 1},
	}}
	for i := range list {
		s := &list[i]
		took := "-"
		if s.State.Ended() {
			took = fmt.Sprintf("%.3f s", s.Seconds)
		}
		table.add(stateColour(s.State), s.Job, cmp.Or(s.Name, "-"), cmp.Or(s.Command, "-"), cmp.Or(s.Owner, "-"), s.Class, string(s.State),
			fmt.Sprintf("%d/%d", s.Completed+s.Failed, s.Tasks), fmt.Sprint(s.Running), fmt.Sprint(s.Failed), ageOf(s.Submitted, now), took, clockTime(s.Submitted))
	}
	err := table.write(out, screen)
	if more := all - len(list); more > 0 && err == nil {
		_, err = fmt.Fprintf(out, "and %s\n", sched.Count(more, "more job", "more jobs"))
	}
	return err
}

// stateColour is that of a job in a list.
func stateColour(s api.State) int {
	switch s {
	case api.StateRunning:
		return cyan
	case api.StateCompleted:
		return green
	case api.StateFailed:
		return red
	case api.StateCancelled:
		return yellow
	}
	return plain
}

// ageOf returns for how long a job has been there, by the reader's clock.
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
