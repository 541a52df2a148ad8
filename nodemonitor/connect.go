package nodemonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/members"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// connect makes the links to the master, to other daemons and to NATS.
func (n *NodeMonitor) connect(codec *wire.Codec) (err error) {
	o := n.owner
	if n.master, err = client.New(client.Options{Name: fmt.Sprintf("master of group %d", n.cfg.Group), Address: n.cfg.Master, MaxConns: 4, MaxFrame: 8 << 20}); err != nil {
		return err
	}
	peer := wire.NewPeerClient(n.master, codec)
	n.registration = registration.New(registration.Config{
		Master: peer, Source: registrationSource{n}, Heartbeat: n.cfg.Heartbeat, Patience: n.cfg.patience(), Fail: n.fail, Log: n.log,
		Retry: func(failures int) time.Duration { return time.Duration(backoff(failures)) },
	})
	o.changed = n.registration.SendSnapshot
	n.link, err = link.New(peer, link.Options{
		Self: n.self, Peer: o.masterRef, Address: o.address, Incarnation: n.incarnation, MaxItems: 100_000, MaxBytes: 64 << 20, Probe: -1,
		OnReincarnation: func(int64, int64) { n.registration.RegisterAgain() },
		OnRefused: func(items int, why error) {
			n.log.Warn("the master did not take messages; registering again", "messages", items, "error", why)
			n.registration.RegisterAgain()
		},
	})
	if err != nil {
		return err
	}
	if o.policy.SingleMaster() {
		n.connectPeers(codec, peer)
		o.workers.Connect(n.link, o.links)
	} else {
		o.workers.Connect(n.link, nil)
	}
	if err := n.watch(); err != nil {
		return err
	}
	return n.notify(codec)
}

// maxConnections is how many connections to frontends and other nodes a node keeps: it may
// send to all of them, and does to each other node seldom (policy hawk).
const maxConnections = 32

// membershipWait is how long the master may hold an answer about its membership back. It
// is longer than a frontend's: there are many nodes, and each notices a master that is
// gone by its snapshots.
const membershipWait = 10 * time.Second

// connectPeers makes the links to frontends and other nodes, which the membership names.
func (n *NodeMonitor) connectPeers(codec *wire.Codec, master wire.MembershipSource) {
	o := n.owner
	o.links = linkset.New(linkset.Options{
		Self: n.self, Address: o.address, Incarnation: n.incarnation, Codec: codec, Log: n.log, Probe: -1, MaxOpen: maxConnections,
		OnRefused: func(peer wire.Ref, messages int, why error) {
			n.log.Warn("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
			n.do(func() { o.members.PeerRefused(peer) })
		},
	})
	o.members = members.New(members.Config{
		Node: n.self, Policy: o.policy, Master: o.master, Heartbeat: o.heartbeat, Addrs: o.addrs, Links: o.links, Workers: o.workers,
		Now: o.clock.Now, Post: n.do, Log: n.log,
	})
	n.follower = membership.NewFollower(membership.FollowerOptions{
		Source: master, Wait: membershipWait, Margin: n.cfg.patience(),
		Retry: func(failures int) time.Duration { return time.Duration(backoff(failures)) },
		Apply: func(_ context.Context, m *wire.Membership) bool { return n.ask(func() { o.members.Apply(m) }) },
		Failed: func(err error, failures int) {
			if failures == 1 {
				n.log.Warn("the master does not answer with its membership; the last one holds", "error", err)
			}
		},
	})
	n.peers.sessions, n.peers.refreshNow = o.members.Sessions(), n.follower.RefreshNow
	n.peers.crowded = func() string {
		if o.crowded.Load() {
			return fmt.Sprintf("it keeps as many attempts or results as it may (%d attempts; max_results %d, max_result_bytes %d)", slots.MaxAttempts, n.cfg.MaxResults, n.cfg.MaxResultBytes)
		}
		return ""
	}
}

// watch opens the status page, when one is wanted.
func (n *NodeMonitor) watch() error {
	if n.cfg.HTTP == "" {
		return nil
	}
	n.status = telemetry.NewServer(telemetry.ServerOptions{Addr: n.cfg.HTTP, Gatherer: n.metrics.Registry, Ready: n.readiness, Logger: n.log})
	n.status.Handle("GET /status", telemetry.JSON(n.state))
	return n.status.Start()
}

// notify connects to NATS, when there is one.
func (n *NodeMonitor) notify(codec *wire.Codec) (err error) {
	if n.cfg.NATS == "" {
		return nil
	}
	if n.notices, err = openNotices(n.cfg, codec, n.applications.table.SetNotices, n.log); err != nil {
		return err
	}
	n.owner.workers.UseNotices(n.notices)
	n.owner.results.UseNotices(n.notices)
	n.metrics.watchNotices(n.notices.conn.Stats, n.notices.conn.Connected)
	if err := n.notices.waiting(n.applications.table.OthersWait); err != nil {
		return err
	}
	return n.notices.acknowledgements(func(b *wire.Batch) {
		// What finds no room is acknowledged again: the results are sent again.
		_ = n.peers.enter(event{kind: acknowledged, batch: b})
	})
}
