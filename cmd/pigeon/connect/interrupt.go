package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// CancelTime bounds the cancellation of a job that may have been accepted, whose user interrupted it.
const CancelTime = 5 * time.Second

// UntilHangup returns a context that ends also when the terminal of the caller is closed
// (SIGHUP, unless it is ignored, as by nohup). stop restores what the signal does.
func UntilHangup(ctx context.Context) (_ context.Context, stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// FailBrokenPipes makes a write to a closed pipe an error (SIGPIPE), so that the caller can cancel
// its job, until stop is called.
func FailBrokenPipes() (stop func()) {
	pipe := make(chan os.Signal, 1) // nothing receives from it: the error of the write is enough
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

// CancelInterrupted cancels a job whose user has pressed Ctrl-C, closed the terminal, or closed
// the pipe that its output goes to, and returns the exit status as an error.
func CancelInterrupted(ctx context.Context, w io.Writer, job *client.Job, status int) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM) // a second one ends the tries
	defer stop()
	s, err := job.Cancel(ctx) // repeated for retry_for
	if err != nil {
		return fmt.Errorf("interrupted, and job %s could not be cancelled: %w; 'pigeon cancel %s' tries again", job.ID, err, job.ID)
	}
	if s.State == api.StateCancelled {
		fmt.Fprintf(w, "interrupted; job %s is cancelled\n", job.ID)
	} else {
		fmt.Fprintf(w, "interrupted; job %s had ended before: %s\n", job.ID, s.State)
	}
	return cli.SilentError{Code: status}
}

// ReportUnfinished reports that a job continues whose user no longer waits for it, and returns the
// exit status as an error.
func ReportUnfinished(w io.Writer, id string) error {
	fmt.Fprintf(w, "interrupted; job %s goes on. 'pigeon logs -f %s' follows it, 'pigeon cancel %s' ends it\n", id, id, id)
	return cli.SilentError{Code: cli.ExitInterrupted}
}

// Ask is WithCluster for verbs that only ask: a user who interrupts one knows why there is
// no answer.
func Ask(cmd *cobra.Command, use func(*Cluster) error) error {
	return UnlessInterrupted(cmd, "interrupted", WithCluster(cmd, use))
}

// Order is WithCluster for verbs that change something, and may do so again.
func Order(cmd *cobra.Command, use func(*Cluster) error) error {
	return UnlessInterrupted(cmd, "interrupted; it may have been done all the same: the same command again makes sure", WithCluster(cmd, use))
}

// UnlessInterrupted returns the error of a verb. Where its user has interrupted it, it reports this
// instead, and returns the exit status.
func UnlessInterrupted(cmd *cobra.Command, report string, err error) error {
	if _, said := errors.AsType[cli.SilentError](err); said || err == nil || context.Cause(cmd.Context()) == nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), report)
	return cli.SilentError{Code: cli.ExitInterrupted}
}

// IsBrokenPipe reports whether the reader of the output has closed it.
func IsBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
