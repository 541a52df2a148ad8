package master

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// helloEvery is how often masters that hand tasks to each other exchange hellos.
const helloEvery = time.Second

// searchEvery is the pause while none of the masters of another group that has several leads;
// a random time of up to as much is added.
const searchEvery = 50 * time.Millisecond

// helloMost is how long a master waits for the outcome of the next hello, if it runs.
const helloMost = 2 * helloEvery

// siblings are the masters of the other groups, under a policy in which masters hand tasks
// to each other. They belong to the owner goroutine.
type siblings struct {
	owner   *owner
	policy  sched.Policy
	list    []*sibling
	address string // of this master
}

// sibling is the master of another group. It belongs to the owner goroutine, except group,
// address and peer, which never change.
type sibling struct {
	group       int
	address     string         // of all of them, as configured
	peer        *leaders.Group // its standbys too
	heartbeat   *membership.Heartbeat
	incarnation int64 // 0: never reached
	up          bool  // as last reported to the core
	contact     protocol.Contact
	second      claimant // another process than the one that answers at the address
	twins       bool     // that one has answered since the second was heard: both live
}

// claimant is a process that says hello as the master of a group.
type claimant struct {
	incarnation int64 // 0: none
	address     string
	heard       sched.Time
}

func (s *sibling) ref() wire.Ref { return addrmap.MasterRef(s.group) }

func (s *sibling) addr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(s.group)} //nolint:gosec // 15 bits
}

// newSiblings makes the connections to the other masters, and to this one's own address where the
// setting has another; the first call dials.
func (m *Master) newSiblings(p sched.Policy) error {
	o := m.owner
	all := &siblings{owner: o, policy: p, address: m.address}
	o.siblings = all
	m.life.OnClose(all.close)
	for group, address := range m.cfg.Masters {
		own := group == m.cfg.Group
		if own && (m.cfg.led() || address == m.address) || !own && !p.CrossGroup {
			continue
		}
		ref := addrmap.MasterRef(group)
		peer, err := leaders.New(address, client.Options{Name: ref.String(), MaxConns: 1, FailFast: own, BackoffMax: 200 * time.Millisecond, Security: m.life.To(ref)}, m.codec)
		if err != nil {
			return fmt.Errorf("the master of group %d cannot be reached at %q: %w", group, address, err)
		}
		if own {
			m.twin = peer
			m.life.OnClose(peer.Close)
			continue
		}
		all.list = append(all.list, &sibling{
			group: group, address: address, peer: peer, contact: protocol.NewContact(o.core.clock.Now()),
		})
	}
	return nil
}

func (all *siblings) close() (err error) {
	for _, s := range all.list {
		err = errors.Join(err, s.peer.Close())
	}
	return err
}

// heartbeats returns the tasks that send hellos to the other masters.
func (all *siblings) heartbeats(m *Master) (tasks []func(context.Context)) {
	for _, s := range all.list {
		var retry func(int) time.Duration // nil: as often
		if s.peer.Several() {
			retry = func(int) time.Duration { return searchEvery + rand.N(searchEvery) } //nolint:gosec // jitter, not a secret
		}
		s.heartbeat = membership.NewHeartbeat(helloEvery, retry, func(ctx context.Context) error {
			if !m.standing.leads() {
				return nil // the one that leads greets them
			}
			sent := all.owner.core.clock.Now()
			reply, err := m.sayHello(ctx, s)
			m.post(func() { m.twinNamed(s, &reply); all.helloAnswered(s, reply, sent, err) })
			return err
		})
		tasks = append(tasks, s.heartbeat.Run)
	}
	return tasks
}

// beatNow makes this master say hello to each of the others at once.
func (all *siblings) beatNow() {
	for _, s := range all.list {
		s.heartbeat.Wake()
	}
}

func (m *Master) sayHello(ctx context.Context, s *sibling) (wire.HelloReply, error) {
	call, cancel := context.WithTimeout(ctx, helloEvery)
	defer cancel()
	reply, err := s.peer.Hello(call, &wire.Hello{Sender: m.self, Incarnation: m.incarnation, Address: m.address, Group: s.group, Policy: m.cfg.Policy, Version: m.owner.version, Features: daemon.Features()})
	switch {
	case err == nil && !reply.Accepted:
		err = fmt.Errorf("it refuses this master: %s", reply.Problem)
	case err == nil && reply.Group != s.group:
		err = fmt.Errorf("it is the master of group %d, and the setting masters lists it for group %d", reply.Group, s.group)
	}
	return reply, err
}

// helloAnswered applies the outcome of one hello to another master.
func (all *siblings) helloAnswered(s *sibling, reply wire.HelloReply, sent sched.Time, err error) {
	o := all.owner
	now := o.core.clock.Now()
	if err != nil {
		first, lost := s.contact.Missed(protocol.Limits{LostAfter: sched.Time(o.cfg.MasterLost), Hello: sched.Time(helloMost)}, now)
		if first {
			o.log.Debug("another master did not answer hello", "of", s.group, "address", s.address, "error", err)
		}
		if lost && s.up {
			s.up = false
			o.log.Warn("another master is lost; nothing is sent to it until it answers again", "of", s.group, "address", s.address, "error", err)
			o.links.Remove(s.ref())
			o.core.StepShell(&sched.Message{Kind: sched.MasterLost, Peer: s.addr()})
		}
		return
	}
	s.contact.Answered(now)
	s.answeredAs(reply.Incarnation, sent)
	if s.up && s.incarnation == reply.Incarnation {
		return
	}
	o.log.Info("another master has been reached", "of", s.group, "address", s.address)
	o.links.Add(s.ref(), s.peer.Address(), reply.Incarnation)
	s.up, s.incarnation = true, reply.Incarnation
	o.core.StepShell(&sched.Message{Kind: sched.MasterUp, Peer: s.addr(), Serves: reply.Serves})
}

// hello returns the answer to another master's hello. Of the other master it changes only which
// processes claim the group: its state comes from the answers to this one's hellos.
func (all *siblings) hello(h *wire.Hello) wire.HelloReply {
	o := all.owner
	i := slices.IndexFunc(all.list, func(s *sibling) bool { return s.ref() == h.Sender })
	switch {
	case !o.follows && h.Sender.Daemon() == o.self && h.Incarnation == o.incarnation:
		return o.helloReply(h, refusal{}) // the setting masters names this master by another address
	case !o.follows && h.Sender.Daemon() == o.self:
		return o.helloReply(h, refusal{refusedMasters, twins(o.cfg.Group, all.address, h.Address) + "; " + nextOfTwins})
	case !all.policy.CrossGroup:
		return o.helloReply(h, refusal{refusedPolicy, fmt.Sprintf("under policy %s masters exchange no messages, and %s sent a hello; set the same policy in all daemons of a cluster", all.policy.Name, h.Sender)})
	case i < 0:
		return o.helloReply(h, refusal{refusedMasters, fmt.Sprintf("%s at %s sent a hello and is none of the other masters configured here; set the same list of masters in all of them", h.Sender, h.Address)})
	}
	s := all.list[i]
	var r refusal
	other, later := s.claimed(h, o.core.clock.Now(), sched.Time(max(o.cfg.MasterLost, 3*helloEvery)))
	if later {
		r = refusal{refusedMasters, twins(s.group, other, h.Address) + "; " + nextOfTwins}
	}
	reply := o.helloReply(h, r)
	reply.Leader = other
	return reply
}

// claimed records who says hello as the master of the group. It returns where another process lives
// that does, "" for none, and whether that one, and not the sender, is at the configured address.
func (s *sibling) claimed(h *wire.Hello, now, lost sched.Time) (other string, later bool) {
	switch {
	case s.peer.Several(): // one of them leads
		return "", false
	case h.Incarnation != s.incarnation:
		s.twins = s.twins && s.up && s.second.address == h.Address
		s.second = claimant{h.Incarnation, h.Address, now}
		if s.twins {
			other = s.address
		}
		return other, s.twins
	case s.twins && now-s.second.heard < lost:
		return s.second.address, false
	}
	return "", false
}

// answeredAs records which process has answered a hello that was sent then. Only an answer after the
// hello of another process shows that both live: this one may have ended, and be started elsewhere.
func (s *sibling) answeredAs(incarnation int64, sent sched.Time) {
	switch {
	case incarnation == s.second.incarnation:
		s.second, s.twins = claimant{}, false
	case incarnation == s.incarnation && s.second.incarnation != 0 && sent > s.second.heard:
		s.twins = true
	}
}

// twins says that two masters of a group live.
func twins(group int, one, other string) string {
	return fmt.Sprintf("two masters of group %d live, at %s and at %s, and without leadership both would lead it", group, one, other)
}

// nextOfTwins is what to do about it.
const nextOfTwins = "stop one of the two, or make them leader and standby: list both as one group's and set leadership: jetstream"

// twinFound ends this master, because another one of its group lives.
func (m *Master) twinFound(other, tried string) {
	m.life.Fail(&api.Error{Problem: api.Invalid, What: twins(m.cfg.Group, m.address, other), Subject: m.cfg.name(), Tried: tried, Next: nextOfTwins})
}

// twinNamed is called on the owner goroutine with the answer of another group's master, which may name
// another master of this one's group.
func (m *Master) twinNamed(s *sibling, reply *wire.HelloReply) {
	o := m.owner
	switch {
	case m.cfg.led() || reply.Standby:
	case reply.Leader == "":
		o.refusals.Over(s.address)
	case !reply.Accepted:
		m.twinFound(reply.Leader, fmt.Sprintf("saying hello to the master of group %d at %s", s.group, s.address))
	default:
		problem := twins(m.cfg.Group, m.address, reply.Leader) + "; " + nextOfTwins
		if omitted, due := o.refusals.Due(s.address, problem, time.Now()); due {
			o.log.Error("another master claims this one's group", "reported_by", s.address, "error", problem, "omitted", omitted)
		}
	}
}

// watchTwin asks the address that the setting masters has for this master's own group, before this
// master is ready and then with each hello to the others. One that is another process's, and lives,
// is the group's master.
func (m *Master) watchTwin(ctx context.Context) {
	tick := time.NewTicker(helloEvery)
	defer tick.Stop()
	h := &wire.Hello{Sender: m.self, Incarnation: m.incarnation, Address: m.address, Group: m.cfg.Group, Policy: m.cfg.Policy, Version: m.owner.version, Features: daemon.Features()}
	for {
		call, cancel := context.WithTimeout(ctx, helloEvery)
		reply, err := m.twin.Hello(call, h)
		cancel()
		own := err == nil && reply.Group == m.cfg.Group
		if own && reply.Incarnation != m.incarnation {
			m.twinFound(m.twin.Address(), "saying hello to the address that the setting masters has for the group")
			return
		}
		m.life.MarkReady()
		if own {
			return // this master has that address, too
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sender returns the other master that sent a batch, and whether it is the process that
// answered last.
func (all *siblings) sender(b *wire.Batch) (sched.Addr, bool) {
	for _, s := range all.list {
		if s.ref() == b.Sender.Daemon() {
			return s.addr(), s.up && s.incarnation == b.Incarnation
		}
	}
	return sched.Addr{}, false
}

// reached counts the other masters that can be reached.
func (all *siblings) reached() (n int) {
	for _, s := range all.list {
		if s.up {
			n++
		}
	}
	return n
}
