package master

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
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
	owner  *owner
	policy sched.Policy
	list   []*sibling
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
}

func (s *sibling) ref() wire.Ref { return addrmap.MasterRef(s.group) }

func (s *sibling) addr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(s.group)} //nolint:gosec // 15 bits
}

// newSiblings makes the connections to the other masters; the first call dials.
func newSiblings(cfg Config, p sched.Policy, o *owner, codec *wire.Codec, to func(wire.Ref) client.Security) (*siblings, error) {
	all := &siblings{owner: o, policy: p}
	if !p.CrossGroup {
		return all, nil
	}
	for group, address := range cfg.Masters {
		if group == cfg.Group {
			continue
		}
		peer, err := leaders.New(address, client.Options{Name: addrmap.MasterRef(group).String(), MaxConns: 1, BackoffMax: 200 * time.Millisecond, Security: to(addrmap.MasterRef(group))}, codec)
		if err != nil {
			return all, fmt.Errorf("the master of group %d cannot be reached at %q: %w", group, address, err)
		}
		all.list = append(all.list, &sibling{
			group: group, address: address, peer: peer, contact: protocol.NewContact(o.core.clock.Now()),
		})
	}
	return all, nil
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
			reply, err := m.sayHello(ctx, s)
			m.post(func() { all.helloAnswered(s, reply, err) })
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
func (all *siblings) helloAnswered(s *sibling, reply wire.HelloReply, err error) {
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
	if s.up && s.incarnation == reply.Incarnation {
		return
	}
	o.log.Info("another master has been reached", "of", s.group, "address", s.address)
	o.links.Add(s.ref(), s.peer.Address(), reply.Incarnation)
	s.up, s.incarnation = true, reply.Incarnation
	o.core.StepShell(&sched.Message{Kind: sched.MasterUp, Peer: s.addr(), Serves: reply.Serves})
}

// hello returns why another master's hello is refused. The hello changes
// nothing here: the state of the other master comes from the answers to this one's hellos.
func (all *siblings) hello(h *wire.Hello) refusal {
	switch known := slices.ContainsFunc(all.list, func(s *sibling) bool { return s.ref() == h.Sender }); {
	case !all.policy.CrossGroup:
		return refusal{refusedPolicy, fmt.Sprintf("under policy %s masters exchange no messages, and %s sent a hello; set the same policy in all daemons of a cluster", all.policy.Name, h.Sender)}
	case !known:
		return refusal{refusedMasters, fmt.Sprintf("%s at %s sent a hello and is none of the other masters configured here; set the same list of masters in all of them", h.Sender, h.Address)}
	}
	return refusal{}
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
