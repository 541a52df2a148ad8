package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Deps are what a master shares with others of its process.
type Deps struct {
	Log *slog.Logger
	// Leaderships stores the leadership, for tests; nil: a bucket of JetStream at the NATS
	// servers of the settings.
	Leaderships leadership.Store
}

// LeadershipError is why a master ended that does not lead its group any more. Another one can take
// its place at once.
type LeadershipError struct{ Reason error }

func (e *LeadershipError) Error() string {
	return fmt.Sprintf("this master does not lead its group any more: %v", e.Reason)
}

// Unwrap returns the reason.
func (e *LeadershipError) Unwrap() error { return e.Reason }

const (
	resignWithin = time.Second            // of a master that stops, for its resignation
	openEvery    = 200 * time.Millisecond // between two attempts to open the store of leaderships
)

// stand is the task of a master that shares its group with standbys: it waits to lead, leads,
// and resigns when the master stops.
func (m *Master) stand(ctx context.Context) {
	store, closeStore := m.openLeaderships(ctx)
	if store == nil {
		return
	}
	defer closeStore()
	following, stopFollowing := context.WithCancel(ctx)
	defer stopFollowing()
	begun := make(chan expectation, 1)
	var lost atomic.Bool
	// The candidate runs until it has resigned, longer than the other tasks, or until it has lost
	// the leadership: this master must not lead again while it ends.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	candidate := leadership.New(leadership.Options{
		Name: leadershipName(m.cfg.Group), TTL: m.cfg.LeaderTTL, Store: store, Log: m.log,
		Record: leadership.Record{Holder: fmt.Sprintf("master of group %d at %s", m.cfg.Group, m.address), Address: m.address, Incarnation: m.incarnation},
		OnLead: func(token uint64) {
			stopFollowing()
			m.post(func() { begun <- m.lead(token) })
		},
		OnLost: func(reason error) {
			m.post(func() {}) // the end of the batch drops the messages in transit
			if !errors.Is(reason, leadership.ErrResigned) {
				lost.Store(true)
				stop()
				m.life.Fail(&LeadershipError{reason})
			}
		},
		OnLeader: func(leader leadership.Record, known bool) {
			if err := m.strangeLeader(leader, known); err != nil {
				m.life.Fail(err)
			}
			m.following.leaderChanged()
		},
	})
	m.standing.candidate.Store(candidate)
	m.following.candidate = candidate

	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()
	parts.Go(func() { candidate.Run(run) })
	parts.Go(func() { m.following.run(following) })
	led := false
	select {
	case e := <-begun:
		led = true
		parts.Go(func() { m.watchNATS(run, store) })
		m.announce(ctx, &e)
		<-ctx.Done()
	case <-ctx.Done():
	}
	if lost.Load() {
		return
	}
	resign, cancel := context.WithTimeout(run, resignWithin)
	defer cancel()
	if err := candidate.Resign(resign); err != nil && led {
		m.log.Info("the leadership was not given up; it lapses", "error", err)
	}
}

// strangeLeader returns an error when the master that leads is not listed for the group in
// the setting masters, and this one is: two clusters have one name.
func (m *Master) strangeLeader(leader leadership.Record, known bool) error {
	if !known || m.cfg.Group >= len(m.cfg.Masters) {
		return nil
	}
	list := leaders.Split(m.cfg.Masters[m.cfg.Group])
	if slices.Contains(list, leader.Address) || !slices.Contains(list, m.address) {
		return nil
	}
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("the group is led from %s, which the setting masters does not list for it (%s): two clusters are named %q", leader.Address, m.cfg.Masters[m.cfg.Group], m.cfg.Cluster),
		Subject: m.cfg.name(), Tried: "waiting as a standby", Next: "set cluster to another name, or cluster_id, in one of the two clusters, or list that master",
	}
}

// openLeaderships opens the store of leaderships, for which it waits. It returns nil when ctx is
// done or the store is refused for good, which ends this master.
func (m *Master) openLeaderships(ctx context.Context) (store leadership.Store, end func()) {
	if m.deps.Leaderships != nil {
		return m.deps.Leaderships, func() {}
	}
	c := &m.cfg
	o := jetstore.Options{
		Access: c.Servers(), Name: c.name(), Cluster: c.Cluster, ID: c.ClusterID, Replicas: c.NATSReplicas,
		Monitor: c.NATSMonitor, SyncAlways: c.NATSSyncAlways, TTL: c.LeaderTTL, Log: m.log,
	}
	for ctx.Err() == nil {
		store, end, err := openBucket(ctx, o)
		if err == nil {
			return store, end
		}
		if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.Invalid {
			m.life.Fail(err)
			return nil, nil
		}
		delay.For(ctx, openEvery)
	}
	return nil, nil
}

// openBucket waits until JetStream can be used, and opens the bucket of leaderships.
func openBucket(ctx context.Context, o jetstore.Options) (leadership.Store, func(), error) {
	opened, err := jetstore.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	store, err := opened.Leadership(ctx)
	if err != nil {
		opened.Close()
		return nil, nil, err
	}
	return store, opened.Close, nil
}

// lead makes the owner goroutine, on which it runs, work as leader. It returns the daemons to
// which to announce that.
func (m *Master) lead(token uint64) expectation {
	e := m.following.expected()
	m.owner.lead(token, &e)
	m.epoch.Store(m.owner.epoch.Number)
	m.standing.begun.Store(true)
	return e
}

// lead begins to schedule with the core as it was made: empty.
func (o *owner) lead(token uint64, e *expectation) {
	expected, known := protocol.Begin(e.peers(), e.read, o.core.clock.Now())
	o.expected = expected
	o.log.Info("this master leads its group", "epoch", token, "expected", len(e.addresses), "known", known)
	o.core.idle = false
	o.publication.publisher.Begin()
	o.epoch, o.follows = protocol.Epoch{Number: min(token, sched.MaxEpoch), Of: o.incarnation}, true
	o.metrics.takeovers.Inc()
	if len(e.addresses) > 0 {
		o.nodes.FollowsAnother()
		o.nodes.ReserveNumbers(e.highest)
	}
	if !o.shares.set.Equal(&owners.Shares{}) {
		o.stepShares()
	}
	o.core.StepShell(&sched.Message{Kind: sched.EpochIs, Epoch: o.epoch.Number})
	o.siblings.beatNow()
	if o.expected.Nobody() {
		o.allReported()
	}
}

// announce makes this master known to the daemons of its predecessor.
func (m *Master) announce(ctx context.Context, e *expectation) {
	hello := m.following.hello
	hello.Address, hello.Epoch = m.address, m.epoch.Load()
	announce(ctx, hello, e.addresses, m.codec, m.life.To, func(p protocol.Peer) {
		m.post(func() {
			if m.owner.expected.Gone(p) {
				m.owner.allReported()
			}
		})
	})
}

// arrived is called when a node or frontend has registered.
func (o *owner) arrived(sender wire.Ref) {
	if o.expected.Registered(protocol.Peer{Role: sender.Role, Name: sender.Name}) {
		o.allReported()
	}
}

// allReported ends the wait for reports early: all that can come have come.
func (o *owner) allReported() {
	o.log.Info("all nodes and frontends of the former leader have registered, or have ended")
	o.core.StepShell(&sched.Message{Kind: sched.Timeout, Token: sched.RecoveryOver})
}
