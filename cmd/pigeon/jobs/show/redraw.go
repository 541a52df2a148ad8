package show

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/spf13/cobra"
)

const (
	// homeAndClear moves to the top of the screen and clears it.
	homeAndClear = "\x1b[H\x1b[J"
	// LeastEvery bounds how often a watching verb asks a frontend.
	LeastEvery = 100 * time.Millisecond
)

// Redraw draws at once, and again after every interval, until the verb is interrupted or its
// output is closed. On a terminal each picture replaces the one before, and has the size that the
// terminal has by then. Once there was one, an error is shown in its place, elsewhere on standard
// error, since a script reads the pictures: the cluster may come back.
func Redraw(cmd *cobra.Command, every time.Duration, draw func(out io.Writer, screen cli.Terminal) error) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	for first := true; ; first = false {
		var picture bytes.Buffer
		screen := ScreenOf(cmd)
		err := draw(&picture, screen)
		if ctx.Err() != nil {
			return cli.SilentError{Code: cli.ExitInterrupted}
		}
		if err != nil {
			if first {
				return err
			}
			told := io.Writer(&picture)
			if screen.Height == 0 {
				told = cmd.ErrOrStderr()
			}
			_ = cli.PrintTo(told, "pigeon: %v\n", err)
		}
		if screen.Height > 0 {
			picture = *bytes.NewBuffer(append([]byte(homeAndClear), picture.Bytes()...))
		}
		if _, err := out.Write(picture.Bytes()); connect.IsBrokenPipe(err) {
			return cli.SilentError{Code: cli.ExitBrokenPipe}
		} else if err != nil {
			return fmt.Errorf("output could not be written: %w", err)
		}
		if !delay.For(ctx, every) {
			return cli.SilentError{Code: cli.ExitInterrupted}
		}
	}
}

// ScreenOf returns what a verb's output can show, also while it is drawn into a buffer.
func ScreenOf(cmd *cobra.Command) cli.Terminal {
	if f, ok := cmd.OutOrStdout().(*os.File); ok {
		return cli.TerminalOf(f)
	}
	return cli.Terminal{}
}
