package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// member keeps this node registered with its master. One goroutine, in run, does
// it all:
//
//	unregistered ──hello accepted──▶ registered ──snapshot every heartbeat──▶ registered
//	      ▲   ▲ │ refused, no answer     │
//	      │   └─┘ pause, for ever        │
//	      └── the master does not know us, or is another process ◀┘
//
// A master that says that the numbers of this node's workers are others' by now
// ends it: what other daemons know by those numbers is not here.
type member struct {
	log       *slog.Logger
	master    wire.Registrar
	heartbeat time.Duration
	patience  time.Duration // with a call
	desk      desk
	end       func(error)   // ends the daemon
	soon      chan struct{} // of size 1: slots changed, do not wait for the heartbeat
	again     chan struct{} // of size 1: register again
	ready     chan struct{} // closed at the first registration
	standing  atomic.Pointer[standing]

	// The goroutine's own.
	known    int64 // incarnation of the master that accepted us last
	sequence uint64
	silent   bool // the last snapshot was not answered
}

// standing is where the node stands with its master, for readiness and status.
type standing struct {
	Registered bool   `json:"registered"`
	Problem    string `json:"problem,omitempty"` // why not, or why it is in doubt
	Epoch      uint64 `json:"epoch"`
}

// desk is what the member asks of the owner. All methods return false when the
// owner is gone.
type desk interface {
	// introduce returns the node as it is now. fresh says that the master is
	// another process than the one messages were meant for.
	introduce(fresh bool) (*wire.Hello, bool)
	// accepted tells of a registration; the error says why it cannot be one.
	accepted(r *wire.HelloReply) (err error, ok bool)
	snapshot() (*wire.Snapshot, bool)
}

func newMember(cfg Config, log *slog.Logger, master wire.Registrar, d desk, end func(error)) *member {
	m := &member{
		log: log, master: master, heartbeat: cfg.Heartbeat, patience: cfg.patience(), desk: d, end: end,
		soon: make(chan struct{}, 1), again: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	m.standing.Store(&standing{Problem: "it has not registered with its master yet"})
	return m
}

// changed asks for a snapshot at once, reborn for a registration.
func (m *member) changed() { poke(m.soon) }
func (m *member) reborn()  { poke(m.again) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is due already
	}
}

func (m *member) run(ctx context.Context) {
	for m.register(ctx) && m.beat(ctx) {
	}
}

// register says hello until it is accepted; false when ctx ended, or this process
// cannot go on.
func (m *member) register(ctx context.Context) bool {
	for failures, fresh := 1, true; ; failures++ {
		if ctx.Err() != nil {
			return false
		}
		hello, ok := m.desk.introduce(fresh)
		if !ok {
			return false
		}
		err, ok := m.greet(ctx, hello)
		if !ok || err == nil {
			return ok
		}
		if ctx.Err() == nil {
			m.refused(err)
		}
		// A hello whose answer was lost may have been taken; what this node has
		// said to the master since must not be dropped.
		fresh = false
		if !pause(ctx, time.Duration(backoff(failures))) {
			return false
		}
	}
}

// greet says hello once. The error says why it has to be said again, ok that there
// is somebody to say it.
func (m *member) greet(ctx context.Context, hello *wire.Hello) (err error, ok bool) {
	call, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	r, err := m.master.Hello(call, hello)
	switch {
	case err != nil:
		return err, true
	case !r.Accepted && len(r.Numbers) > 0:
		m.end(&api.Error{
			What: "the master does not take this node back: " + r.Problem, Subject: fmt.Sprintf("node %q", hello.Sender.Name),
			Tried: "registering its workers by the numbers they have", Next: "start the node monitor again; what ran here is tried elsewhere",
		})
		return nil, false
	case !r.Accepted:
		return errors.New(r.Problem), true
	}
	if err, ok = m.desk.accepted(&r); err == nil && ok {
		m.welcomed(&r)
	}
	return err, ok
}

func (m *member) refused(err error) {
	m.standing.Store(&standing{Problem: "it is not registered with its master: " + err.Error()})
	m.log.Warn("not registered; trying again", "error", err)
}

func (m *member) welcomed(r *wire.HelloReply) {
	if m.known == 0 {
		close(m.ready)
	}
	m.known, m.silent = r.Incarnation, false
	m.standing.Store(&standing{Registered: true, Epoch: r.Epoch})
	m.log.Info("registered", "group", r.Group, "epoch", r.Epoch)
}

// beat sends snapshots until the node must register again (true) or ctx ends.
func (m *member) beat(ctx context.Context) bool {
	tick := time.NewTicker(m.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-m.again:
			return true
		case <-tick.C:
		case <-m.soon:
		}
		known, ok := m.snapshot(ctx)
		if !ok {
			return false
		}
		if !known {
			return true
		}
	}
}

// snapshot sends one; known false says that the master has to be registered with,
// ok false that the owner is gone.
func (m *member) snapshot(ctx context.Context) (known, ok bool) {
	s, ok := m.desk.snapshot()
	if !ok {
		return false, false
	}
	m.sequence++
	s.Sequence = m.sequence
	call, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	r, err := m.master.Snapshot(call, s)
	switch {
	case err != nil:
		if !m.silent && ctx.Err() == nil {
			m.silent = true
			m.standing.Store(&standing{Problem: "its master does not answer: " + err.Error()})
			m.log.Warn("the master does not answer; what runs goes on", "error", err)
		}
		return true, true
	case !r.Known || r.Incarnation != m.known:
		m.log.Info("registering again", "error", r.Problem)
		return false, true
	}
	m.silent = false
	if st := m.standing.Load(); !st.Registered || st.Epoch != r.Epoch {
		m.standing.Store(&standing{Registered: true, Epoch: r.Epoch})
	}
	return true, true
}

// withdraw tells the master that this node has no slots any more, so that it need
// not find out by silence. It is called after run has ended.
func (m *member) withdraw(s *wire.Snapshot) {
	if m.known == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	s.Sequence = m.sequence + 1
	if _, err := m.master.Snapshot(ctx, s); err != nil {
		m.log.Info("the master was not told that this node stops; it will notice", "error", err)
	}
}
