package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// registrationSource describes the node from its owner goroutine.
type registrationSource struct{ n *NodeMonitor }

var _ registration.Source = registrationSource{}

// Hello implements registration.Source.
func (s registrationSource) Hello(fresh bool) (h *wire.Hello, ok bool) {
	n := s.n
	ok = n.call(func() {
		if fresh {
			n.owner.workers.Outbox().ForgetMaster()
			n.link.Reset(0)
			n.owner.former.describes(n.owner.registeredWith)
		}
		h = n.hello()
	})
	return h, ok
}

// Accepted implements registration.Source.
func (s registrationSource) Accepted(r *wire.HelloReply) (err error, ok bool) {
	ok = s.n.call(func() {
		o := s.n.owner
		if err = o.workers.Registered(r.Epoch, r.Incarnation, r.Numbers); err == nil {
			o.numbered.Store(true)
			s.n.restart.accepted(s.n)
		}
		if err == nil {
			another := o.registeredWith != r.Incarnation
			o.masterAccepted(r.Incarnation)
			if another {
				o.inventories.AllDue()
			}
		}
	})
	return err, ok
}

// Snapshot implements registration.Source.
func (s registrationSource) Snapshot() (v *wire.Snapshot, ok bool) {
	ok = s.n.call(func() { v = s.n.snapshot() })
	return v, ok
}

// hello describes the node for its registration. It runs on the owner goroutine.
func (n *NodeMonitor) hello() *wire.Hello {
	w := n.owner.workers
	epoch, of := w.Epoch()
	h := &wire.Hello{
		Sender: n.self.Ref, Incarnation: n.self.Incarnation, Epoch: epoch, EpochOf: of, Address: n.self.Address, Group: n.cfg.Group,
		Slots: w.Describe(true), Serves: w.Serves(), Memory: n.cfg.memory(), Host: n.cfg.host(n.self.Address),
		Policy: n.cfg.Policy, Version: daemon.Version(), Features: daemon.Features(),
	}
	h.Continues, h.Complete = n.restart.continues, n.restart.complete
	h.Draining, _ = w.Draining()
	h.StopsWhenEmpty, h.DiskFault = n.owner.stopping, n.shownFault()
	h.Present = n.backends.Applications().Present()
	if n.owner.members != nil {
		h.Highest = n.owner.members.Highest()
	}
	return h
}

// snapshot describes the slots for a heartbeat. It runs on the owner goroutine.
func (n *NodeMonitor) snapshot() *wire.Snapshot {
	w := n.owner.workers
	epoch, _ := w.Epoch()
	s := &wire.Snapshot{Sender: n.self.Ref, Incarnation: n.self.Incarnation, Epoch: epoch, Slots: w.Describe(false)}
	s.ListsKept = w.ListKept(s.Slots)
	s.Draining, _ = w.Draining()
	s.StopsWhenEmpty, s.DiskFault = n.owner.stopping, n.shownFault()
	s.Present = n.backends.Applications().Present()
	return s
}
