package nodemonitor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	identities "github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// connectMaster makes the registration with the master and the link to it, and the
// follower of its membership where workers exchange messages with others.
func (n *NodeMonitor) connectMaster() error {
	master, err := leaders.New(n.cfg.Master, client.Options{Name: fmt.Sprintf("master of group %d", n.cfg.Group), MaxConns: 4, MaxFrame: wire.MaxBatchBytes, Security: n.life.To(n.self.master)}, n.codec)
	if err != nil {
		return err
	}
	n.life.OnClose(master.Close)
	n.masters, n.owner.former.several = master, master.Several()
	n.registration = registration.New(registration.Config{
		Master: master, Several: master.Several(), Source: registrationSource{n}, Heartbeat: n.cfg.Heartbeat, Patience: n.cfg.patience(),
		Retry: n.pauseAfter, AfterRefusal: connections.PauseAfter, Fail: n.life.Fail, Refused: n.metrics.refused.Inc, Log: n.log,
	})
	n.link, err = link.New(master, link.Options{
		Self: n.self.Ref, Peer: n.self.master, Address: n.self.Address, Incarnation: n.self.Incarnation, MaxItems: 100_000, MaxBytes: 64 << 20, Probe: -1,
		OnReincarnation: func(int64, int64) { n.registration.RegisterAgain() },
		OnState:         n.masterReached,
		OnUnknown:       func(items []wire.Item) { n.withheld(n.self.master, items) },
		OnRefused: func(items int, why error) {
			n.log.Warn("the master refused messages; registering again", "messages", items, "error", why)
			n.registration.RegisterAgain()
		},
	})
	if err != nil {
		return err
	}
	n.life.OnClose(n.link.Close)
	n.owner.workers.Outbox().Connect(n.link, nil)
	if n.owner.policy.SingleMaster() {
		n.follower = n.newFollower(master)
	}
	return nil
}

// toFrontends returns how frontends are called; nodes know their addresses.
func (n *NodeMonitor) toFrontends() client.Security {
	return n.life.Credentials().To(identities.Frontend, "")
}

// searchEvery is the pause after a search in which none of several masters was found to lead;
// a random time of up to as much is added.
const searchEvery = 25 * time.Millisecond

// pauseAfter returns how long to wait before the next hello after that many that failed.
func (n *NodeMonitor) pauseAfter(failures int) time.Duration {
	if n.masters.Several() {
		return searchEvery + rand.N(searchEvery) //nolint:gosec // jitter, not a secret
	}
	return connections.PauseAfter(failures)
}

// masterReached is called when the state of the link to the master changes. Where the group has
// several masters, a snapshot finds out at once whether another one leads.
func (n *NodeMonitor) masterReached(s link.State) {
	if s.Status == link.Down && n.masters.Several() {
		n.registration.SendSnapshot()
	}
}

// leads is called when a master reports that it leads a group now.
func (n *NodeMonitor) leads(h *wire.Hello) {
	if h.Sender.Daemon() == n.self.master && n.masters.Several() {
		n.masters.Prefer(h.Address)
		n.registration.MasterChanged(h.Incarnation)
	}
}

// membershipWait is how long the master may delay an answer about its membership. It is
// longer than a frontend's: there are many nodes, and each detects the loss of its master
// by its snapshots.
const membershipWait = 10 * time.Second

func (n *NodeMonitor) newFollower(master wire.MembershipSource) *membership.Follower {
	return membership.NewFollower(membership.FollowerOptions{
		Source: master, Wait: membershipWait, Margin: n.cfg.patience(), Retry: n.pauseAfter,
		Apply: func(_ context.Context, m *wire.Membership) bool { return n.call(func() { n.owner.applyMembership(m) }) },
		Failed: func(err error, failures int) {
			if failures == 1 {
				n.log.Warn("the master does not answer with its membership; the last one holds", "error", err)
				if n.masters.Several() {
					n.registration.SendSnapshot() // another one may lead
				}
			}
		},
	})
}

// withheld reports messages of kinds that a peer's version does not know.
func (n *NodeMonitor) withheld(peer wire.Ref, items []wire.Item) {
	n.metrics.unknown.Withheld(n.log, peer, items) // no caller at a node waits for answers
}

// maxConnections is how many connections to frontends and other nodes a node keeps: it may
// send to all of them, but seldom to any one other node (policy hawk).
const maxConnections = 32

// connectPeers makes the links to frontends and other nodes, which the membership names.
func (n *NodeMonitor) connectPeers() {
	o := n.owner
	links := link.NewSet(link.SetOptions{
		Self: n.self.Ref, Address: n.self.Address, Incarnation: n.self.Incarnation, Codec: n.codec, Log: n.log, Probe: -1, MaxOpen: maxConnections, Security: n.life.To,
		OnUnknown: n.withheld,
		OnRefused: func(peer wire.Ref, messages int, why error) {
			n.log.Warn("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
			n.do(func() { o.members.PeerRefused(peer) })
		},
	})
	n.life.OnClose(links.Close)
	o.workers.Outbox().Connect(n.link, links)
	o.members = members.New(members.Config{
		Node: n.self.Ref, Policy: o.policy, Master: n.masterAddr(), Heartbeat: sched.Time(n.cfg.Heartbeat), Addrs: o.addrs, Links: links, Workers: o.workers,
		Clock: o.clock, Post: n.do, Log: n.log, Forgotten: n.deliveries.inbox.Forget,
	})
	n.deliveries.sessions, n.deliveries.refreshNow = o.members.Sessions(), n.follower.RefreshNow
	n.deliveries.fullness = func(owner sched.Addr, byMaster bool) string {
		if o.full.Load().Refuses(owner, byMaster) {
			return fmt.Sprintf("it keeps as many attempts or results as it may (%d attempts; max_results %d, max_result_bytes %d)", slots.MaxAttempts, n.cfg.MaxResults, n.cfg.MaxResultBytes)
		}
		return ""
	}
}

// connectNotices connects to NATS, when the settings name a server.
func (n *NodeMonitor) connectNotices() (err error) {
	if n.cfg.NATS == "" {
		return nil
	}
	table := n.backends.Applications().Grants()
	if n.notices, err = openNotices(n.cfg, n.codec, table.SetNotices, n.log); err != nil {
		return err
	}
	n.life.OnClose(n.notices.conn.Close)
	n.owner.workers.Outbox().UseNotices(n.notices)
	n.owner.results.UseNotices(n.notices)
	n.metrics.watchNotices(n.notices.conn.Stats, n.notices.conn.Connected)
	if err := n.notices.onWaiting(table.OthersWait); err != nil {
		return err
	}
	if err := n.notices.onAnnounced(func(b *wire.Batch) {
		// An announcement without room is dropped: the frontend is found in other ways.
		_ = n.deliveries.enter(event{kind: announced, batch: b})
	}); err != nil {
		return err
	}
	return n.notices.onAcknowledged(func(b *wire.Batch) {
		// An acknowledgement without room is dropped: the results are sent again.
		_ = n.deliveries.enter(event{kind: acknowledged, batch: b})
	})
}
