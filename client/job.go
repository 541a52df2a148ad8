package client

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Job is a job whose frontend is known. One goroutine uses it at a time.
type Job struct {
	ID string

	c    *Client
	home string    // name of its frontend; "" for one without a name
	at   *Frontend // which answered last
}

// Frontend returns the frontend that answered last.
func (j *Job) Frontend() *Frontend { return j.at }

// isHome reports whether a frontend is the one that has the job, by its name.
func (j *Job) isHome(ctx context.Context, f *Frontend) (bool, error) {
	if f == j.at {
		return true, nil
	}
	identity, err := f.Identify(ctx)
	return j.home != "" && identity.Name == j.home, err
}

// ask makes a request about the job at its frontend, wherever that serves, for as long as the
// client's setting allows it. A job that its own frontend does not know is an answer.
func (j *Job) ask(ctx context.Context, extra time.Duration, request func(context.Context, *Frontend) error, answers ...api.Problem) error {
	at, err := j.c.do(ctx, call{
		about: j.ID, first: j.at, retry: j.c.opts.Retry, extra: extra, answers: append(answers, api.NotFound), allowed: j.isHome, request: request,
	})
	if err == nil {
		j.at = at
	}
	return err
}

// WaitFor returns the job's state when it has ended or the time is up.
func (j *Job) WaitFor(ctx context.Context, d time.Duration) (s api.Status, err error) {
	err = j.ask(ctx, d, func(ctx context.Context, f *Frontend) (err error) {
		s, err = f.Wait(ctx, j.ID, d)
		return err
	})
	return s, err
}

// waitChunk bounds one call that waits for a job, so that the loss of its frontend is noticed.
const waitChunk = 10 * time.Second

// Wait returns the job's state when it has ended, or the error that ended the wait.
func (j *Job) Wait(ctx context.Context) (api.Status, error) {
	for {
		s, err := j.WaitFor(ctx, waitChunk)
		if err != nil || s.State.Ended() {
			return s, err
		}
	}
}

// Explain returns why the job waits, or why it ended as it did.
func (j *Job) Explain(ctx context.Context) (e *api.Explanation, err error) {
	err = j.ask(ctx, 0, func(ctx context.Context, f *Frontend) (err error) {
		e, err = f.Explain(ctx, j.ID)
		return err
	})
	return e, err
}

// Log returns a piece of a task's output. While the job has not ended, an output that is not
// there yet is an answer; afterwards it is looked for until the time is up.
func (j *Job) Log(ctx context.Context, r wire.LogRequest, ended bool) (piece wire.LogChunk, err error) {
	var answers []api.Problem
	if !ended {
		answers = append(answers, api.NotReady)
	}
	err = j.ask(ctx, 0, func(ctx context.Context, f *Frontend) (err error) {
		piece, err = f.TaskLog(ctx, r)
		return err
	}, answers...)
	return piece, err
}

// Cancel cancels the job, for as long as ctx lasts, and returns its state after that.
func (j *Job) Cancel(ctx context.Context) (s api.Status, err error) {
	err = j.ask(ctx, 0, func(ctx context.Context, f *Frontend) (err error) {
		s, err = f.Cancel(ctx, j.ID)
		return err
	})
	return s, err
}

// Input gives a piece of standard input to the job's task, at the node that runs the attempt, or
// wherever it runs. A refusal because it does not run there, or because a daemon is busy, is an
// answer.
func (j *Job) Input(ctx context.Context, attempt int, node string, piece wire.Input) (r wire.InputReply, err error) {
	err = j.ask(ctx, piece.Wait, func(ctx context.Context, f *Frontend) (err error) {
		r, err = f.TaskInput(ctx, wire.InputRequest{Job: j.ID, Attempt: attempt, Node: node, Piece: piece})
		return err
	}, api.NotReady, api.Busy)
	return r, err
}

// Another returns the job for another goroutine.
func (j *Job) Another() *Job {
	other := *j
	return &other
}
