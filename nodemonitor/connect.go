package nodemonitor

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// connect makes the ways to the master, to other daemons and to NATS.
func (n *NodeMonitor) connect(codec *wire.Codec) (err error) {
	o := n.owner
	if n.master, err = client.New(client.Options{Name: fmt.Sprintf("master of group %d", n.cfg.Group), Address: n.cfg.Master, MaxConns: 4, MaxFrame: 8 << 20}); err != nil {
		return err
	}
	peer := wire.NewPeerClient(n.master, codec)
	n.member = newMember(n.cfg, n.log, peer, ownerDesk{n}, n.fail)
	o.changed = n.member.changed
	n.link, err = link.New(peer, link.Options{
		Self: n.self, Peer: o.masterRef, Address: o.address, Incarnation: n.incarnation, MaxItems: 100_000, MaxBytes: 64 << 20, Probe: -1,
		OnReincarnation: func(int64, int64) { n.member.reborn() },
		OnRefused: func(items int, why error) {
			n.log.Warn("the master did not take messages; registering again", "messages", items, "error", why)
			n.member.reborn()
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

// maxWays is how many connections to frontends and other nodes a node keeps: it may
// speak to all of them, and does to each of its fellows seldom (policy hawk).
const maxWays = 32

// connectPeers makes the links to frontends and other nodes, which the roll names.
func (n *NodeMonitor) connectPeers(codec *wire.Codec, master wire.MembershipSource) {
	o := n.owner
	o.roll = newRoll()
	o.links = linkset.New(linkset.Options{
		Self: n.self, Address: o.address, Incarnation: n.incarnation, Codec: codec, Log: n.log, Probe: -1, MaxOpen: maxWays,
		OnRefused: func(peer wire.Ref, messages int, why error) {
			n.log.Warn("messages were not taken by a peer", "peer", peer.String(), "messages", messages, "error", why)
			n.do(func() { o.peerRefused(peer) })
		},
	})
	n.follower = newFollower(n.log, master, n.cfg.patience(), func(r *wire.Membership) bool {
		return n.ask(func() { o.enlist(r) })
	})
	n.peers.roll, n.peers.hurry = o.roll, n.follower.hurry
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
