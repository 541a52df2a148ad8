package reuther

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// database starts the database of a job queue in a place, and returns the socket on which the
// queue reaches it.
type database func(ctx context.Context, p *place) (socket string, about Description, err error)

// queue is a job queue that is a Go module, in the program of bench/peers, with its own
// database.
type queue struct {
	name     string
	program  string
	database database

	place   *place
	about   Description
	process *childproc.Process
	in      *io.PipeWriter
	out     *io.PipeReader
	answers *json.Decoder
}

func (q *queue) Name() string { return q.name }

func (q *queue) Describe(context.Context) (Description, error) { return q.about, nil }

func (q *queue) Start(ctx context.Context, slots int) error {
	program, err := exec.LookPath(q.program)
	if err != nil {
		return fmt.Errorf("%s %w (no program %q): make bin/peers builds it, it belongs beside this program", q.name, ErrAbsent, q.program)
	}
	if q.place, err = newPlace(); err != nil {
		return err
	}
	socket, of, err := q.database(ctx, q.place)
	if err != nil {
		return err
	}
	in, write := io.Pipe()
	read, out := io.Pipe()
	q.in, q.out, q.answers = write, read, json.NewDecoder(bufio.NewReader(read))
	q.process, err = q.place.daemons.Start(childproc.Command{
		Name: q.name, Argv: []string{program, q.name, "--socket", socket, "--slots", strconv.Itoa(slots)},
		Stdin: in, Stdout: out, Log: q.place.path(q.name + ".log"), Watchdog: true,
	})
	if err != nil {
		return err
	}
	q.place.running = append(q.place.running, q.process)
	var first struct{ About, Configuration string }
	if err := q.read(ctx, &first); err != nil {
		return err
	}
	q.about = Description{About: first.About + " with " + of.About, Configuration: of.Configuration + first.Configuration + "\n"}
	return nil
}

// read reads an answer.
func (q *queue) read(ctx context.Context, into any) error {
	ctx, free := q.place.guarded(ctx)
	defer free()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = q.answers.Decode(into)
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		// Closing the pipe ends the reader, whose error only repeats the context's.
		_ = q.out.CloseWithError(context.Cause(ctx))
		<-ended
		return context.Cause(ctx)
	}
}

func (q *queue) Run(ctx context.Context, programs [][]string) error {
	written := make(chan error, 1)
	go func() { written <- json.NewEncoder(q.in).Encode(map[string]any{"programs": programs}) }()
	var answer struct{ Error string }
	if err := q.read(ctx, &answer); err != nil {
		_ = q.in.CloseWithError(err) // it returns none
		return errors.Join(err, <-written)
	}
	if err := <-written; err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

func (q *queue) Stop() error {
	if q.process != nil {
		_ = q.in.Close() // returns none; the program ends with its input
		q.process.Wait(stopWithin)
		_ = q.out.Close() // as above
	}
	return q.place.close()
}
