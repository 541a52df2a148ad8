package master

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	leading "github.com/pigeon-sched/pigeon/internal/leadership/protocol"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// How a standby follows its leader.
const (
	followWait   = time.Second            // how long the leader may hold back its membership
	followRetry  = 20 * time.Millisecond  // pause after a failure; up to as much is added
	answerWithin = 300 * time.Millisecond // of the wait that it was asked for, a leader answers
)

// following keeps a standby's copy of the membership of the master that leads.
type following struct {
	hello     wire.Hello    // of this master
	address   string        // likewise
	former    int64         // incarnation of the master before this one in this process, 0 for none
	renewed   time.Duration // in which a leader that lives renews its leadership
	fail      func(error)   // ends this master
	candidate *leadership.Candidate
	codec     *wire.Codec
	security  client.Security // of calls to the leader
	clock     runloop.Clock
	log       *slog.Logger
	changed   chan struct{} // of size 1: another leader is known

	mu     sync.Mutex
	read   sched.Time // when the membership was read last, 0 before
	last   wire.Membership
	before wire.Membership // of the leader before, while that of the last may be incomplete
	until  sched.Time      // how long before counts
}

// settling is how long the membership of a new leader may miss daemons that the one before had.
const settling = 3 * sched.Second

func newFollowing(m, former *Master, clock runloop.Clock) *following {
	f := &following{
		hello:   wire.Hello{Sender: m.self, Incarnation: m.incarnation, Group: m.cfg.Group, Policy: m.cfg.Policy, Version: daemon.Version()},
		address: m.address, codec: m.codec, security: m.life.To(m.self), clock: clock, log: m.log, changed: make(chan struct{}, 1),
		renewed: 2 * time.Duration(leading.RenewalEvery(sched.Time(m.cfg.LeaderTTL))), fail: m.life.Fail,
	}
	if former != nil {
		f.former = former.incarnation
	}
	return f
}

// leaderChanged is called when another leader is known, or none.
func (f *following) leaderChanged() {
	select {
	case f.changed <- struct{}{}:
	default: // it is noticed already
	}
}

// run follows the current leader until ctx is done.
func (f *following) run(ctx context.Context) {
	for ctx.Err() == nil {
		leader, known := f.candidate.Leader()
		follow, cancel := context.WithCancel(ctx)
		var follows sync.WaitGroup
		switch {
		case !known || leader.Incarnation == f.hello.Incarnation:
		case leader.Address == f.address:
			follows.Go(func() { f.atOwnAddress(follow, leader) })
		default:
			follows.Go(func() { f.follow(follow, leader) })
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
		}
		cancel()
		follows.Wait()
	}
}

// atOwnAddress finds out about a leader at the address of this master, where this process listens: a former
// master there has ended, unless its leadership is renewed. Then the address means another one on another
// machine.
func (f *following) atOwnAddress(ctx context.Context, leader leadership.Record) {
	for renewals := 0; leader.Incarnation != f.former; renewals++ {
		before := f.candidate.Revision()
		if !delay.For(ctx, f.renewed) {
			return
		}
		if f.candidate.Revision() == before {
			break
		}
		if renewals > 0 { // one may be the last write of a process that has ended
			f.fail(&api.Error{
				Problem: api.Invalid, What: fmt.Sprintf("another master leads at the address of this one, %s", f.address), Subject: f.hello.Sender.String(), Tried: "waiting as a standby",
				Next: "give each master an address of its own that the others reach: listen, or advertise",
			})
			return
		}
	}
	f.log.Info("a former master at the address of this one led the group; it has ended", "address", leader.Address)
}

// follow follows one leader until ctx is done.
func (f *following) follow(ctx context.Context, leader leadership.Record) {
	pool, err := client.New(client.Options{Name: "the leading master", Address: leader.Address, MaxConns: 2, FailFast: true, BackoffMax: followRetry, MaxFrame: wire.MaxBatchBytes * 2, Security: f.security})
	if err != nil {
		f.log.Error("the leading master has an address that cannot be called", "address", leader.Address, "error", err)
		return
	}
	defer pool.Close() //nolint:errcheck // it only closes connections
	membership.NewFollower(membership.FollowerOptions{
		Source: wire.NewPeerClient(pool, f.codec), Wait: followWait, Margin: answerWithin,
		Retry: func(int) time.Duration { return followRetry + rand.N(followRetry) }, //nolint:gosec // jitter, not a secret
		Apply: func(_ context.Context, m *wire.Membership) bool { f.apply(m); return true },
		Heard: f.heard,
	}).Run(ctx)
}

func (f *following) apply(m *wire.Membership) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if m.Incarnation != f.last.Incarnation {
		f.before, f.until = f.last, now+settling
	}
	f.last, f.read = *m, now
}

// heard is called with each answer of the leader, also without news.
func (f *following) heard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = f.clock.Now()
}

// expectation is the daemons that a standby expects when it begins to lead, as it has last read
// them.
type expectation struct {
	read      sched.Time
	addresses map[protocol.Peer]string
	highest   int32 // number of a worker, plus one
}

// expected returns it, with the members of the leader before where they may be missing from
// the last membership.
func (f *following) expected() expectation {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := expectation{read: f.read, addresses: map[protocol.Peer]string{}}
	if f.clock.Now() < f.until {
		e.add(&f.before)
	}
	e.add(&f.last)
	return e
}

func (e *expectation) add(m *wire.Membership) {
	for i := range m.Nodes {
		n := &m.Nodes[i]
		e.addresses[protocol.Peer{Role: sched.Worker, Name: n.Name}] = n.Address
		for _, number := range n.Numbers {
			e.highest = max(e.highest, number)
		}
	}
	for i := range m.Frontends {
		f := &m.Frontends[i]
		e.addresses[protocol.Peer{Role: sched.Distributor, Name: f.Name}] = f.Address
	}
}

// peers returns the expected daemons, in no order.
func (e *expectation) peers() []protocol.Peer {
	list := make([]protocol.Peer, 0, len(e.addresses))
	for p := range e.addresses {
		list = append(list, p)
	}
	return list
}
