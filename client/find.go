package client

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// Of makes a request about a job at the frontends, beginning where its key leads, until one has
// it.
func (c *Client) Of(ctx context.Context, job string, request func(context.Context, *Frontend) error) (*Frontend, error) {
	return c.do(ctx, call{first: c.first(job), retry: min(c.opts.Retry, ShortRetry), request: request})
}

// Any makes a request that every frontend of the cluster answers alike.
func (c *Client) Any(ctx context.Context, request func(context.Context, *Frontend) error) error {
	_, err := c.do(ctx, call{first: c.Frontends()[0], retry: min(c.opts.Retry, ShortRetry), request: request})
	return err
}

// Find returns a job with its state, from the frontend that has it.
func (c *Client) Find(ctx context.Context, job string) (*Job, api.Status, error) {
	var s api.Status
	j := &Job{ID: job, c: c}
	at, err := c.Of(ctx, job, func(ctx context.Context, f *Frontend) (err error) {
		var identity api.FrontendIdentity
		if identity, err = f.Identify(ctx); err == nil {
			j.home = identity.Name
			s, err = f.Status(ctx, job)
		}
		return err
	})
	j.at = at
	return j, s, err
}

// Each makes a request at every frontend of the options that answers, one after another, once one of
// them does, and returns what went wrong. A standby's refusal is left out when its leader is one of
// them.
func (c *Client) Each(ctx context.Context, request func(*Frontend) error) error {
	var silent map[*Frontend]error
	if len(c.Frontends()) > 1 {
		silent = c.identifyAll(ctx)
	}
	if len(silent) == len(c.Frontends()) || len(c.Frontends()) == 1 {
		if err := c.Any(ctx, func(ctx context.Context, f *Frontend) error { _, err := f.Identify(ctx); return err }); err != nil {
			return err
		}
		clear(silent) // at least one answers by now, and the others are asked once more
	}
	var failed error
	for _, f := range c.Frontends() {
		err := silent[f]
		if err == nil {
			err = request(f)
		}
		if err != nil && !c.IsStandby(err) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// identifyAll calls all frontends of the options at the same time, and returns the errors of those that
// do not answer: one that hangs costs a query firstAnswer, and not the time of each of its requests.
func (c *Client) identifyAll(ctx context.Context) (silent map[*Frontend]error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.opts.Timeout, firstAnswer))
	defer cancel()
	var (
		mu      sync.Mutex
		calls   sync.WaitGroup
		answers bool
	)
	silent = map[*Frontend]error{}
	for _, f := range c.Frontends() {
		calls.Go(func() {
			_, err := f.Identify(ctx)
			mu.Lock()
			defer mu.Unlock()
			if unanswered(err) || ctx.Err() != nil && err != nil {
				silent[f] = err
			} else {
				answers = true
			}
		})
	}
	calls.Wait()
	if answers {
		c.heard()
	}
	return silent
}

// IsStandby reports whether an error is the refusal of a standby whose leader is one of the
// frontends of the options.
func (c *Client) IsStandby(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Problem == api.NotReady && e.Address != "" && slices.Contains(c.opts.Addresses, e.Address)
}
