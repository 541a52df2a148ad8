package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses; scripts rely on them.
const (
	ExitDone   = 0
	ExitFailed = 1 // the work failed
	ExitUsage  = 2 // wrong use, before anything was started
	// ExitInterrupted is 128 + SIGINT, and exitBrokenPipe 128 + SIGPIPE, as shells have
	// them.
	ExitInterrupted = 130
	ExitBrokenPipe  = 141
)

// UsageError marks an error as wrong use: exit status 2, with a pointer to the
// verb's help.
type UsageError struct{ err error }

func (e UsageError) Error() string { return e.err.Error() }
func (e UsageError) Unwrap() error { return e.err }

// AsUsageError marks err as wrong use; nil stays nil.
func AsUsageError(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// SilentError ends the program with a status and no message: the output has
// named the failure already.
type SilentError struct{ Code int }

func (e SilentError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Main runs a program until its end, or until a signal asks for it, and exits with its status.
func Main(run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks for a clean end; after it the default action is
	// back, so a second Ctrl-C ends a program that does not come to its end.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Streams are standard input, output and error of a program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the verb of the arguments and returns the exit status. hide hides flags that the help of
// many verbs would repeat, or shows them again, and reports whether there are any; nil hides none.
func Run(ctx context.Context, root *cobra.Command, args []string, std Streams, hide func(fs *pflag.FlagSet, hidden bool) bool) int {
	root.SetArgs(args)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.InitDefaultCompletionCmd(args...)
	refuseUnknownVerbs(root) // below "completion", which cobra adds, too
	started := false
	markStarted(root, &started)
	help := keepHelpFault(root, hide)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && *help != nil {
		err, started = *help, true
	}
	if _, fault := errors.AsType[syscall.Errno](err); fault {
		started = true // the version could not be written
	}
	if err == nil {
		return ExitDone
	}
	if silent, ok := errors.AsType[SilentError](err); ok {
		return silent.Code
	}
	if errors.Is(err, context.Canceled) && context.Cause(ctx) != nil {
		_ = PrintTo(std.Err, "interrupted: %v\n", err)
		return ExitInterrupted
	}
	_ = PrintTo(std.Err, "%s: %v\n", root.Name(), err)
	// cobra refuses flags and arguments before the verb runs.
	if _, ok := errors.AsType[UsageError](err); ok || !started {
		fmt.Fprintf(std.Err, "Run '%s --help' for what it takes.\n", cmd.CommandPath())
		return ExitUsage
	}
	return ExitFailed
}

// markStarted records that a verb's own code has begun.
func markStarted(cmd *cobra.Command, started *bool) {
	if verb := cmd.RunE; verb != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return verb(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		markStarted(child, started)
	}
}
