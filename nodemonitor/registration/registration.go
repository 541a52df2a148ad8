// Package registration keeps a node registered with its master.
//
//	unregistered ──hello accepted──▶ registered ──snapshot every heartbeat──▶ registered
//	      ▲   ▲ │ refused, no answer     │
//	      │   └─┘ pause, forever         │
//	      └── the master does not know the node, or is another process ◀┘
//
// When the master answers that other slots now have the numbers of this node's workers, the
// node monitor ends: to other daemons those numbers mean other workers.
package registration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Source is the node that is registered. All methods return false when it has ended.
type Source interface {
	// Hello returns the node as it is now. With fresh the hello may go to a process other than
	// the one for which waiting messages were meant.
	Hello(fresh bool) (*wire.Hello, bool)
	// Accepted is called when the master has accepted a hello; the error is why the node
	// cannot be registered by that answer.
	Accepted(r *wire.HelloReply) (err error, ok bool)
	Snapshot() (*wire.Snapshot, bool)
}

// Config is the settings of a [Registration].
type Config struct {
	Master    wire.Registrar
	Several   bool // Master stands for several masters of the group; one of them leads
	Source    Source
	Heartbeat time.Duration
	Patience  time.Duration                    // with a call
	Retry     func(failures int) time.Duration // pause after hellos that failed in a row
	// AfterRefusal is the pause after hellos that a master has refused in a row. A search for
	// the leading master may be quick; a refusal lasts until its cause is corrected.
	AfterRefusal func(refusals int) time.Duration
	Fail         func(error) // ends the daemon
	Refused      func()      // is called when the master has refused a hello
	Log          *slog.Logger
}

// Status is the state of the registration.
type Status struct {
	Registered bool   `json:"registered"`
	Problem    string `json:"problem,omitempty"` // why not, or why the master may have lost it
	Epoch      uint64 `json:"epoch"`
}

// Registration is a node's registration with its master. Run is its one goroutine.
type Registration struct {
	cfg       Config
	heartbeat *membership.Heartbeat
	requested atomic.Bool  // RegisterAgain was called
	master    atomic.Int64 // the process that accepted this node last
	contact   atomic.Pointer[Contact]
	ready     chan struct{} // closed at the first registration
	status    atomic.Pointer[Status]

	// Of the goroutine in Run, and of Beat and Withdraw after it.
	state    protocol.Registration
	fresh    bool // the next hello is the first to this process of the master
	failures daemon.LogPace
	refusals int    // in a row, up to the last hello
	sequence uint64 // of the last hello or snapshot
}

// Contact is when this node and its master last agreed that it is registered.
type Contact struct {
	// Since is when the last hello or snapshot was sent that the master has accepted.
	Since time.Time
	// Lapses is how often the node has learnt that it is not registered any more.
	Lapses int
}

// Contact returns the last contact. It may be called from anywhere.
func (r *Registration) Contact() Contact { return *r.contact.Load() }

func (r *Registration) accepted(sent time.Time) {
	r.contact.Store(&Contact{Since: sent, Lapses: r.Contact().Lapses})
}

// New returns a registration that Run begins.
func New(c Config) *Registration {
	if c.Refused == nil {
		c.Refused = func() {}
	}
	r := &Registration{cfg: c, ready: make(chan struct{}), fresh: true}
	r.heartbeat = membership.NewHeartbeat(c.Heartbeat, r.pauseAfter, r.beat)
	r.status.Store(&Status{Problem: "it has not registered with its master yet"})
	r.contact.Store(&Contact{Since: time.Now()})
	return r
}

// Run keeps the node registered until ctx ends, or this process cannot be registered.
func (r *Registration) Run(ctx context.Context) { r.heartbeat.Run(ctx) }

// Beat sends what Run would send next, and waits for the answer, so that what Withdraw sends afterwards is the last.
// It is called after Run has ended, and sends nothing for a node that no master knows.
func (r *Registration) Beat() {
	if r.state.Ever() {
		_ = r.beat(context.Background()) // it is logged, and another one follows
	}
}

// Ready is closed at the first registration.
func (r *Registration) Ready() <-chan struct{} { return r.ready }

// Status returns the state of the registration.
func (r *Registration) Status() Status { return *r.status.Load() }

// SendSnapshot requests that a snapshot is sent at once. It may be called from anywhere.
func (r *Registration) SendSnapshot() { r.heartbeat.BeatNow() }

// RegisterAgain makes the node send a hello again. It may be called from anywhere.
func (r *Registration) RegisterAgain() {
	r.requested.Store(true)
	r.heartbeat.BeatNow()
}

// MasterChanged requests that a snapshot or hello is sent at once, also after one that failed,
// unless this process of the master has accepted the node already. It may be called from
// anywhere.
func (r *Registration) MasterChanged(process int64) {
	if r.master.Load() != process {
		r.heartbeat.Wake()
	}
}

// pauseAfter returns how long to wait after hellos, or snapshots, that failed in a row.
func (r *Registration) pauseAfter(failures int) time.Duration {
	if r.refusals > 0 {
		return r.cfg.AfterRefusal(r.refusals)
	}
	return r.cfg.Retry(failures)
}

// beat sends a snapshot, and where that is not enough a hello.
func (r *Registration) beat(ctx context.Context) error {
	if r.requested.Swap(false) {
		r.state.Withdraw()
	}
	if r.state.Registered() {
		err := r.sendSnapshot(ctx)
		if err != nil || r.state.Registered() {
			return err
		}
	}
	err := r.sendHello(ctx)
	// A hello whose answer was lost may have been accepted; the messages that this node has
	// sent to the master since must not be dropped.
	r.fresh = err == nil
	if err != nil && !errors.Is(err, membership.ErrStop) && ctx.Err() == nil {
		r.status.Store(&Status{Problem: "it is not registered with its master: " + err.Error()})
		if omitted, due := r.failures.Due("", err.Error(), time.Now()); due {
			r.cfg.Log.Warn("not registered; trying again", "error", err, "omitted", omitted)
		}
	}
	return err
}

// sendHello sends one hello. The error is why it has to be sent again.
func (r *Registration) sendHello(ctx context.Context) error {
	hello, ok := r.cfg.Source.Hello(r.fresh)
	if !ok {
		return membership.ErrStop
	}
	r.sequence++
	hello.Sequence = r.sequence
	call, cancel := context.WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	sent := time.Now()
	reply, err := r.cfg.Master.Hello(call, hello)
	if err == nil && !reply.Accepted {
		r.refusals++
		r.cfg.Refused()
	} else {
		r.refusals = 0
	}
	switch {
	case err != nil:
		return err
	case !reply.Accepted && len(reply.Numbers) > 0:
		r.cfg.Fail(&api.Error{
			What: "the master does not accept this node again: " + reply.Problem, Subject: fmt.Sprintf("node %q", hello.Sender.Name),
			Tried: "registering its workers by the numbers they have", Next: "start the node monitor again; its tasks are tried elsewhere",
		})
		return membership.ErrStop
	case !reply.Accepted:
		return errors.New(reply.Problem)
	}
	if err, ok = r.cfg.Source.Accepted(&reply); !ok {
		return membership.ErrStop
	}
	if err == nil {
		r.accepted(sent)
		r.registered(&reply)
	}
	return err
}

func (r *Registration) registered(reply *wire.HelloReply) {
	first := !r.state.Ever()
	r.state.Accepted(reply.Incarnation)
	r.master.Store(reply.Incarnation)
	r.failures.Over("")
	r.status.Store(&Status{Registered: true, Epoch: reply.Epoch})
	if first {
		close(r.ready)
	}
	r.cfg.Log.Info("registered", "group", reply.Group, "epoch", reply.Epoch)
}

// sendSnapshot sends one. Without an answer everything continues, so that is no error.
func (r *Registration) sendSnapshot(ctx context.Context) error {
	s, ok := r.cfg.Source.Snapshot()
	if !ok {
		return membership.ErrStop
	}
	r.sequence++
	s.Sequence = r.sequence
	call, cancel := context.WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	sent := time.Now()
	reply, err := r.cfg.Master.Snapshot(call, s)
	if err != nil {
		if ctx.Err() == nil && r.state.Unanswered() {
			r.status.Store(&Status{Problem: "its master does not answer: " + err.Error()})
			r.cfg.Log.Warn("the master does not answer; running tasks continue", "error", err)
		}
		if r.cfg.Several {
			return err // another one may lead in a moment
		}
		return nil // the next snapshot has everything that this one had
	}
	former := r.master.Load()
	if !r.state.Answered(reply.Incarnation, reply.Known) {
		// A standby that has begun to lead has not given up this node: it does not know it yet.
		if !r.cfg.Several || reply.Incarnation == former {
			last := r.Contact()
			r.contact.Store(&Contact{Since: last.Since, Lapses: last.Lapses + 1})
		}
		r.cfg.Log.Info("registering again", "error", reply.Problem)
		return nil
	}
	r.accepted(sent)
	if now := r.Status(); !now.Registered || now.Epoch != reply.Epoch {
		r.status.Store(&Status{Registered: true, Epoch: reply.Epoch})
	}
	return nil
}

// Withdraw sends a last snapshot: one without slots, so that the master need not wait until the
// node has been silent for too long, or one that states how long the node will be silent.
// It is called after Run has ended.
func (r *Registration) Withdraw(s *wire.Snapshot) {
	if !r.state.Ever() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	s.Sequence = r.sequence + 1
	if _, err := r.cfg.Master.Snapshot(ctx, s); err != nil {
		r.cfg.Log.Info("the last snapshot was not answered; the master will notice that this node has stopped", "error", err)
	}
}
