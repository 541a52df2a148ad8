package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/request"
	"github.com/pigeon-sched/pigeon/cmd/pigeon/jobs/show"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/spf13/cobra"
)

// RunCommand is the verb run.
func RunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "run [flags] -- PROGRAM [ARGUMENT]...",
		GroupID: cli.GroupJobs,
		Short:   "Run a program on the cluster: its output, its exit status",
		Long: `Submits a job of one task, waits for it, and passes on what it writes and its exit
status (128 + n when signal n ended it; as from a shell, 127 when there is no such program
and 126 when it cannot be run, with the reason; 1 when it was not run for another reason, and
when it succeeded and bytes of its output are missing, with their number).
When it waits for more than a second, standard error says why. When the program is started
again after a part of its output was passed on, standard error says so, and the output of
the new attempt follows from its beginning. The job is cancelled by Ctrl-C, and when the
terminal is closed or nobody reads its output any more.

The program gets standard input when that is a file or a pipe, and with -i also when it is
a terminal; it reads end-of-file when that has ended. A task that is started again gets all
of it again: a file is read again, of a pipe the first MiB is kept, and beyond that the job
is cancelled and the exit status is 1. In the loop of a script that reads a pipe, -n leaves
the rest to the loop.

When its frontend dies or hangs, the job goes on, and so does the output once that
frontend answers again, or another one of --frontend that has taken it over;
--retry-for bounds the wait.`,
		Example: `  pigeon run -- echo hello
  pigeon run --dir . --class short -- make test
  pigeon run -- sort < names.txt > sorted.txt
  pigeon run --retries 2 -- flaky-program || echo "failed with $?"`,
	}
	job := request.AddFlags(cmd)
	var stdin stdinFlags
	stdin.add(cmd.Flags())
	var to string
	addCollect(cmd.Flags(), &to)
	connect.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		if err := request.CheckArgv(argv, "run"); err != nil {
			return cli.AsUsageError(err)
		}
		argv, scriptInput, err := job.UseScript(argv)
		if err != nil {
			return cli.AsUsageError(err)
		}
		r, err := job.Request(argv, 0, 1)
		if err != nil {
			return err
		}
		in, err := stdin.open(cmd.InOrStdin(), scriptInput || slices.Contains(job.EnvFiles, "-"))
		if err != nil {
			return cli.AsUsageError(err)
		}
		r.Tasks[0].Payload.Exec.Stdin = in != nil
		r.NoSuspend = r.NoSuspend || isTyped(in)
		if err := checkCollect(to); err != nil {
			return err
		}
		return connect.WithCluster(cmd, func(c *connect.Cluster) error { return runJob(cmd, c, &jobToRun{r, job.Staged}, in, to) })
	}
	return cmd
}

// jobToRun is the job of a command line.
type jobToRun struct {
	*api.Request
	staged request.Staged
}

// runJob submits the job, follows it and returns its exit status.
func runJob(cmd *cobra.Command, c *connect.Cluster, r *jobToRun, in stdinSource, to string) error {
	ctx, stop := connect.UntilHangup(cmd.Context())
	defer stop()
	defer connect.FailBrokenPipes()()
	job, duplicate, err := c.SubmitWithFiles(ctx, r.Request, r.staged.Paths)
	if err != nil {
		return notSubmitted(ctx, cmd.ErrOrStderr(), err, func(lost *client.AnswerError) error {
			return cancelUnanswered(context.WithoutCancel(ctx), cmd.ErrOrStderr(), c.Client, lost)
		})
	}
	if duplicate {
		printDuplicate(cmd.ErrOrStderr(), job.ID)
		if in != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "pigeon: this job was already submitted and keeps its first input; this standard input may be ignored")
		}
	}
	ctx, stopInput := forwardInput(ctx, job, in)
	defer stopInput()
	notice := &queueNotice{out: cmd.ErrOrStderr(), began: time.Now()}
	skip, again := show.SayMissing(cmd.ErrOrStderr()), show.SayAgain(cmd.ErrOrStderr())
	out, errs := client.WriteTo(cmd.OutOrStdout(), job, 0, "stdout"), client.WriteTo(cmd.ErrOrStderr(), job, 0, "stderr")
	out.Skip, out.Again, errs.Skip, errs.Again = skip, again, skip, again
	s, err := client.Follow(ctx, job, []*client.Output{out, errs}, notice.observe)
	switch {
	case inputFault(ctx) != nil && err != nil:
		return withoutInput(cmd.Context(), job, inputFault(ctx))
	case ctx.Err() != nil:
		return connect.CancelInterrupted(context.WithoutCancel(ctx), cmd.ErrOrStderr(), job, cli.ExitInterrupted)
	case connect.IsBrokenPipe(err):
		return connect.CancelInterrupted(ctx, cmd.ErrOrStderr(), job, cli.ExitBrokenPipe)
	case err != nil:
		return fmt.Errorf("job %s was accepted, and following it ended early: %w; 'pigeon logs -f %s' follows it", job.ID, err, job.ID)
	}
	return cmp.Or(ranTo(ctx, job, &s, out.Missing+errs.Missing, cmp.Or(out.Why, errs.Why), cmd.ErrOrStderr()), collect(ctx, &collection{job, 1, to, r.Stage}, cmd.ErrOrStderr()))
}

// notSubmitted returns the error of a submission as the end of this program. A job whose user has
// interrupted it before an answer may have been accepted all the same: unanswered ends the program
// then.
func notSubmitted(ctx context.Context, w io.Writer, err error, unanswered func(*client.AnswerError) error) error {
	lost, sent := errors.AsType[*client.AnswerError](err)
	switch {
	case ctx.Err() == nil:
		return err
	case sent:
		return unanswered(lost)
	case errors.Is(err, context.Canceled), client.HasProblem(err, api.NotReady, api.Busy): // in a call, or between two
		fmt.Fprintln(w, "interrupted; nothing was submitted")
		return cli.SilentError{Code: cli.ExitInterrupted}
	}
	return err
}

// cancelUnanswered cancels a job that a frontend may have accepted or may still accept, and returns
// the exit status as an error.
func cancelUnanswered(ctx context.Context, w io.Writer, c *client.Client, lost *client.AnswerError) error {
	ctx, cancel := context.WithTimeout(ctx, connect.CancelTime)
	defer cancel()
	for unknown := false; ; unknown = true {
		s, err := cancelAt(ctx, c, lost)
		switch {
		case unknown && ctx.Err() != nil && err != nil:
			fmt.Fprintf(w, "interrupted; frontend %s has not accepted job %s\n", lost.Frontend, lost.Job)
			return cli.SilentError{Code: cli.ExitInterrupted}
		case err == nil && s.State == api.StateCancelled:
			fmt.Fprintf(w, "interrupted; job %s is cancelled\n", lost.Job)
			return cli.SilentError{Code: cli.ExitInterrupted}
		case err == nil:
			fmt.Fprintf(w, "interrupted; job %s had ended before: %s\n", lost.Job, s.State)
			return cli.SilentError{Code: cli.ExitInterrupted}
		case !client.HasProblem(err, api.NotFound):
			return fmt.Errorf("interrupted, and job %s, which frontend %s may have accepted, could not be cancelled: %w; 'pigeon cancel %s' tries again", lost.Job, lost.Frontend, err, lost.Job)
		}
		delay.For(ctx, longestInputPause) // it may arrive after the order to cancel it
	}
}

// cancelAt cancels a job at the frontend that may have accepted it. At others its key may be that of
// another job.
func cancelAt(ctx context.Context, c *client.Client, lost *client.AnswerError) (s api.Status, err error) {
	var answer error
	_, err = c.Of(ctx, lost.Job, func(ctx context.Context, f *client.Frontend) error {
		if f.Address != lost.Frontend {
			return &api.Error{Problem: api.NotFound, What: "the job was not sent there", Subject: "frontend " + f.Address, Address: lost.Frontend}
		}
		s, answer = f.Cancel(ctx, lost.Job)
		return answer
	})
	return s, cmp.Or(answer, err)
}

// ranTo returns the end of a job that was run, of whose output bytes are missing, as the end of this
// program.
func ranTo(ctx context.Context, job *client.Job, s *api.Status, missing int64, why string, errs io.Writer) error {
	switch {
	case s.State == api.StateCompleted:
		return incomplete(job.ID, missing, why)
	case s.State == api.StateCancelled:
		return fmt.Errorf("job %s was cancelled: %s", job.ID, s.Reason)
	}
	e, err := job.Explain(ctx)
	if err == nil && len(e.Tasks) > 0 && e.Tasks[0].Exit > 0 {
		if e.Tasks[0].Code != "" || e.Tasks[0].Seconds == 0 { // its output need not say that it met a limit, and has nothing of one that never began
			_ = cli.PrintTo(errs, "pigeon: job %s failed: %s\n", job.ID, s.Reason)
		}
		return cli.SilentError{Code: e.Tasks[0].Exit}
	}
	return errors.Join(fmt.Errorf("job %s %s: %s", job.ID, s.State, s.Reason), err)
}

// incomplete is the error of a job that completed and whose output is not whole: who reads it must
// not take it for that.
func incomplete(job string, missing int64, why string) error {
	if missing == 0 {
		return nil
	}
	next := "have the program write less, or to storage of its own, until there is room on the disk of its node"
	if strings.Contains(why, "output_limit") {
		next = "have the program write to a file of its own, or raise output_limit of the node monitors"
	}
	return fmt.Errorf("job %s completed, and %d bytes of its output are missing: %s; %s", job, missing, why, next)
}
