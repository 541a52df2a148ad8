package show

import (
	"cmp"
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

// SayAgain returns a function that prints that the output of another attempt begins.
func SayAgain(w io.Writer) func(*client.Output) {
	return func(t *client.Output) {
		fmt.Fprintf(w, "pigeon: task %d of job %s was started again: the %s of attempt %d follows, from its beginning\n", t.Task, t.Job, t.Stream, t.Current)
	}
}

// SayMissing returns a function that prints what is missing, in its place.
func SayMissing(w io.Writer) func(*client.Output, int64, string) error {
	return func(t *client.Output, missing int64, why string) error {
		_, err := fmt.Fprintf(w, "pigeon: %d bytes of the %s of task %d of job %s are missing from byte %d on: %s\n", missing, t.Stream, t.Task, t.Job, t.Offset, why)
		return err
	}
}

// copyTo returns a function that writes pieces to w as they are.
func copyTo(w io.Writer) func(*client.Output, []byte) error {
	return func(_ *client.Output, data []byte) error {
		_, err := w.Write(data)
		return err
	}
}

// LogPiece is what "pigeon logs -o json" prints.
type LogPiece struct {
	Job    string `json:"job"`    // its id
	Task   int    `json:"task"`   // number in the job, from 0
	Stream string `json:"stream"` // stdout or stderr
	Offset int64  `json:"offset"` // of the piece in the stream, in bytes
	Data   string `json:"data"`   // of the piece; bytes that are no UTF-8 are replaced

	Missing int64  `json:"missing,omitempty"` // bytes from the offset on that the node did not keep; data is empty then
	Why     string `json:"why,omitempty"`     // they were not kept

	Attempt int `json:"attempt,omitempty"` // whose output it is; that of another attempt begins at offset 0 again
}

// asJSON returns a function that writes one object for each piece.
func asJSON(w io.Writer) func(*client.Output, []byte) error {
	return func(t *client.Output, data []byte) error {
		return cli.WriteJSON(w, LogPiece{Job: t.Job, Task: t.Task, Stream: t.Stream, Offset: t.Offset, Attempt: t.Current, Data: string(data)})
	}
}

// missingAsJSON is SayMissing in JSON.
func missingAsJSON(w io.Writer) func(*client.Output, int64, string) error {
	return func(t *client.Output, missing int64, why string) error {
		return cli.WriteJSON(w, LogPiece{Job: t.Job, Task: t.Task, Stream: t.Stream, Offset: t.Offset, Attempt: t.Current, Missing: missing, Why: why})
	}
}

// LogsCommand is the verb logs.
func LogsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "logs JOB",
		GroupID: cli.GroupJobs,
		Short:   "Print what tasks of a job wrote",
		Long: `Prints what a task of an exec job wrote to standard output, or with --stderr to
standard error; of several tasks with the number of the task before each line. The node
that ran it keeps both for an hour after its end: the first GiB of each and the last 64 KiB
(settings of the node monitor). A line on standard error says what is missing between them.
With --follow, a line there says when the task was started again; the output of the new
attempt follows from its beginning.`,
		Example: `  pigeon logs JOB
  pigeon logs JOB --task 7 --stderr
  pigeon logs JOB --task 0-4,9
  pigeon logs JOB --task all --follow`,
		Args:              cli.NamesOne("job"),
		ValidArgsFunction: connect.CompleteJobs,
	}
	output := cli.AddOutputFlag(cmd)
	l := &logsFlags{}
	fs := cmd.Flags()
	fs.StringVar(&l.tasks, "task", "0", "number of the task, from 0; several as 1,3,5-9; or all")
	fs.IntVar(&l.attempt, "attempt", 0, "number of the attempt, as explain shows it (0 = the latest)")
	stderr := fs.Bool("stderr", false, "standard error instead of standard output")
	fs.BoolVarP(&l.follow, "follow", "f", false, "continue until the job has ended")
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if l.attempt < 0 {
			return cli.AsUsageError(fmt.Errorf("--attempt %d must not be negative", l.attempt))
		}
		if err := checkTaskNumbers(l.tasks); err != nil {
			return cli.AsUsageError(err)
		}
		l.job, l.stream, l.output = args[0], "stdout", *output
		if *stderr {
			l.stream = "stderr"
		}
		return connect.Ask(cmd, func(c *connect.Cluster) error {
			err := l.run(cmd, c)
			switch {
			case connect.IsBrokenPipe(err):
				return cli.SilentError{Code: cli.ExitBrokenPipe}
			case l.follow && err != nil && cmd.Context().Err() != nil:
				return connect.ReportUnfinished(cmd.ErrOrStderr(), l.job)
			}
			return err
		})
	}
	return cmd
}

// logsFlags are those of "pigeon logs", and its job.
type logsFlags struct {
	job, tasks, stream string
	attempt            int
	follow             bool
	output             cli.OutputFormat
}

// run copies the outputs written so far, or, with follow, until the job has ended.
func (l *logsFlags) run(cmd *cobra.Command, c *connect.Cluster) error {
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	id, err := c.JobID(ctx, l.job)
	if err != nil {
		return err
	}
	l.job = id
	job, s, err := c.Find(ctx, id)
	if err != nil {
		return err
	}
	numbers, err := SelectTasks(l.tasks, s.Tasks, id)
	switch several := len(numbers) > 1; {
	case err != nil:
		return cli.AsUsageError(err)
	case several && l.attempt > 0:
		return cli.AsUsageError(fmt.Errorf("--attempt is of one task, and --task %s are %d", l.tasks, len(numbers)))
	case l.follow && len(numbers) > mostFollowed:
		return cli.AsUsageError(fmt.Errorf("--task %s are %d tasks, and %d can be followed at a time; name fewer, or leave --follow out", l.tasks, len(numbers), mostFollowed))
	}
	write, flush := copyTo(cmd.OutOrStdout()), func(*client.Output) error { return nil }
	skip, again := SayMissing(errs), SayAgain(errs)
	if len(numbers) > 1 {
		write, flush = prefixed(cmd.OutOrStdout())
	}
	if l.output == cli.OutputJSON {
		write, skip, again = asJSON(cmd.OutOrStdout()), missingAsJSON(cmd.OutOrStdout()), nil
	}
	outputs := make([]*client.Output, len(numbers))
	for i, task := range numbers {
		outputs[i] = &client.Output{Job: id, Task: task, Attempt: l.attempt, Stream: l.stream, Write: write, Skip: skip, Again: again}
	}
	if !l.follow {
		return copyEach(ctx, job, outputs, flush, errs)
	}
	s, err = client.Follow(ctx, job, outputs, nil)
	for _, t := range outputs {
		err = errors.Join(err, flush(t))
	}
	if err == nil && s.State == api.StateFailed {
		return cli.SilentError{Code: cli.ExitFailed}
	}
	return err
}

// copyEach copies what each task has written so far. Of several, those without an output are counted.
func copyEach(ctx context.Context, job *client.Job, outputs []*client.Output, flush func(*client.Output) error, errs io.Writer) error {
	without, first := 0, error(nil)
	for _, t := range outputs {
		err := t.Copy(ctx, job, false)
		if client.HasProblem(err, api.NotFound, api.NotReady) {
			without, first = without+1, cmp.Or(first, err)
		} else if err = errors.Join(err, flush(t)); err != nil {
			return err
		}
	}
	if without == 0 || len(outputs) == 1 {
		return first
	}
	fmt.Fprintf(errs, "pigeon: %d of %d tasks have no output to show; the first: %v\n", without, len(outputs), first)
	return cli.SilentError{Code: cli.ExitFailed}
}
