package viaspark

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// statusNotFound is that of a shell that has no such program.
const statusNotFound = 127

// driver is one driver's process.
type driver struct {
	number   int
	place    string
	notFound string // what to do if the place has no such program
	jobs     []int  // in the workload, in order
	cmd      *exec.Cmd
	in       io.WriteCloser // closed: it wants no more
	out      io.Reader
	errs     *tail

	// Of the goroutine that runs the replay.
	ready, ended bool
	left         int // jobs it has not told of
}

// has reports whether a job of the workload is this driver's.
func (d *driver) has(job int) bool {
	_, ok := slices.BinarySearch(d.jobs, job)
	return ok
}

// heard is what a driver's goroutine tells the one that runs the replay.
type heard struct {
	driver *driver
	said   *said // nil: it ended
	err    error // why, when it should not have
}

// start starts the process, in a process group of its own: an interrupt at the
// terminal is this program's to pass on.
func (d *driver) start(p *Program, argv []string) (err error) {
	d.place, d.notFound = p.Place, p.NotFound
	d.cmd = exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // the user's own program; it is ended by its input
	d.cmd.Env = p.Env
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.errs = newTail()
	d.cmd.Stderr = d.errs
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return err
	}
	if d.out, err = d.cmd.StdoutPipe(); err != nil {
		return err
	}
	d.cmd.WaitDelay = time.Second // for what it left behind with its outputs
	return d.cmd.Start()
}

// follow gives the driver its jobs, tells what it says, and at last that it ended.
// It blocks until the process is gone.
func (d *driver) follow(write func(io.Writer) error, tell func(heard)) {
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		_ = write(d.in) // a driver that does not read its jobs says why by itself
	}()
	err := d.read(tell)
	if err != nil {
		d.kill() // it would wait for a reader
	}
	<-fed
	if waited := d.cmd.Wait(); err == nil {
		err = waited
	}
	tell(heard{driver: d, err: err})
}

func (d *driver) read(tell func(heard)) error {
	lines := bufio.NewScanner(d.out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		s, err := parse(lines.Bytes())
		if err != nil {
			return fmt.Errorf("it wrote what is no record (%.100q): %w", lines.Bytes(), err)
		}
		tell(heard{driver: d, said: s})
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("it wrote a line of more than %d bytes, the limit", maxLine)
	}
	return nil // a broken pipe is the end of the process
}

// release has the driver start its clock. One that is gone says so by itself.
func (d *driver) release() { _, _ = io.WriteString(d.in, "start\n") }

// end asks the driver to end.
func (d *driver) end() { _ = d.in.Close() }

func (d *driver) kill() {
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) // it may be gone
}

// died is what a user is told of a driver that ended before its time.
func (d *driver) died(ctx context.Context, err error, doing string) error {
	what := "ended"
	switch {
	case ctx.Err() != nil:
		what = "was ended"
	case err != nil:
		what = fmt.Sprintf("ended (%v)", err)
	}
	text := fmt.Sprintf("driver %d on %s %s %s", d.number, d.place, what, doing)
	if end := d.errs.String(); end != "" {
		text += "; the last it said:\n  " + strings.ReplaceAll(end, "\n", "\n  ")
	} else {
		text += "; it said nothing"
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == statusNotFound && d.notFound != "" {
		text += "\n" + d.notFound
	}
	return errors.New(text)
}
