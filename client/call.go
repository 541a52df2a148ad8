package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

const (
	// firstAnswer is how long the client waits for an answer in the first round when
	// there are other addresses: a frontend whose machine is gone never answers.
	firstAnswer = 3 * time.Second
	// The pause between two rounds, and between two attempts to connect, grows from one to
	// the other.
	shortestPause, longestPause = 50 * time.Millisecond, 250 * time.Millisecond
)

// call is one request, made until a frontend answers it.
type call struct {
	about   string        // the job, "" for none
	first   *Frontend     // where it begins
	retry   time.Duration // how long it is repeated
	extra   time.Duration // how long a frontend may wait before it answers
	answers []api.Problem // refusals that answer it
	allowed func(ctx context.Context, f *Frontend) (bool, error)
	request func(ctx context.Context, f *Frontend) error
}

// do makes the call until it is answered, and returns the frontend that answered. The error is
// the answer's, or the answers of all frontends when the time was up.
func (c *Client) do(ctx context.Context, q call) (by *Frontend, err error) {
	var (
		began  = time.Now()
		notice = notice{client: c, about: q.about}
		pause  = shortestPause
	)
	defer func() { notice.ends(by) }()
	for round := 0; ; round++ {
		r := c.round(ctx, &q, round)
		switch {
		case r.by != nil: // a refusal, such as an output that is not there yet, is an answer too
			return r.by, r.err
		case ctx.Err() != nil || len(r.silent) == 0:
			return nil, r.err
		}
		left := c.patience(q.retry) - time.Since(began)
		if left <= 0 {
			c.giveUp()
			return nil, r.err
		}
		notice.waits(r.silent, q.first, left)
		if !delay.For(ctx, min(pause, left)) {
			return nil, r.err
		}
		pause = min(2*pause, longestPause)
	}
}

// silence is a frontend that did not answer, or will later.
type silence struct {
	*Frontend
	err error
}

// outcome is how a round ended.
type outcome struct {
	by     *Frontend // the frontend that answered; nil for none
	err    error     // of the answer, or of all that did not answer
	silent []silence // those that did not answer, or will later
}

// round makes the call at each frontend, from the first one, until one answers. Where a
// refusal names another address, that one is next.
func (c *Client) round(ctx context.Context, q *call, round int) (r outcome) {
	var asked, lacking []*Frontend
	var unknown error
	next := q.first
	for next != nil {
		f := next
		asked = append(asked, f)
		err := c.once(ctx, q, f, round)
		v, address := judge(err, q.answers...)
		if !unanswered(err) {
			c.heard()
		}
		switch {
		case ctx.Err() != nil && err != nil: // an answer that came at the same time counts
			return outcome{err: err}
		case v == answered && errors.Is(err, errNotAllowed):
		case v == answered:
			return outcome{by: f, err: err}
		case v == elsewhere:
			lacking = append(lacking, f)
			if unknown == nil {
				unknown = err
			}
		default:
			r.silent = append(r.silent, silence{f, err})
		}
		next = c.after(asked, address)
	}
	r.silent = slices.DeleteFunc(r.silent, func(s silence) bool { return c.answeredFor(s.err, lacking) })
	for _, s := range r.silent {
		r.err = errors.Join(r.err, s.err)
	}
	if len(r.silent) == 0 {
		r.err = unknown
	}
	return r
}

// answeredFor reports whether a refusal names a frontend that has answered that it does not have the
// job: a standby has the jobs of its leader, and waiting for the standby would bring no other answer.
func (c *Client) answeredFor(refusal error, lacking []*Frontend) bool {
	_, address := judge(refusal)
	return address != "" && slices.ContainsFunc(lacking, func(f *Frontend) bool { return f.Address == address })
}

// errNotAllowed is the error of a frontend that must not be asked.
var errNotAllowed = errors.New("this frontend does not have the job")

// once makes the call at one frontend.
func (c *Client) once(ctx context.Context, q *call, f *Frontend, round int) error {
	timeout := c.opts.Timeout
	if round == 0 && len(c.all()) > 1 {
		timeout = min(timeout, firstAnswer)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+q.extra)
	defer cancel()
	if q.allowed != nil {
		if ok, err := q.allowed(ctx, f); err != nil {
			return err
		} else if !ok {
			return errNotAllowed
		}
	}
	return q.request(ctx, f)
}

// after returns the next frontend to ask: the one at the address, else the next in order
// after the first, nil when all have been asked.
func (c *Client) after(asked []*Frontend, address string) *Frontend {
	if address != "" {
		if f, err := c.at(address); err == nil && !slices.Contains(asked, f) {
			return f
		}
	}
	all := c.all()
	from := slices.Index(all, asked[0])
	for i := range all {
		if f := all[(from+i)%len(all)]; !slices.Contains(asked, f) {
			return f
		}
	}
	return nil
}
