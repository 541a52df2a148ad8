package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helloEvery is the time between two hellos to each master: the heartbeat.
const helloEvery = time.Second

// helloRetry is the pause after a hello without an answer; a random time of up to as much
// is added.
const helloRetry = helloEvery / 10

// refusedRetry is the same after a hello that was refused: the cause is fixed by a person, or by
// the end of a daemon of the same name.
const refusedRetry = helloEvery

// searchEvery is the same while none of the masters of a group that has several leads.
const searchEvery = 25 * time.Millisecond

// helloMost is how long this frontend, while it runs, waits for the outcome of the next hello.
const helloMost = 2 * helloEvery

// silentFor is how long a master may fail to answer before this frontend assumes that the
// master has removed it from the membership. Masters wait longer (10 s), but probing
// again costs little, and a removal that is not noticed costs a job.
const silentFor = 3 * time.Second

// mastersWait is how long a starting frontend waits for all masters before it
// distributes over those that have answered.
const mastersWait = time.Second

// master is the master of one group.
type master struct {
	group       int
	address     string         // of all of them, as configured
	peer        *leaders.Group // those of its standbys too
	heartbeat   *membership.Heartbeat
	incarnation int64 // 0: not registered there
	// registration is the number of the last one; another number means that this frontend was
	// not registered at the master for a while, and that the master dropped its messages.
	registration int64
	epoch        uint64
	serves       []string
	up           bool  // MasterUp was stepped
	told         int64 // the incarnation that an event has reported; 0 for none
	lost         bool  // an event has reported its loss, and none since its return
	refused      bool  // the last hello that it answered was refused
	contact      protocol.Contact
	lastHeard    time.Time      // its last answer, or the start
	reach        *reachability  // for users
	departed     *departures    // as well
	early        []*wire.Batch  // from an incarnation that is not known yet
	secrets      bool           // it and all its nodes know launch secrets
	refusals     daemon.LogPace // of the goroutine that sends hellos
	out          *link.Link     // kept until Close, as it numbers the batches of this process
	pending      []wire.Item
}

// masters are the masters of all groups. Fields that change belong to the owner goroutine.
type masters struct {
	*core
	peers *peers
	list  []*master // by group; it never changes
	known bool      // the masters have been announced to the core
	dirty []*master // masters with pending items
}

func (m *master) addr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(m.group)} //nolint:gosec // 15 bits
}

// flush sends the pending items. A stale link leads to a process that has ended; the
// next hello finds its successor.
func (m *master) flush(log *slog.Logger) {
	items := m.pending
	m.pending = nil
	if err := m.out.Send(items...); err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		log.Error("messages to a master were not accepted; this frontend registers there again", "group", m.group, "messages", len(items), "error", err)
		m.incarnation = 0
	}
}

// newHeartbeat returns what sends hellos to one master while it runs.
func (s *masters) newHeartbeat(m *master) *membership.Heartbeat {
	var seen protocol.Epoch // of the masters of the group
	pause := helloRetry
	if m.peer.Several() {
		pause = searchEvery
	}
	refused := false // the last hello
	retry := func(int) time.Duration {
		if refused {
			return refusedRetry + rand.N(helloRetry) //nolint:gosec // jitter, not a secret
		}
		return pause + rand.N(pause) //nolint:gosec // as above
	}
	return membership.NewHeartbeat(helloEvery, retry, func(ctx context.Context) error {
		err := s.sendHello(ctx, m, &seen)
		_, refused = errors.AsType[refusedError](err)
		if err != nil && !refused {
			s.opts.Log.Debug("a master did not answer hello", "group", m.group, "address", m.address, "error", err)
		}
		return err
	})
}

// leads is called when a master reports that it leads its group now. The next hello goes to it
// at once.
func (s *masters) leads(h *wire.Hello) {
	for _, m := range s.list {
		if addrmap.MasterRef(m.group) == h.Sender.Daemon() && m.peer.Several() {
			m.peer.Prefer(h.Address)
			m.heartbeat.Wake()
		}
	}
}

func (s *masters) sendHello(ctx context.Context, m *master, seen *protocol.Epoch) error {
	ctx, cancel := context.WithTimeout(ctx, helloEvery)
	defer cancel()
	h := &wire.Hello{
		Sender: s.opts.Self, Incarnation: s.process.Incarnation, Address: s.process.Internal,
		SchedulerAddress: s.process.Scheduler, Group: m.group, Epoch: seen.Number, EpochOf: seen.Of,
		Highest: s.peers.highest.At(s.opts.Clock.Now()), Token: s.process.Token, Policy: s.opts.Policy.Name, Version: daemon.Version(), Features: daemon.Features(),
	}
	m.departed.addTo(h)
	reply, err := m.peer.Hello(ctx, h)
	if err == nil {
		err = s.refusal(m, &reply)
	}
	if err == nil {
		seen.Observe(protocol.Epoch{Number: reply.Epoch, Of: reply.Incarnation})
		m.departed.accepted(&reply)
	}
	m.reach.answered(reply.Version, err)
	s.post(func() { s.helloAnswered(m, reply, err) })
	return err
}

// refusedError is why a master refused this frontend, in the master's words or this frontend's.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// refusal returns a [refusedError] for an answer that is one, which it logs once a minute.
func (s *masters) refusal(m *master, reply *wire.HelloReply) error {
	var problem string
	switch {
	case !reply.Accepted:
		problem = reply.Problem
		s.opts.Metrics.refused.Inc()
	case reply.Group != m.group:
		problem = fmt.Sprintf("the master at %s is of group %d, but the setting masters lists it as group %d", m.address, reply.Group, m.group)
	default:
		m.refusals.Over(m.address)
		return nil
	}
	if omitted, due := m.refusals.Due(m.address, problem, time.Now()); due {
		s.opts.Log.Error("a master refused this frontend; it tries again each second", "group", m.group, "address", m.address, "error", problem, "omitted", omitted)
	}
	return refusedError(problem)
}

// AllKnowSecrets reports whether all masters that have answered, and their nodes, know launch
// secrets.
func (q *queries) AllKnowSecrets() bool {
	return !slices.ContainsFunc(q.masters.list, func(m *master) bool { return m.incarnation != 0 && !m.secrets })
}

// helloAnswered is called with the outcome of each hello.
func (s *masters) helloAnswered(m *master, reply wire.HelloReply, err error) {
	if _, refused := errors.AsType[refusedError](err); refused || err == nil {
		m.refused = refused
	}
	if err != nil {
		if _, lost := m.contact.Missed(protocol.Limits{LostAfter: sched.Time(s.opts.MasterLost), Hello: sched.Time(helloMost)}, s.opts.Clock.Now()); lost {
			m.up = false
			s.announceLost(m)
		}
		return
	}
	now := time.Now()
	silent := now.Round(0).Sub(m.lastHeard.Round(0)) // by the wall clock: the monotonic clock stops while a machine sleeps
	m.lastHeard, m.secrets = now, slices.Contains(reply.Features, daemon.LaunchSecrets)
	m.contact.Answered(s.opts.Clock.Now())
	if silent >= silentFor {
		s.peers.lostContact()
	}
	if m.incarnation != reply.Incarnation || m.registration != reply.Registration {
		s.register(m, reply)
		return
	}
	served := slices.Equal(m.serves, reply.Serves)
	m.serves = reply.Serves
	switch {
	case !m.up && s.known:
		s.publishReached(m)
		s.announceUp(m)
	case !served && s.known && s.opts.Policy.NewMaster != nil:
		s.stepFrom(m.addr(), &sched.Message{Kind: sched.Serves, Serves: m.serves})
	}
}

// register resets the link to a master's new incarnation and steps it into the core.
func (s *masters) register(m *master, reply wire.HelloReply) {
	m.pending = nil
	m.out.Reset(reply.Incarnation)
	m.incarnation, m.registration, m.epoch, m.serves, m.up = reply.Incarnation, reply.Registration, reply.Epoch, reply.Serves, false
	s.opts.Log.Info("master reached", "group", m.group, "address", m.peer.Address(), "epoch", reply.Epoch)
	s.publishReached(m)
	if s.known {
		s.announceUp(m)
	}
	s.announceIfKnown()
	s.readyIfAccepted()
	early := m.early
	m.early = nil
	for _, b := range early {
		if b.Incarnation == m.incarnation {
			s.deliver(b)
		}
	}
}

// announceIfKnown announces the masters when all of them have answered and the
// first membership, under a policy that needs one, has come.
func (s *masters) announceIfKnown() {
	unknown := func(m *master) bool { return m.incarnation == 0 }
	if !slices.ContainsFunc(s.list, unknown) && (!s.opts.Policy.SingleMaster() || s.peers.membership.Incarnation != 0) {
		s.announce()
	}
}

// announce steps all masters that have answered into the core at once, so that
// the first jobs are spread over all of them.
func (s *masters) announce() {
	if s.known {
		return
	}
	s.known = true
	for _, m := range s.list {
		if m.incarnation != 0 {
			s.announceUp(m)
		}
	}
	s.readyIfAccepted()
}

// readyIfAccepted reports that the frontend is ready, once it has waited for the masters. A
// frontend that some masters have refused and none has accepted is not ready: the jobs that it
// accepts would not run.
func (s *masters) readyIfAccepted() {
	refused := slices.ContainsFunc(s.list, func(m *master) bool { return m.refused })
	accepted := slices.ContainsFunc(s.list, func(m *master) bool { return m.incarnation != 0 })
	if s.known && (accepted || !refused) {
		s.opts.Life.MarkReady()
	}
}

// announceUp steps a master into the core, unless the policy has no master core and the
// daemon only publishes the membership.
func (s *masters) announceUp(m *master) {
	m.up = true
	if s.opts.Policy.NewMaster == nil {
		return
	}
	s.Step(&sched.Message{Kind: sched.MasterUp, Peer: m.addr(), Serves: m.serves})
}

// announceLost steps the loss of a master into the core.
func (s *masters) announceLost(m *master) {
	s.publishLost(m)
	if s.opts.Policy.NewMaster == nil {
		s.opts.Log.Warn("the master that publishes the membership cannot be reached: changes of the membership are not noticed", "address", m.address, "after", s.opts.MasterLost)
		return
	}
	s.opts.Log.Warn("group without a master: its tasks are distributed again, except those that its nodes go on reporting", "group", m.group, "address", m.address, "after", s.opts.MasterLost)
	s.Step(&sched.Message{Kind: sched.MasterLost, Peer: m.addr()})
}

// maxEarly bounds the batches that are kept from a master whose answer to the hello has
// not been read yet.
const maxEarly = 100

// deliver steps a master's messages. A master that has just registered this
// frontend may send batches before its answer to the hello has been read; they are kept
// until then. Batches of a superseded master are never stepped.
func (s *masters) deliver(b *wire.Batch) {
	from := s.opts.Addrs.Addr(b.Sender)
	if from.Role != sched.Master || int(from.ID) >= len(s.list) {
		return // not a configured master
	}
	if m := s.list[from.ID]; m.incarnation != b.Incarnation {
		if len(m.early) < maxEarly {
			m.early = append(m.early, b)
		}
		return
	}
	for i := range b.Items {
		if b.Items[i].Msg.Kind == sched.Report { // nodes send them, with the secrets of launches, and not here
			s.opts.Metrics.ignored.Inc()
			continue
		}
		s.stepFrom(from, &b.Items[i].Msg)
	}
}
