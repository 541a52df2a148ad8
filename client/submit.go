package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// submission is one job on its way to a frontend.
type submission struct {
	c    *Client
	r    *api.Request
	made bool      // the key was made for this submission: no other submission has used it
	home *Frontend // where its key leads
	only string    // the name of the frontend that has the job after which it starts; "" for any
	// files is where the contents of its staged files are on this machine, by SHA-256.
	files map[string]string

	sent     *Frontend // may have accepted it
	sentName string    // the name of that frontend
}

// Submit submits a job. Without a key it gets one of its own; with a key that the cluster knows, it is that
// job, and duplicate is set. When ctx ends or the time is up after a frontend may have accepted the
// job, the error is an [AnswerError], which names it. A job that starts after others is submitted
// where the first of them is.
func (c *Client) Submit(ctx context.Context, r *Request) (j *Job, duplicate bool, err error) {
	return c.SubmitWithFiles(ctx, r, nil)
}

// SubmitWithFiles is Submit of a job with staged files, whose contents are sent to the frontend before.
// files has the path of each content on this machine, by its SHA-256.
func (c *Client) SubmitWithFiles(ctx context.Context, r *Request, files map[string]string) (j *Job, duplicate bool, err error) {
	own := *r
	made := own.Key == ""
	if made {
		own.Key = ulid.Make().String()
	}
	if err := own.Validate(); err != nil {
		return nil, false, err
	}
	return c.submit(ctx, &own, made, files)
}

// submit submits a job that has a key. made is set if the key was made for this submission, so that no
// other program can have used it.
func (c *Client) submit(ctx context.Context, r *Request, made bool, files map[string]string) (j *Job, duplicate bool, err error) {
	s := &submission{c: c, r: r, made: made, home: c.first(r.Key), files: files}
	if len(r.After) > 0 {
		before, _, err := c.Find(ctx, r.After[0].Job)
		if err != nil {
			return nil, false, fmt.Errorf("the job is to start after job %s: %w", r.After[0].Job, err)
		}
		s.home, s.only = before.at, before.home
	}
	var name string
	at, err := c.do(ctx, call{
		first: s.home, retry: c.opts.Retry, allowed: s.allowed, answers: []api.Problem{api.Busy},
		request: func(within context.Context, f *Frontend) (err error) {
			if len(r.Stage) > 0 { // which takes as long as it takes
				if err := s.sendFiles(ctx, f); err != nil {
					return err
				}
				var cancel context.CancelFunc
				within, cancel = context.WithTimeout(ctx, c.opts.Timeout)
				defer cancel()
			}
			name, duplicate, err = s.submit(within, f)
			return err
		},
	})
	if err != nil {
		if s.sent != nil && at == nil {
			err = &AnswerError{Job: r.Key, Frontend: s.sent.Address, cause: err}
		}
		return nil, false, err
	}
	return &Job{ID: r.Key, c: c, home: name, at: at}, duplicate && !made, nil
}

// allowed reports whether the job may be submitted at a frontend. An unused key may be used anywhere until
// a frontend may have accepted the job; from then on, and with a user's key, a repetition is the same job
// only under one frontend's name, or where keys are shared.
func (s *submission) allowed(ctx context.Context, f *Frontend) (bool, error) {
	identity, err := f.Identify(ctx)
	if err != nil {
		return false, err
	}
	s.c.heard()
	at, name := s.sent, s.sentName
	switch {
	case s.only != "":
		at, name = nil, s.only
	case s.made && s.sent == nil, !s.made && identity.SharedKeys:
		return true, nil
	case !s.made:
		at, name = s.home, s.home.name()
	}
	return f == at || identity.Name != "" && identity.Name == name, nil
}

// submit submits the job at one frontend, whose name it returns.
func (s *submission) submit(ctx context.Context, f *Frontend) (name string, duplicate bool, err error) {
	identity, err := f.Identify(ctx)
	if err != nil {
		return "", false, err
	}
	r := *s.r
	if s.made {
		r.Frontend = identity.Name
	}
	send := f.Submit
	if identity.SharedProcess {
		send = f.SubmitShared
	}
	_, duplicate, err = send(ctx, &r)
	if errors.Is(err, frame.ErrTooLarge) {
		return identity.Name, false, tooLarge(&r, identity.SharedProcess, err)
	}
	if err != nil && mayHaveArrived(err) {
		s.sent, s.sentName = f, identity.Name
	}
	return identity.Name, duplicate, err
}
