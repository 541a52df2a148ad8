package frontend

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// knowMasters makes the connections to the masters; the first call dials.
func (f *Frontend) knowMasters() error {
	for g, address := range f.cfg.Masters {
		pool, err := client.New(client.Options{Name: fmt.Sprintf("master of group %d", g), Address: address, MaxConns: 8, BackoffMax: 200 * time.Millisecond})
		if err != nil {
			return fmt.Errorf("masters: the address %q of group %d: %w", address, g, err)
		}
		f.life.OnClose(pool.Close)
		f.masters = append(f.masters, &master{group: g, address: address, peer: wire.NewPeerClient(pool, f.codec), lastHeard: time.Now(), contact: protocol.NewContact(f.owner.clock.Now())})
	}
	f.owner.masters = f.masters
	return nil
}

// openLinks makes the queues of messages to the masters.
func (f *Frontend) openLinks() error {
	for _, m := range f.masters {
		l, err := link.New(m.peer, link.Options{
			Self: f.self, Peer: addrmap.MasterRef(m.group), Address: f.owner.internal, Incarnation: f.incarnation, Probe: -1,
			OnState: func(s link.State) { f.log.Info("way to a master", "group", m.group, "state", s.String()) },
			OnRefused: func(n int, why error) {
				_ = f.urge(func() { f.owner.refusedBy(m, n, why) })
			},
		})
		if err != nil {
			return err
		}
		m.out = l
		f.life.OnClose(l.Close)
	}
	return nil
}

// refusedBy takes a master's word that it will never take some messages: the next
// hello registers this frontend anew, and what the master should hold is sent
// again.
func (o *owner) refusedBy(m *master, messages int, why error) {
	o.log.Error("a master refused messages", "group", m.group, "messages", messages, "error", why)
	m.incarnation = 0
}

// refusedByPeer takes a peer's word that it will never take some messages. What
// they had told a node nobody knows: it passes for lost, and a moment later for
// new.
func (o *owner) refusedByPeer(peer wire.Ref, messages int, why error) {
	o.log.Error("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
	n := o.peers.nodes[peer.Name]
	if peer.Role != sched.Worker || n == nil || n.excluded {
		return
	}
	n.excluded = true
	o.peers.links.Reset(peer)
	o.stepMembers()
	time.AfterFunc(excludedFor, func() {
		_ = o.urge(func() { // a stopped daemon has no peers
			n.excluded = false
			o.stepMembers()
		})
	})
}

// openLinkSet makes the ways to nodes and other frontends, which are opened as they
// are needed.
func (f *Frontend) openLinkSet() *linkset.Set {
	return linkset.New(linkset.Options{
		Self: f.self, Address: f.owner.internal, Incarnation: f.incarnation, Codec: f.codec, Log: f.log, Probe: -1,
		OnState: func(peer wire.Ref, s link.State) {
			f.log.Info("way to a peer", "peer", peer.String(), "state", s.String())
		},
		OnRefused: func(peer wire.Ref, n int, why error) {
			_ = f.urge(func() { f.owner.refusedByPeer(peer, n, why) })
		},
	})
}
