package dispatch

import (
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// connect creates the connections to the masters; the first call dials.
func (s *masters) connect() error {
	for g, address := range s.opts.Masters {
		peer, err := leaders.New(address, client.Options{Name: fmt.Sprintf("master of group %d", g), MaxConns: 8, BackoffMax: 200 * time.Millisecond, Closed: s.opts.Closed, Security: s.opts.Life.To(addrmap.MasterRef(g))}, s.opts.Codec)
		if err != nil {
			return fmt.Errorf("masters: the address %q of group %d: %w", address, g, err)
		}
		m := &master{group: g, address: address, peer: peer, lastHeard: time.Now(), reach: newReachability(), departed: newDepartures(s.process.Incarnation, s.opts.Clock.Now), contact: protocol.NewContact(s.opts.Clock.Now())}
		m.heartbeat = s.newHeartbeat(m)
		s.list = append(s.list, m)
	}
	return nil
}

// openLinks opens the links to the masters.
func (s *masters) openLinks() error {
	for _, m := range s.list {
		l, err := link.New(m.peer, link.Options{
			Self: s.opts.Self, Peer: addrmap.MasterRef(m.group), Address: s.process.Internal, Incarnation: s.process.Incarnation, Probe: -1,
			OnState: func(state link.State) {
				s.opts.Log.Info("link to a master", "group", m.group, "state", state.String())
				if state.Status == link.Down && m.peer.Several() {
					m.heartbeat.BeatNow() // another one may lead
				}
			},
			OnUnknown: func(items []wire.Item) { s.withheld(addrmap.MasterRef(m.group), items) },
			OnRefused: func(n int, why error) {
				s.post(func() { s.refusedBy(m, n, why) })
			},
		})
		if err != nil {
			return err
		}
		m.out = l
	}
	return nil
}

// refusedBy is called when a master has refused messages for good. The next hello
// registers this frontend again, and the tasks that the master should hold are resent.
func (s *masters) refusedBy(m *master, messages int, why error) {
	s.opts.Log.Error("a master refused messages", "group", m.group, "messages", messages, "error", why)
	m.incarnation = 0
}

func (s *masters) closeLinks() (err error) {
	for _, m := range s.list {
		if m.out != nil {
			err = errors.Join(err, m.out.Close())
		}
	}
	return err
}

func (s *masters) close() (err error) {
	for _, m := range s.list {
		err = errors.Join(err, m.peer.Close())
	}
	return err
}

// flush sends the messages that were queued during a batch.
func (s *masters) flush() {
	for _, m := range s.dirty {
		m.flush(s.opts.Log)
	}
	s.dirty = s.dirty[:0]
}
