package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helloEvery is how often a frontend says hello to each master: its heartbeat.
const helloEvery = time.Second

// missedToLoss is how many hellos in a row must fail at least before a master is
// lost: time alone also passes while this process does not run.
const missedToLoss = 3

// silentFor is how long nothing may have come of this frontend before it reckons
// that its master has passed it for gone. Less than masters take (10 s), since a
// doubt costs some probes and a missed loss a job.
const silentFor = 3 * time.Second

// settleAfter is how long a starting frontend waits for all masters before it
// distributes over those that have answered.
const settleAfter = time.Second

// master is one group's master as the owner knows it. Owned by the owner
// goroutine, but for peer and address, which never change.
type master struct {
	group       int
	address     string
	peer        *wire.PeerClient
	incarnation int64 // 0: never reached
	epoch       uint64
	serves      []string
	up          bool          // the core was told that it is up
	lost        bool          // the core was told that it is lost
	heard       time.Time     // of its last answer, or of the start
	missed      int           // hellos in a row without an answer
	early       []*wire.Batch // of an incarnation that is not known yet
	out         *link.Link    // numbers its batches within this process, so it stays for good
	pending     []wire.Item
}

func (m *master) addr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(m.group)} //nolint:gosec // 15 bits
}

// flush queues what the batch decided. A link that takes nothing is for a master
// that is gone; the next hello finds the new one.
func (m *master) flush(log *slog.Logger) {
	items := m.pending
	m.pending = nil
	if err := m.out.Send(items...); err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		log.Error("messages to a master were not taken; this frontend registers there anew", "group", m.group, "messages", len(items), "error", err)
		m.incarnation = 0
	}
}

// epoch is the highest that the masters of a group have answered with, and the process
// that did.
type epoch struct {
	number uint64
	of     int64
}

// greet says hello to one master for as long as the daemon runs.
func (f *Frontend) greet(ctx context.Context, m *master) {
	var seen epoch
	for {
		pause := helloEvery
		if err := f.hello(ctx, m, &seen); err != nil {
			f.log.Debug("a master did not answer hello", "group", m.group, "address", m.address, "error", err)
			pause = helloEvery/10 + rand.N(helloEvery/10)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (f *Frontend) hello(ctx context.Context, m *master, seen *epoch) error {
	ctx, cancel := context.WithTimeout(ctx, helloEvery)
	defer cancel()
	h := &wire.Hello{
		Sender: f.self, Incarnation: f.incarnation, Address: f.internal.Addr().String(),
		SchedulerAddress: f.scheduler.Addr().String(), Group: m.group, Epoch: seen.number, EpochOf: seen.of,
		Highest: f.owner.peers.highest.Load(),
	}
	reply, err := m.peer.Hello(ctx, h)
	if err == nil && !reply.Accepted {
		err = fmt.Errorf("%s", reply.Problem)
		f.log.Error("a master refused this frontend", "group", m.group, "address", m.address, "error", reply.Problem)
	}
	if err == nil && reply.Group != m.group {
		err = fmt.Errorf("the master at %s is of group %d, the configuration has it at place %d of masters", m.address, reply.Group, m.group)
		f.log.Error("a master is of another group", "error", err)
	}
	if err == nil && reply.Epoch > seen.number {
		*seen = epoch{reply.Epoch, reply.Incarnation}
	}
	return f.tell(func() { f.owner.greeted(m, reply, err) }, err)
}

// tell posts to the owner and gives the error of what was told on.
func (f *Frontend) tell(do func(), err error) error {
	if posted := f.urge(do); posted != nil {
		return posted
	}
	return err
}

// greeted takes the outcome of one hello.
func (o *owner) greeted(m *master, reply wire.HelloReply, err error) {
	now := time.Now()
	if err != nil {
		m.missed++
		if !m.lost && m.missed >= missedToLoss && now.Sub(m.heard) >= o.cfg.MasterLost {
			m.up, m.lost = false, true
			o.masterLost(m)
		}
		return
	}
	silent := now.Round(0).Sub(m.heard.Round(0)) // a machine that sleeps stops its other clock
	m.heard, m.missed = now, 0
	if silent >= silentFor {
		o.wasSilent()
	}
	if m.incarnation != reply.Incarnation {
		o.connect(m, reply)
		return
	}
	served := slices.Equal(m.serves, reply.Serves)
	m.serves = reply.Serves
	switch {
	case !m.up && o.settled:
		o.masterUp(m)
	case !served && o.settled && o.plan.NewMaster != nil:
		o.step(m.addr(), &sched.Message{Kind: sched.Serves, Serves: m.serves})
	}
}

// connect opens the way to a master's new incarnation and tells the core.
func (o *owner) connect(m *master, reply wire.HelloReply) {
	m.pending = nil
	m.out.Reset(reply.Incarnation)
	m.incarnation, m.epoch, m.serves, m.up = reply.Incarnation, reply.Epoch, reply.Serves, false
	o.log.Info("master reached", "group", m.group, "address", m.address, "epoch", reply.Epoch)
	if o.settled {
		o.masterUp(m)
	}
	o.settleIfReady()
	early := m.early
	m.early = nil
	for _, b := range early {
		if b.Incarnation == m.incarnation {
			o.take(b)
		}
	}
}

// settleIfReady settles when all masters have answered and the roll, where there is
// one, has come.
func (o *owner) settleIfReady() {
	unheard := func(m *master) bool { return m.incarnation == 0 }
	if !slices.ContainsFunc(o.masters, unheard) && (!o.plan.rolled() || o.peers.roll.Incarnation != 0) {
		o.settle()
	}
}

// settle gives the core all masters that have answered, at once, so that the
// first jobs are spread over all of them.
func (o *owner) settle() {
	if o.settled {
		return
	}
	o.settled = true
	for _, m := range o.masters {
		if m.incarnation != 0 {
			o.masterUp(m)
		}
	}
	o.ready()
}

// masterUp tells the core of a master, unless the policy has none and it is only
// the daemon that keeps the roll.
func (o *owner) masterUp(m *master) {
	m.up, m.lost = true, false
	if o.plan.NewMaster == nil {
		return
	}
	o.stepShell(&sched.Message{Kind: sched.MasterUp, Peer: m.addr(), Serves: m.serves})
}

func (o *owner) masterLost(m *master) {
	if o.plan.NewMaster == nil {
		o.log.Warn("the master that keeps the roll cannot be reached: nodes that come or go are not noticed", "address", m.address, "after", o.cfg.MasterLost)
		return
	}
	o.log.Warn("group without a master: its tasks are distributed again", "group", m.group, "address", m.address, "after", o.cfg.MasterLost)
	o.stepShell(&sched.Message{Kind: sched.MasterLost, Peer: m.addr()})
}
