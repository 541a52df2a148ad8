package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit statuses; scripts rely on them.
const (
	exitDone   = 0
	exitFailed = 1 // the work failed
	exitUsage  = 2 // wrong use, before anything was started
)

// usageError marks an error as wrong use: exit status 2, with a pointer to the
// verb's help.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// wrongUse marks err as wrong use; nil stays nil.
func wrongUse(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// silentError ends the program with a status and no message: the output has
// named the failure already.
type silentError struct{ code int }

func (e silentError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// run is the whole program, so that tests start it in-process. It returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, newRoot(roles()), args, stdio{stdin, stdout, stderr})
}

type stdio struct {
	in       io.Reader
	out, err io.Writer
}

func execute(ctx context.Context, root *cobra.Command, args []string, std stdio) int {
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.InitDefaultCompletionCmd(args...)
	refuseUnknownVerbs(root) // below "completion", which cobra adds, too
	started := false
	markStarted(root, &started)
	help := keepHelpFault(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && *help != nil {
		err, started = *help, true
	}
	if _, fault := errors.AsType[syscall.Errno](err); fault {
		started = true // the version could not be written
	}
	if err == nil {
		return exitDone
	}
	if silent, ok := errors.AsType[silentError](err); ok {
		return silent.code
	}
	if errors.Is(err, context.Canceled) && context.Cause(ctx) != nil {
		_ = printTo(std.err, "interrupted: %v\n", err)
		return exitInterrupted
	}
	_ = printTo(std.err, "pigeon: %v\n", err)
	// cobra refuses flags and arguments before the verb runs.
	if _, ok := errors.AsType[usageError](err); ok || !started {
		fmt.Fprintf(std.err, "Run '%s --help' for what it takes.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
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
