package spark

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Driver is a Spark application that runs what it is asked to run. One goroutine
// uses it at a time.
type Driver struct {
	child   *child
	in      *os.File
	lines   chan []byte // of standard output; closed at its end
	started time.Time
}

// maxLine bounds an answer: 100,000 times of a stream.
const maxLine = 4 << 20

// unread answers are kept: one of the start and one of each command.
const unread = 16

// startDriver starts spark-submit; ready waits for it.
func startDriver(c *children, name string, argv []string) (*Driver, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	d := &Driver{in: write, lines: make(chan []byte, unread), started: time.Now()}
	d.child, err = c.start(name, argv, read, in)
	_ = read.Close() // the process has its own
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	go func() {
		defer close(d.lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			d.lines <- append([]byte(nil), scanner.Bytes()...)
		}
		_ = out.CloseWithError(scanner.Err()) // a driver that writes too long a line cannot write on
	}()
	return d, nil
}

// answer is what the driver tells.
type answer struct {
	Ready       bool            `json:"ready"`
	Application string          `json:"application"`
	Seconds     json.RawMessage `json:"seconds"`
}

// times reads one number of seconds, or a list.
func (a *answer) times() ([]float64, error) {
	var one float64
	if err := json.Unmarshal(a.Seconds, &one); err == nil {
		return []float64{one}, nil
	}
	var list []float64
	err := json.Unmarshal(a.Seconds, &list)
	return list, err
}

// ready waits until the application is there, with or without executors.
func (d *Driver) ready(ctx context.Context) error {
	a, err := d.read(ctx, "its start")
	if err == nil && !a.Ready {
		err = fmt.Errorf("%s did not say that it is ready; its log is %s", d.child.name, d.child.log)
	}
	return err
}

// warmUp has the classes of driver and executors loaded and their hot ones
// compiled.
var warmUp = []string{"sleep 40 50", "sleep 1000 1", "each 100", "sleep 400 5"}

// warm waits until it is there and has executors that have run tasks.
func (d *Driver) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it had not run its first jobs within %v", startTime))
	defer cancel()
	if err := d.ready(ctx); err != nil {
		return err
	}
	for _, command := range warmUp {
		if _, err := d.ask(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// ask has it run a command, and gives the seconds that it answers with.
func (d *Driver) ask(ctx context.Context, command string) ([]float64, error) {
	if err := d.tell(command); err != nil {
		return nil, err
	}
	return d.hear(ctx, command)
}

// one has it run one job of sleeping tasks, and gives the seconds that it took.
func (d *Driver) one(ctx context.Context, tasks int, sleep time.Duration) (float64, error) {
	times, err := d.ask(ctx, fmt.Sprintf("sleep %d %d", tasks, sleep.Milliseconds()))
	if err != nil {
		return 0, err
	}
	if len(times) != 1 {
		return 0, fmt.Errorf("%s answered one job with %d times; its log is %s", d.child.name, len(times), d.child.log)
	}
	return times[0], nil
}

func (d *Driver) tell(command string) error {
	if _, err := io.WriteString(d.in, command+"\n"); err != nil {
		return fmt.Errorf("%s takes no commands: %w; its log %s ends:\n%s", d.child.name, err, d.child.log, tail(d.child.log))
	}
	return nil
}

func (d *Driver) hear(ctx context.Context, command string) ([]float64, error) {
	a, err := d.read(ctx, command)
	if err != nil {
		return nil, err
	}
	times, err := a.times()
	if err != nil {
		return nil, fmt.Errorf("%s answered '%.40s' with no times: %w; its log is %s", d.child.name, command, err, d.child.log)
	}
	return times, nil
}

func (d *Driver) read(ctx context.Context, what string) (*answer, error) {
	select {
	case line, open := <-d.lines:
		if !open {
			<-d.child.exited
			return nil, d.child.failure()
		}
		a := &answer{}
		if err := json.Unmarshal(line, a); err != nil {
			return nil, fmt.Errorf("%s wrote %.80q, which is no answer: %w", d.child.name, line, err)
		}
		return a, nil
	case <-ctx.Done():
		d.child.ask() // it would go on with what nobody waits for
		return nil, fmt.Errorf("%s did not answer '%.40s': %w; its log %s ends:\n%s", d.child.name, what, context.Cause(ctx), d.child.log, tail(d.child.log))
	}
}

// close lets it end by itself, and returns when it is gone.
func (d *Driver) close() {
	_ = d.in.Close() // it may be gone
	d.child.await(2 * grace)
	for range d.lines { // what it still wrote
	}
}
