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
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helloEvery is how often a frontend says hello to each master: its heartbeat.
const helloEvery = time.Second

// helloRetry is the pause after a hello without an answer, plus up to as much by chance.
const helloRetry = helloEvery / 10

// silentFor is how long a master may not have answered before this frontend assumes that
// it is off the membership there. Less than masters take (10 s), since probing again
// costs little and a loss that goes unnoticed costs a job.
const silentFor = 3 * time.Second

// mastersWait is how long a starting frontend waits for all masters before it
// distributes over those that have answered.
const mastersWait = time.Second

// master is one group's master as the owner knows it. Owned by the owner
// goroutine, but for peer and address, which never change.
type master struct {
	group       int
	address     string
	peer        *wire.PeerClient
	incarnation int64 // 0: never reached
	epoch       uint64
	serves      []string
	up          bool // the core was told that it is up
	contact     protocol.Contact
	lastHeard   time.Time     // its last answer, or the start
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

// sendHellos says hello to one master for as long as the daemon runs.
func (f *Frontend) sendHellos(ctx context.Context, m *master) {
	var seen protocol.Epoch                                                     // of the masters of the group
	retry := func(int) time.Duration { return helloRetry + rand.N(helloRetry) } //nolint:gosec // jitter, not a secret
	membership.NewHeartbeat(helloEvery, retry, func(ctx context.Context) error {
		err := f.sendHello(ctx, m, &seen)
		if err != nil {
			f.log.Debug("a master did not answer hello", "group", m.group, "address", m.address, "error", err)
		}
		return err
	}).Run(ctx)
}

func (f *Frontend) sendHello(ctx context.Context, m *master, seen *protocol.Epoch) error {
	ctx, cancel := context.WithTimeout(ctx, helloEvery)
	defer cancel()
	h := &wire.Hello{
		Sender: f.self, Incarnation: f.incarnation, Address: f.internal.Addr().String(),
		SchedulerAddress: f.scheduler.Addr().String(), Group: m.group, Epoch: seen.Number, EpochOf: seen.Of,
		Highest: f.owner.peers.highest.Load(),
	}
	reply, err := m.peer.Hello(ctx, h)
	if err == nil && !reply.Accepted {
		err = errors.New(reply.Problem)
		f.log.Error("a master refused this frontend", "group", m.group, "address", m.address, "error", reply.Problem)
	}
	if err == nil && reply.Group != m.group {
		err = fmt.Errorf("the master at %s is of group %d, the configuration has it at place %d of masters", m.address, reply.Group, m.group)
		f.log.Error("a master is of another group", "error", err)
	}
	if err == nil {
		seen.Observe(protocol.Epoch{Number: reply.Epoch, Of: reply.Incarnation})
	}
	if posted := f.urge(func() { f.owner.helloAnswered(m, reply, err) }); posted != nil {
		return posted
	}
	return err
}

// helloAnswered takes the outcome of one hello.
func (o *owner) helloAnswered(m *master, reply wire.HelloReply, err error) {
	if err != nil {
		if _, lost := m.contact.Missed(sched.Time(o.cfg.MasterLost), o.clock.Now()); lost {
			m.up = false
			o.masterLost(m)
		}
		return
	}
	now := time.Now()
	silent := now.Round(0).Sub(m.lastHeard.Round(0)) // a machine that sleeps stops its other clock
	m.lastHeard = now
	m.contact.Answered(o.clock.Now())
	if silent >= silentFor {
		o.lostContact()
	}
	if m.incarnation != reply.Incarnation {
		o.connect(m, reply)
		return
	}
	served := slices.Equal(m.serves, reply.Serves)
	m.serves = reply.Serves
	switch {
	case !m.up && o.mastersKnown:
		o.masterUp(m)
	case !served && o.mastersKnown && o.plan.NewMaster != nil:
		o.step(m.addr(), &sched.Message{Kind: sched.Serves, Serves: m.serves})
	}
}

// connect resets the link to a master's new incarnation and tells the core.
func (o *owner) connect(m *master, reply wire.HelloReply) {
	m.pending = nil
	m.out.Reset(reply.Incarnation)
	m.incarnation, m.epoch, m.serves, m.up = reply.Incarnation, reply.Epoch, reply.Serves, false
	o.log.Info("master reached", "group", m.group, "address", m.address, "epoch", reply.Epoch)
	if o.mastersKnown {
		o.masterUp(m)
	}
	o.announceMastersIfKnown()
	early := m.early
	m.early = nil
	for _, b := range early {
		if b.Incarnation == m.incarnation {
			o.take(b)
		}
	}
}

// announceMastersIfKnown announces the masters when all of them have answered and the
// first membership, under a policy that needs one, has come.
func (o *owner) announceMastersIfKnown() {
	unknown := func(m *master) bool { return m.incarnation == 0 }
	if !slices.ContainsFunc(o.masters, unknown) && (!o.plan.rolled() || o.peers.membership.Incarnation != 0) {
		o.announceMasters()
	}
}

// announceMasters steps all masters that have answered into the core at once, so that
// the first jobs are spread over all of them.
func (o *owner) announceMasters() {
	if o.mastersKnown {
		return
	}
	o.mastersKnown = true
	for _, m := range o.masters {
		if m.incarnation != 0 {
			o.masterUp(m)
		}
	}
	o.ready()
}

// masterUp tells the core of a master, unless the policy has none and it is only
// the daemon that publishes the membership.
func (o *owner) masterUp(m *master) {
	m.up = true
	if o.plan.NewMaster == nil {
		return
	}
	o.stepShell(&sched.Message{Kind: sched.MasterUp, Peer: m.addr(), Serves: m.serves})
}

func (o *owner) masterLost(m *master) {
	if o.plan.NewMaster == nil {
		o.log.Warn("the master that publishes the membership cannot be reached: nodes that come or go are not noticed", "address", m.address, "after", o.cfg.MasterLost)
		return
	}
	o.log.Warn("group without a master: its tasks are distributed again", "group", m.group, "address", m.address, "after", o.cfg.MasterLost)
	o.stepShell(&sched.Message{Kind: sched.MasterLost, Peer: m.addr()})
}
