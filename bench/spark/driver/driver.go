package driver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// Class is the main class of a driver; it lies in the plugin's jar.
const Class = "org.pigeonsched.spark.bench.Bench"

// Driver is a Spark application that runs commands.
type Driver struct {
	name    string
	process *childproc.Process
	in      *os.File
	answers chan *Answer // closed at the end of standard output
	invalid error        // why its output is no answer; read it when answers is closed
	started time.Time
}

// Start starts a driver: spark-submit, by the command's words. The command's inputs and
// outputs are set here, except its log.
func Start(g *childproc.Group, command childproc.Command) (*Driver, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	command.Stdin, command.Stdout = stdin, stdout
	d := &Driver{name: command.Name, in: in, answers: make(chan *Answer), started: time.Now()}
	d.process, err = g.Start(command)
	if err := errors.Join(err, stdin.Close(), stdout.Close()); err != nil { // the process has its own
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go d.read(out)
	go func() {
		<-d.process.Exited()
		d.process.SignalGroup(syscall.SIGKILL) // its children could keep its outputs open
	}()
	return d, nil
}

// read reads answers until the end of standard output.
func (d *Driver) read(out *os.File) {
	defer close(d.answers)
	defer out.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		a, err := parse(lines.Bytes())
		if err != nil {
			d.invalid = fmt.Errorf("it wrote what is no answer (%.100q): %w", lines.Bytes(), err)
			break
		}
		d.answers <- a
	}
	if err := lines.Err(); err != nil {
		d.invalid = fmt.Errorf("an answer cannot be read: %w", err)
	}
	if d.invalid != nil {
		d.process.SignalGroup(syscall.SIGKILL) // it would wait for its reader
	}
}

// Answers receives what the driver answers, and is closed at the end of its output. It
// must be read until then, or the driver be closed.
func (d *Driver) Answers() <-chan *Answer { return d.answers }

// Started returns when the driver was started.
func (d *Driver) Started() time.Time { return d.started }

// Send sends a command.
func (d *Driver) Send(command string) error {
	if _, err := io.WriteString(d.in, command+"\n"); err != nil {
		return fmt.Errorf("%s accepts no commands: %w; %s", d.name, err, d.process.LogEnd())
	}
	return nil
}

// Ready waits until the application is there.
func (d *Driver) Ready(ctx context.Context) error {
	a, err := d.next(ctx, "its start")
	if err == nil && a.Ready == nil {
		err = fmt.Errorf("%s did not answer first that it is ready", d.name)
	}
	return err
}

// Ask sends a command, and returns the seconds that the driver answers with.
func (d *Driver) Ask(ctx context.Context, command string) ([]float64, error) {
	if err := d.Send(command); err != nil {
		return nil, err
	}
	return d.Seconds(ctx, command)
}

// Seconds waits for the answer to a command that was sent.
func (d *Driver) Seconds(ctx context.Context, command string) ([]float64, error) {
	a, err := d.next(ctx, command)
	if err == nil && a.Seconds == nil {
		err = fmt.Errorf("%s answered '%.40s' without times; %s", d.name, command, d.process.LogEnd())
	}
	if err != nil {
		return nil, err
	}
	return a.Seconds, nil
}

// next waits for an answer.
func (d *Driver) next(ctx context.Context, what string) (*Answer, error) {
	select {
	case a, open := <-d.answers:
		if !open {
			return nil, d.Failure()
		}
		return a, nil
	case <-ctx.Done():
		d.process.SignalGroup(syscall.SIGTERM) // it would continue with a useless command
		return nil, fmt.Errorf("%s did not answer '%.40s': %w; %s", d.name, what, context.Cause(ctx), d.process.LogEnd())
	}
}

// Failure waits for the end of the driver and returns why it ended, with the end of
// its log. Answers must have been read to their end.
func (d *Driver) Failure() error {
	if err := d.process.Err(); d.invalid == nil || err == nil {
		return d.process.Failure()
	}
	return fmt.Errorf("%s was killed: %w; %s", d.name, d.invalid, d.process.LogEnd())
}

// Err waits for the end of the driver and returns what went wrong; nil for status 0. Answers must have been read to their end.
func (d *Driver) Err() error {
	err := d.process.Err()
	if d.invalid != nil {
		return d.invalid
	}
	return err
}

// LogEnd returns the end of the driver's log, for an error.
func (d *Driver) LogEnd() string { return d.process.LogEnd() }

// CloseInput makes the driver end by itself.
func (d *Driver) CloseInput() { _ = d.in.Close() } // it may be closed

// Kill kills the driver and its children.
func (d *Driver) Kill() { d.process.SignalGroup(syscall.SIGKILL) }

// Close makes the driver end by itself, kills it after the given time, and returns when
// it has ended. Commands that it has not yet answered are lost.
func (d *Driver) Close(within time.Duration) {
	d.CloseInput()
	ended := time.AfterFunc(within, d.Kill)
	defer ended.Stop()
	for range d.answers { // it may be about to write one
	}
	<-d.process.Exited()
	d.Kill() // the rest of its group
}
