package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const (
	// shownFailures bounds the failed tasks whose end of standard error is shown, and
	// tailBytes and tailLines what is shown of each.
	shownFailures = 3
	tailBytes     = 2 << 10
	tailLines     = 10
)

// drawJob prints all that its frontend tells of one job, and what its failed tasks wrote last.
func (s *shownStatus) drawJob(out io.Writer, j *api.Status, screen cli.Terminal) error {
	if err := printStatus(out, j, screen); err != nil {
		return err
	}
	e, at, err := s.explained(j.Job)
	if err != nil || e == nil {
		return err
	}
	if err := printTasks(out, e.Tasks); err != nil {
		return err
	}
	shown := 0
	for i := range e.Tasks {
		if t := &e.Tasks[i]; t.State == string(api.StateFailed) && shown < shownFailures {
			shown++
			s.printTail(out, at, j.Job, t)
		}
	}
	return nil
}

// explained returns what its frontend tells of a job, nil for one of others that may not be seen.
func (s *shownStatus) explained(job string) (e *api.Explanation, at *client.Frontend, err error) {
	at, err = s.c.Of(s.cmd.Context(), job, func(ctx context.Context, f *client.Frontend) (err error) {
		e, err = f.Explain(ctx, job)
		return err
	})
	if client.HasProblem(err, api.Denied) {
		return nil, nil, nil
	}
	return e, at, err
}

// JobLine is a job that was asked for by its id.
type JobLine struct {
	api.Status
	TaskList []api.TaskStatus `json:"task_list,omitempty"` // attempts that wait for a worker or run, failed, or were followed by others: at most 100 that its frontend has, and 100 that run in each group; tasks that completed are counted only; none of a job that the caller may not see
}

// writeJobs writes the named jobs with their tasks, also when those of one of them are not known.
func (s *shownStatus) writeJobs(out io.Writer, list []api.Status) (err error) {
	named := make([]JobLine, len(list))
	for i := range list {
		named[i].Status = list[i]
		e, _, failed := s.explained(list[i].Job)
		if err = errors.Join(err, failed); e != nil {
			named[i].TaskList = e.Tasks
		}
	}
	return errors.Join(err, cli.WriteAllJSON(out, named))
}

// printTail prints the end of what an attempt wrote to standard error, if there is any.
func (s *shownStatus) printTail(out io.Writer, f *client.Frontend, job string, t *api.TaskStatus) {
	r := wire.LogRequest{Job: job, Task: t.Task, Attempt: t.Attempt, Stream: "stderr", Limit: 1}
	ctx, cancel := s.c.WithTimeout(s.cmd.Context())
	defer cancel()
	piece, err := f.TaskLog(ctx, r)
	if err == nil && piece.Size > 0 {
		r.Offset, r.Limit = max(piece.Size-tailBytes, 0), tailBytes
		piece, err = f.TaskLog(ctx, r)
	}
	if err != nil || len(piece.Data) == 0 {
		return // tasks that are no processes write none, and what is gone 'pigeon logs' explains
	}
	lines := bytes.Split(bytes.TrimRight(piece.Data, "\n"), []byte("\n"))
	if r.Offset > 0 && len(lines) > 1 {
		lines = lines[1:] // it may have begun before
	}
	lines = lines[max(0, len(lines)-tailLines):]
	fmt.Fprintf(out, "\nstderr of task %d, attempt %d, its end:\n", t.Task, t.Attempt)
	for _, line := range lines {
		fmt.Fprintln(out, "  "+cli.Printable(strings.ReplaceAll(string(line), "\t", "  ")))
	}
	fmt.Fprintf(out, "  'pigeon logs %s --task %d --stderr' prints it all\n", cli.Printable(job), t.Task)
}

func printStatus(out io.Writer, s *api.Status, screen cli.Terminal) error {
	w := cli.NewTable(out)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, cli.Printable(value))
		}
	}
	row("job", s.Job)
	row("application", s.App)
	row("owner", s.Owner)
	row("submitter", s.Submitter)
	if s.Priority != 0 {
		row("priority", fmt.Sprint(s.Priority))
	}
	row("name", s.Name)
	row("command", s.Command)
	fmt.Fprint(w, "state\t")
	w.Painted(screen.Paint(cli.Printable(string(s.State)), StateColour(s.State)))
	fmt.Fprintf(w, "\nclass\t%s\n", s.Class)
	fmt.Fprintf(w, "tasks\t%d: %d running, %d completed, %d failed\nattempts\t%d\n", s.Tasks, s.Running, s.Completed, s.Failed, s.Attempts)
	row("submitted", clockTime(s.Submitted))
	if s.Ended > 0 {
		row("ended", fmt.Sprintf("%s, after %.3f s", clockTime(s.Ended), s.Seconds))
	}
	row("reason", s.Reason)
	return w.Flush()
}
