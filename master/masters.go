package master

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// greetEvery is how often masters that help each other say hello.
const greetEvery = time.Second

// missedToLoss is how many hellos in a row must fail at least before another master
// is lost: time alone also passes while this process does not run.
const missedToLoss = 3

// neighbour is the master of another group, where groups help each other. Owned by
// the owner goroutine, but for group, address, peer and pool, which never change.
type neighbour struct {
	group       int
	address     string
	pool        *client.Pool
	peer        *wire.PeerClient
	incarnation int64 // 0: never reached
	up          bool  // the core was told that it is up
	heard       time.Time
	missed      int // hellos in a row without an answer
}

func (b *neighbour) addr() sched.Addr {
	return sched.Addr{Role: sched.Master, ID: int32(b.group)} //nolint:gosec // 15 bits
}

// meetNeighbours makes the ways on which the other masters are greeted.
func (m *Master) meetNeighbours() error {
	if !m.owner.rules.helping {
		return nil
	}
	for group, address := range m.cfg.Masters {
		if group == m.cfg.Group {
			continue
		}
		b := &neighbour{group: group, address: address, heard: time.Now()}
		var err error
		if b.pool, err = client.New(client.Options{Name: addrmap.MasterRef(group).String(), Address: address, MaxConns: 1, BackoffMax: 200 * time.Millisecond}); err != nil {
			return fmt.Errorf("the master of group %d cannot be reached at %q: %w", group, address, err)
		}
		b.peer = wire.NewPeerClient(b.pool, m.codec)
		m.owner.neighbours = append(m.owner.neighbours, b)
	}
	return nil
}

// greet says hello to one other master for as long as the daemon runs.
func (m *Master) greet(ctx context.Context, b *neighbour) {
	tick := time.NewTicker(greetEvery)
	defer tick.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, greetEvery)
		reply, err := b.peer.Hello(call, &wire.Hello{
			Sender: m.self, Incarnation: m.incarnation, Address: m.server.Addr().String(), Group: b.group,
		})
		cancel()
		switch {
		case err == nil && !reply.Accepted:
			err = fmt.Errorf("it refuses this master: %s", reply.Problem)
		case err == nil && reply.Group != b.group:
			err = fmt.Errorf("it is of group %d, the configuration has it at place %d of masters", reply.Group, b.group)
		}
		m.urge(func() { m.owner.greeted(b, reply, err) })
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// greeted takes the outcome of one hello to another master.
func (o *owner) greeted(b *neighbour, reply wire.HelloReply, err error) {
	now := time.Now()
	if err != nil {
		b.missed++
		if b.missed == 1 {
			o.log.Debug("another master did not answer hello", "of", b.group, "address", b.address, "error", err)
		}
		if b.up && b.missed >= missedToLoss && now.Sub(b.heard) >= o.cfg.MasterLost {
			b.up = false
			o.log.Warn("another master is lost; nothing goes there", "of", b.group, "address", b.address, "error", err)
			o.links.Remove(addrmap.MasterRef(b.group))
			o.stepShell(&sched.Message{Kind: sched.MasterLost, Peer: b.addr()})
		}
		return
	}
	b.heard, b.missed = now, 0
	if b.up && b.incarnation == reply.Incarnation {
		return
	}
	o.log.Info("another master is reached", "of", b.group, "address", b.address)
	o.links.Add(addrmap.MasterRef(b.group), b.address, reply.Incarnation)
	b.up, b.incarnation = true, reply.Incarnation
	o.stepShell(&sched.Message{Kind: sched.MasterUp, Peer: b.addr(), Serves: reply.Serves})
}

// helloMaster answers another master, which learns from it that this one is up.
// What this one knows of it comes from its own greeting.
func (o *owner) helloMaster(h *wire.Hello) wire.HelloReply {
	switch known := slices.ContainsFunc(o.neighbours, func(b *neighbour) bool { return addrmap.MasterRef(b.group) == h.Sender }); {
	case !o.rules.helping:
		return o.welcome(fmt.Sprintf("under policy %s masters do not know each other, and %s says hello; give all daemons of a cluster one policy", o.rules.name, h.Sender))
	case !known:
		return o.welcome(fmt.Sprintf("%s at %s says hello and is none of the other masters configured here; give all masters the same list", h.Sender, h.Address))
	default:
		return o.welcome("")
	}
}

// neighbour returns the other master that a batch comes from, if it is the process
// that was met.
func (o *owner) neighbour(b *wire.Batch) (sched.Addr, bool) {
	for _, n := range o.neighbours {
		if addrmap.MasterRef(n.group) == b.Sender.Daemon() {
			return n.addr(), n.up && n.incarnation == b.Incarnation
		}
	}
	return sched.Addr{}, false
}
