package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Each picture is drawn for the size that the terminal has by then.
func TestRedrawFollowsTheSizeOfTheTerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(screen)
	sizes := []cli.Terminal{{Width: 120, Height: 40}, {Width: 50, Height: 20}}
	resize := func(to cli.Terminal) {
		size := &unix.Winsize{Col: uint16(to.Width), Row: uint16(to.Height)}                  //nolint:gosec // both are small
		if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, size); err != nil { //nolint:gosec // a descriptor is small
			t.Fatal(err)
		}
	}
	var seen []cli.Terminal
	resize(sizes[0])
	err = Redraw(cmd, time.Millisecond, func(out io.Writer, screen cli.Terminal) error {
		seen = append(seen, cli.Terminal{Width: screen.Width, Height: screen.Height})
		if len(seen) == len(sizes) {
			cancel()
			return nil
		}
		resize(sizes[len(seen)])
		_, err := fmt.Fprintln(out, "a picture")
		return err
	})
	if !slices.Equal(seen, sizes) {
		t.Errorf("pictures were drawn for %v, want %v (%v)", seen, sizes, err)
	}
}

// Where no terminal shows the pictures, an error between them is on standard error: a script that
// reads objects, one a line, gets nothing else.
func TestRedrawKeepsErrorsOutOfAFile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	drawn := 0
	err := Redraw(cmd, time.Millisecond, func(out io.Writer, _ cli.Terminal) error {
		switch drawn++; drawn {
		case 2:
			return errors.New("no frontend answers")
		case 4:
			cancel()
		}
		return cli.WriteJSON(out, drawn)
	})
	if got, said := out.String(), errs.String(); got != "1\n3\n" || said != "pigeon: no frontend answers\n" {
		t.Errorf("%q, and on standard error %q (%v)", got, said, err)
	}
}
