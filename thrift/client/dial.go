package client

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// dial connects, waiting for the end of a back-off first. It returns errBackoff
// instead of waiting if the options say so.
func (p *Pool) dial(ctx context.Context, deadline time.Time) (net.Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	for {
		wait, changed := p.mayDial()
		if changed == nil {
			return p.dialNow(ctx)
		}
		if p.opts.FailFast {
			return nil, errBackoff
		}
		if err := p.pause(ctx, wait, changed); err != nil {
			return nil, err
		}
	}
}

// mayDial permits the caller to dial (changed is nil), or returns the longest time to
// wait and a channel that ends the wait earlier. While dials fail, one caller dials on
// behalf of all.
func (p *Pool) mayDial() (wait time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = time.Until(p.dialAt)
	switch {
	case p.failures == 0:
		return 0, nil
	case p.probing:
		return p.opts.DialTimeout, p.dialed
	case wait > 0:
		return wait, p.dialed
	}
	p.probing = true
	return 0, nil
}

// dialNow makes one attempt and wakes the callers that wait for its result.
func (p *Pool) dialNow(ctx context.Context) (net.Conn, error) {
	attempt, cancel := context.WithTimeout(ctx, p.opts.DialTimeout)
	defer cancel()
	begin := time.Now()
	nc, err := p.opts.Dial(attempt, "tcp", p.opts.Address)
	if err == nil {
		nc, err = p.secure(attempt, nc)
	}
	// An early cancellation by the caller is no evidence against the peer.
	giveUp := ctx.Err() != nil && time.Since(begin) < p.opts.BackoffMin

	p.mu.Lock()
	defer p.mu.Unlock()
	p.count.Dials++
	p.probing = false
	close(p.dialed)
	p.dialed = make(chan struct{})
	switch {
	case err == nil:
		p.failures, p.dialErr = 0, nil
		return nc, nil
	case giveUp:
		return nil, p.ended(ctx)
	}
	p.count.DialsFailed++
	p.dialErr = err
	p.dialAt = time.Now().Add(backoff(p.opts.BackoffMin, p.opts.BackoffMax, p.failures))
	p.failures++
	if ctx.Err() != nil {
		err = p.ended(ctx)
	}
	return nil, err
}

// pause waits for d, a dial that ends, or the end of ctx.
func (p *Pool) pause(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return p.ended(ctx)
	}
}

// ended returns the reason why the context of a dial ended.
func (p *Pool) ended(ctx context.Context) error {
	if p.closing.Err() != nil {
		return errClosed
	}
	return ctx.Err()
}

// backoff returns the pause after the n-th failure in a row, from 0.
func backoff(least, most time.Duration, n int) time.Duration {
	d := most
	if n < 30 && least<<n < most {
		d = least << n
	}
	return d - rand.N(d/2+1) //nolint:gosec // jitter, not a secret
}
