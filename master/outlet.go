package master

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// outlet is the way to one peer, for as long as the peer keeps its address: the
// link numbers its batches within this process, so a peer that registers again
// gets the same link, reset. Owned by the owner goroutine.
type outlet struct {
	peer    wire.Ref
	address string
	link    *link.Link
	pool    *client.Pool
	pending []wire.Item // of the batch being handled
}

// flush queues what the batch decided for the peer.
func (out *outlet) flush(log *slog.Logger) {
	items := out.pending
	out.pending = nil
	if err := out.link.Send(items...); err != nil && !errors.Is(err, link.ErrStale) && !errors.Is(err, link.ErrClosed) {
		log.Error("messages were not taken by a link", "peer", out.peer.String(), "messages", len(items), "problem", err)
	}
}

// discard drops what the peer of that incarnation was not sent yet.
func (out *outlet) discard(incarnation int64) {
	out.pending = nil
	out.link.Reset(incarnation)
}

// shut ends the way; it returns when its goroutine is gone.
func (out *outlet) shut() error { return errors.Join(out.link.Close(), out.pool.Close()) }

// open gives the outlet to a peer that has just registered, empty.
func (m *Master) open(peer wire.Ref, address string, incarnation int64) (*outlet, error) {
	out := m.outlets[peer]
	if out != nil && out.address != address {
		if err := out.shut(); err != nil {
			m.log.Warn("closing the way to a peer's former address", "peer", peer.String(), "problem", err)
		}
		out = nil
	}
	if out == nil {
		var err error
		if out, err = m.dial(peer, address); err != nil {
			return nil, err
		}
		m.outlets[peer] = out
	}
	out.discard(incarnation)
	return out, nil
}

func (m *Master) dial(peer wire.Ref, address string) (*outlet, error) {
	pool, err := client.New(client.Options{Name: peer.String(), Address: address, MaxConns: 2})
	if err != nil {
		return nil, fmt.Errorf("%s gave the address %q, which cannot be called back: %w", peer, address, err)
	}
	l, err := link.New(wire.NewPeerClient(pool, m.codec), link.Options{
		Self: m.self, Peer: peer, Address: m.server.Addr().String(), Incarnation: m.incarnation,
		Epoch: m.epoch.Load, LostAfter: m.cfg.LostAfter,
		OnState:         func(s link.State) { m.urge(func() { m.owner.linkState(peer, s) }) },
		OnReincarnation: func(_, now int64) { m.log.Info("a peer was restarted", "peer", peer.String(), "incarnation", now) },
		OnRefused: func(n int, why error) {
			m.urge(func() { m.owner.refusedBy(peer, n, why) })
		},
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &outlet{peer: peer, address: address, link: l, pool: pool}, nil
}
