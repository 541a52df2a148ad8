package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// Pool makes calls to one address. It is safe for concurrent use.
type Pool struct {
	opts    Options
	memory  *frame.Budget   // reuses buffers; bounded by MaxConns frames that grow
	places  chan struct{}   // one element for each call in flight
	closing context.Context // done when Close begins
	cancel  context.CancelFunc
	calls   sync.WaitGroup // calls in flight

	mu       sync.Mutex
	closed   bool
	idle     []*conn // the last used at the end
	active   map[*conn]struct{}
	failures int           // failed dials since the last good one
	dialErr  error         // of the last failed dial
	dialAt   time.Time     // no dial before it while failures > 0
	probing  bool          // one caller dials while failures > 0
	dialed   chan struct{} // closed and replaced when a dial ends
	count    Stats         // Idle and Active are not set
}

// Stats counts events since the creation of the pool; Idle and Active are current.
type Stats struct {
	Idle, Active int    // connections now
	Calls        uint64 // begun
	Failed       uint64 // calls without an answer
	Waited       uint64 // calls that waited for a connection
	Dials        uint64 // attempts
	DialsFailed  uint64
	Stale        uint64 // idle connections that the peer had closed
	Discarded    uint64 // connections closed because a call did not end cleanly
}

// New returns a pool without connections; the first call dials. An error names the
// invalid option.
func New(o Options) (*Pool, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	p := &Pool{
		opts:   o,
		memory: frame.NewBudget(3 * int64(o.MaxConns) * int64(o.MaxFrame+1<<20)),
		places: make(chan struct{}, o.MaxConns),
		active: make(map[*conn]struct{}),
		dialed: make(chan struct{}),
	}
	p.closing, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Do lends a connection to call, which makes calls with it before it returns.
// The deadline of ctx, or else Options.CallTimeout, covers waiting, dialling,
// writing and reading together.
//
// An answer, exceptions included, comes back as call returned it. Without an
// answer the error is a *CallError.
func (p *Pool) Do(ctx context.Context, call func(context.Context, thrift.TClient) error) error {
	if p.opts.Closed != nil {
		if err := p.opts.Closed(); err != nil {
			return p.refusal(err)
		}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(p.opts.CallTimeout)
	}
	if err := p.enter(ctx, deadline); err != nil {
		return p.failure(err, false, "waiting for a connection")
	}
	defer p.exit()
	c, clean := p.acquire(), false
	defer func() { p.release(c, clean) }() // also when call panics
	var err error
	clean, err = c.do(ctx, deadline, call)
	return err
}

// Stats returns the counts now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.count
	s.Idle, s.Active = len(p.idle), len(p.active)
	return s
}

// Rest closes the connections that are not in use. The next call dials.
func (p *Pool) Rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.close()
	}
	clear(p.idle)
	p.idle = p.idle[:0]
}

// Close ends every call with an error and returns when all connections are closed. It is
// safe to call twice.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
	for c := range p.active {
		c.interrupt(errClosed)
	}
	p.mu.Unlock()
	p.calls.Wait()
	return nil
}

// enter waits for a place.
func (p *Pool) enter(ctx context.Context, deadline time.Time) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	p.calls.Add(1)
	p.count.Calls++
	p.mu.Unlock()
	select {
	case p.places <- struct{}{}:
		return nil
	default:
	}
	if err := p.queue(ctx, deadline); err != nil {
		p.note(func(s *Stats) { s.Failed++ })
		p.calls.Done()
		return err
	}
	return nil
}

// queue waits for a place that is not free at once.
func (p *Pool) queue(ctx context.Context, deadline time.Time) error {
	p.note(func(s *Stats) { s.Waited++ })
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case p.places <- struct{}{}:
		return nil
	case <-p.closing.Done():
		return errClosed
	case <-t.C:
		return errFull
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errFull
		}
		return context.Canceled
	}
}

func (p *Pool) exit() {
	<-p.places
	p.calls.Done()
}

// acquire returns the connection used last, or a new one that is not dialled yet.
func (p *Pool) acquire() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c *conn
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
	} else {
		c = newConn(p)
	}
	p.active[c] = struct{}{}
	if p.closed {
		c.interrupt(errClosed)
	}
	return c
}

// release returns a connection to the pool if it is reusable, and closes those that were
// idle for too long.
func (p *Pool) release(c *conn, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.active, c)
	if !clean || p.closed {
		if c.close() {
			p.count.Discarded++
		}
		return
	}
	now := time.Now()
	c.since = now
	p.idle = append(p.idle, c)
	for now.Sub(p.idle[0].since) > p.opts.IdleTimeout {
		p.idle[0].close()
		p.idle = p.idle[1:]
	}
}

// note changes the counts.
func (p *Pool) note(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.count)
}
