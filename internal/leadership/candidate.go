package leadership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/leadership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Options are the settings of a [Candidate].
type Options struct {
	// Name of what is led, the same in all its candidates: "master.0".
	Name string
	// Record is what this candidate writes when it leads. Holder and Incarnation name this
	// process alone. TTL and Token are filled in.
	Record Record
	// TTL is how long a leadership lasts without renewal.
	TTL   time.Duration
	Store Store
	// OnLead is called when this process begins to lead, OnLost when it has stopped, in turn,
	// from Run's goroutine. They must return at once, since renewals wait for them, and must
	// not call the Candidate except for Leads and Leader. Leads may be false when OnLead is
	// called, and OnLost comes after the end: an action that must not happen without the
	// leadership checks Leads, or states the token.
	OnLead func(token uint64)
	OnLost func(reason error)
	// OnLeader, if set, is called from Run's goroutine when another leader is known or the
	// one that was known has gone. It has the duties of OnLead.
	OnLeader func(leader Record, known bool)
	// Log is written when the leadership changes and while the store cannot be reached. Default:
	// slog.Default().
	Log *slog.Logger
	// Now reads the clock, for tests. Default: one that counts pauses of the machine.
	Now func() sched.Time
}

// Reasons of OnLost.
var (
	ErrNotRenewed = errors.New("the leadership was not renewed in time")
	ErrTakenOver  = errors.New("another process has taken the leadership over")
	ErrRemoved    = errors.New("the record of the leadership was removed")
	ErrResigned   = errors.New("the leadership was given up")
)

var reasons = map[protocol.Reason]error{
	protocol.NotRenewed: ErrNotRenewed, protocol.TakenOver: ErrTakenOver,
	protocol.Removed: ErrRemoved, protocol.Resigned: ErrResigned,
}

// Candidate leads under a name or waits to lead. Its methods may be called from any
// goroutine.
type Candidate struct {
	opts     Options
	deadline atomic.Int64 // until when this process leads; 0: it does not

	answers chan answer
	changes chan change
	wake    chan struct{} // of size 1: resigned was set

	mu       sync.Mutex
	leader   Record
	known    bool
	revision uint64 // of the record, as last seen
	resigned bool
	done     chan struct{} // closed when Run has returned
	gone     chan struct{} // closed when the record of a candidate that resigned is not there any more
}

// change is what the store has under the name.
type change struct {
	record Record
	seen   protocol.Seen
}

// New returns a candidate, which does nothing until Run.
func New(o Options) *Candidate {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = now
	}
	if o.OnLead == nil {
		o.OnLead = func(uint64) {}
	}
	if o.OnLost == nil {
		o.OnLost = func(error) {}
	}
	if o.OnLeader == nil {
		o.OnLeader = func(Record, bool) {}
	}
	o.Record.TTL = o.TTL
	return &Candidate{
		opts: o, answers: make(chan answer, 1), changes: make(chan change),
		wake: make(chan struct{}, 1), done: make(chan struct{}), gone: make(chan struct{}),
	}
}

// Leads reports whether this process leads now. It costs an atomic load and, while this
// process leads, a reading of the clock: it is called once per batch, not per task.
func (c *Candidate) Leads() bool {
	until := c.deadline.Load()
	return until != 0 && int64(c.opts.Now()) < until
}

// Leader returns the leader as far as known, this process or another; it may have
// ended since.
func (c *Candidate) Leader() (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leader, c.known
}

// Revision returns that of the record of the leadership, as last seen. It grows while the leader renews.
func (c *Candidate) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Resign stops leading at once, removes the record so that a standby leads at once, and does
// not take the leadership again. It returns when the record is removed or was another's. If
// it fails, the record lapses. Run has to run meanwhile and ends afterwards.
func (c *Candidate) Resign(ctx context.Context) error {
	c.mu.Lock()
	c.resigned = true
	c.mu.Unlock()
	c.notify()
	select {
	case <-c.gone:
		return nil
	case <-c.done:
		select {
		case <-c.gone:
			return nil
		default:
			return fmt.Errorf("resigning from the leadership of %s: the candidate has stopped; the record lapses by itself after %v", c.opts.Name, c.opts.TTL)
		}
	case <-ctx.Done():
		return fmt.Errorf("resigning from the leadership of %s: %w; the record lapses by itself after %v", c.opts.Name, ctx.Err(), c.opts.TTL)
	}
}

func (c *Candidate) notify() {
	select {
	case c.wake <- struct{}{}:
	default: // Run has not looked yet
	}
}
