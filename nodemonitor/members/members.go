// Package members applies the master's membership on a node, under policies whose workers
// exchange messages with frontends and other nodes: it enters the members into addresses,
// links and worker cores.
//
//	          on the membership                 refuses messages
//	unknown ────────────────────▶ a member ──────────────────────▶ excluded
//	   ▲                            │   ▲───────a second later────────┘
//	   └───missing for its patience─┘
package members

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// missedBeats is how many heartbeats a frontend may be missing from the membership before
// this node drops its reservations, and patienceMost the longest such time. A master
// that was restarted, or suspended for a while, publishes a membership without frontends
// that are alive and register with their next hello. A node that dropped their reservations
// at once would never receive them again: the frontend may have read neither membership, or
// have reserved again after the second while this node still reads the first. The price is
// that a worker may wait that long for a dead frontend.
const (
	missedBeats  = 10
	patienceMost = 5 * sched.Second
)

// excludedFor is how long a node that refused messages counts as lost here.
const excludedFor = time.Second

// Links are the links to other daemons; a *link.Set is one.
type Links interface {
	Add(peer wire.Ref, address string, incarnation int64)
	Remove(peer wire.Ref)
	Forget(after time.Duration, now time.Time) (forgotten []wire.Ref)
}

// Workers are the workers of this node.
type Workers interface {
	// FrontendGone is called when a frontend will not answer the workers' requests.
	FrontendGone(frontend sched.Addr)
	// SetMembers is called when the live workers have changed, in the order of their
	// numbers. The list is not changed afterwards.
	SetMembers([]sched.Member)
}

// Config is what [Members] works with.
type Config struct {
	Node      wire.Ref // this one
	Policy    sched.Policy
	Master    sched.Addr
	Heartbeat sched.Time
	Addrs     *addrmap.Map
	Links     Links
	Workers   Workers
	Clock     runloop.Clock
	Post      func(func()) // to the owner goroutine; nothing happens when the daemon has stopped
	Log       *slog.Logger
	// Forgotten is called with a peer that left the membership so long ago that none of its
	// messages is in transit any more.
	Forgotten func(peer wire.Ref)
}

// Members is the members of the cluster. It belongs to the owner goroutine, except for its
// sessions.
type Members struct {
	cfg      Config
	sessions *membership.Sessions
	expiring bool               // Expire is scheduled
	listed   []sched.Member     // the live workers, in the order of their numbers
	excluded map[wire.Ref]bool  // nodes that refused messages a moment ago
	known    []sched.Member     // the listed without the excluded, as last reported to the workers
	numbered map[int32]numbered // by the number of a worker
	highest  membership.Highest
}

// numbered is the slot of the node's process that has a number.
type numbered struct {
	ref         wire.Ref
	incarnation int64
}

// New returns a Members without members.
func New(c Config) *Members {
	return &Members{cfg: c, excluded: map[wire.Ref]bool{}, sessions: membership.NewSessions(protocol.Patience{
		Frontend: min(missedBeats*c.Heartbeat, patienceMost),
	})}
}

// Sessions returns the processes from which messages are accepted. It is safe for
// concurrent use.
func (m *Members) Sessions() *membership.Sessions { return m.sessions }

// Highest returns the highest number, plus one, of the memberships of the last minute.
func (m *Members) Highest() int32 { return m.highest.At(m.cfg.Clock.Now()) }

// Known returns the live workers as last reported to this node's workers.
func (m *Members) Known() []sched.Member { return m.known }

// Apply applies a membership. A process is entered into addresses and links before its
// messages are accepted, and before it is reported to the workers.
func (m *Members) Apply(list *wire.Membership) {
	m.highest.Observe(list, m.cfg.Clock.Now())
	m.renumber(list)
	named := make(map[wire.Ref]bool, len(list.Nodes)+len(list.Frontends))
	var workers []sched.Member
	for i := range list.Nodes {
		n := &list.Nodes[i]
		workers = m.appendWorkers(workers, n)
		peer := wire.Ref{Role: sched.Worker, Name: n.Name}
		if peer == m.cfg.Node {
			continue
		}
		named[peer] = true
		m.cfg.Links.Add(peer, n.Address, n.Incarnation)
		m.sessions.Enter(peer, n.Incarnation)
	}
	for i := range list.Frontends {
		f := &list.Frontends[i]
		peer := wire.Ref{Role: sched.Distributor, Name: f.Name}
		named[peer] = true
		at := m.cfg.Addrs.Addr(peer)
		m.cfg.Links.Add(peer, f.Address, f.Incarnation)
		if m.sessions.Enter(peer, f.Incarnation) {
			m.cfg.Workers.FrontendGone(at) // its former process will not answer
		}
	}
	now := m.cfg.Clock.Now()
	m.remove(m.sessions.Retain(named, now))
	for _, peer := range m.cfg.Links.Forget(link.ForgetAfter, time.Now()) {
		m.cfg.Forgotten(peer)
	}
	m.scheduleExpiry(now)
	slices.SortFunc(workers, func(a, b sched.Member) int { return cmp.Compare(a.Worker.ID, b.Worker.ID) })
	m.listed = workers
	m.update()
}

// appendWorkers enters the numbers of a node's workers and appends them to the list.
func (m *Members) appendWorkers(list []sched.Member, n *wire.MemberNode) []sched.Member {
	for slot, number := range n.Numbers {
		if number < 1 {
			continue // the slot was withdrawn
		}
		ref := wire.Ref{Role: sched.Worker, Name: n.Name, Slot: int32(slot)} //nolint:gosec // few
		if !m.cfg.Addrs.Set(ref, number-1) {
			m.cfg.Log.Error("a number on the membership belongs to another worker; it is left out", "worker", ref.String(), "number", number-1)
			continue
		}
		if n.Draining {
			continue // no work is moved to it or from it
		}
		w := sched.Member{Worker: sched.Addr{Role: sched.Worker, ID: number - 1}, Node: n.Name}
		if m.cfg.Policy.Central {
			w.Master = m.cfg.Master
		}
		list = append(list, w)
	}
	return list
}

// renumber withdraws the numbers that no longer stand for the slot that had them. Where one
// stands for another slot now, its departure is reported to the workers first: a number is
// assigned again, and this node may not have read the memberships in between.
func (m *Members) renumber(list *wire.Membership) {
	now := map[int32]numbered{}
	for i := range list.Nodes {
		n := &list.Nodes[i]
		for slot, number := range n.Numbers {
			if number > 0 {
				now[number-1] = numbered{wire.Ref{Role: sched.Worker, Name: n.Name, Slot: int32(slot)}, n.Incarnation} //nolint:gosec // few
			}
		}
	}
	left := map[int32]bool{}
	for id, was := range m.numbered {
		is, listed := now[id]
		if is == was {
			continue
		}
		left[id] = listed
		if was.ref.Daemon() != m.cfg.Node {
			m.cfg.Addrs.Drop(was.ref)
		}
	}
	m.numbered = now
	others := slices.DeleteFunc(slices.Clone(m.listed), func(w sched.Member) bool { return left[w.Worker.ID] })
	if len(others) < len(m.listed) {
		m.listed = others
		m.update()
	}
}

// remove removes peers that have left.
func (m *Members) remove(left []wire.Ref) {
	for _, peer := range left {
		m.cfg.Log.Debug("a peer has left the membership", "peer", peer.String())
		m.cfg.Links.Remove(peer)
		m.frontendGone(peer)
	}
}

func (m *Members) frontendGone(peer wire.Ref) {
	if at, known := m.cfg.Addrs.Find(peer); known && peer.Role == sched.Distributor {
		m.cfg.Workers.FrontendGone(at)
	}
}

// scheduleExpiry removes the frontends that are still missing when their patience is over.
func (m *Members) scheduleExpiry(now sched.Time) {
	at, some := m.sessions.Next()
	if !some || m.expiring {
		return
	}
	m.expiring = true
	time.AfterFunc(time.Duration(at-now), func() {
		m.cfg.Post(func() {
			m.expiring = false
			now := m.cfg.Clock.Now()
			m.remove(m.sessions.Expire(now))
			m.scheduleExpiry(now)
		})
	})
}

// update reports the live workers to this node's workers when the policy needs them and
// they have changed.
func (m *Members) update() {
	workers := m.listed
	if len(m.excluded) > 0 {
		workers = slices.DeleteFunc(slices.Clone(workers), func(w sched.Member) bool {
			ref, _ := m.cfg.Addrs.Ref(w.Worker)
			return m.excluded[ref.Daemon()]
		})
	}
	if !m.cfg.Policy.PeerAware || slices.Equal(workers, m.known) {
		return
	}
	m.known = workers
	m.cfg.Workers.SetMembers(workers)
}

// PeerRefused abandons the requests to a frontend that does not accept messages. A node
// that does not accept them is excluded for a while: the cores then send its workers'
// messages to other workers.
func (m *Members) PeerRefused(peer wire.Ref) {
	switch {
	case peer.Role != sched.Worker:
		m.frontendGone(peer)
	case !m.excluded[peer]:
		m.excluded[peer] = true
		m.update()
		time.AfterFunc(excludedFor, func() {
			m.cfg.Post(func() {
				delete(m.excluded, peer)
				m.update()
			})
		})
	}
}
