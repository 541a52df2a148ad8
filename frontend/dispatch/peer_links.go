package dispatch

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// refusedBy is called when a peer has refused messages for good. If it is a node, it may
// have missed any of them: it counts as lost, and after excludedFor as new.
func (p *peers) refusedBy(peer wire.Ref, messages int, why error) {
	p.opts.Log.Error("a peer refused messages", "peer", peer.String(), "messages", messages, "error", why)
	n := p.nodes[peer.Name]
	if peer.Role != sched.Worker || n == nil || n.excluded {
		return
	}
	n.excluded = true
	p.links.Reset(peer)
	p.stepMembers()
	time.AfterFunc(excludedFor, func() {
		p.post(func() { // a stopped daemon has no peers
			n.excluded = false
			p.stepMembers()
		})
	})
}

// openLinks makes the set of links to nodes and other frontends. Each link is opened when
// it is first used.
func (p *peers) openLinks() {
	p.links = link.NewSet(link.SetOptions{
		Self: p.opts.Self, Address: p.process.Internal, Incarnation: p.process.Incarnation, Codec: p.opts.Codec, Log: p.opts.Log, Probe: -1, Closed: p.opts.Closed, Security: p.opts.Life.To,
		OnState: func(peer wire.Ref, s link.State) {
			p.opts.Log.Info("link to a peer", "peer", peer.String(), "state", s.String())
		},
		OnUnknown: p.withheld,
		OnRefused: func(peer wire.Ref, n int, why error) {
			p.post(func() { p.refusedBy(peer, n, why) })
		},
	})
}

func (p *peers) close() error {
	if p.links == nil {
		return nil
	}
	return p.links.Close()
}
