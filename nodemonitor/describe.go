package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// hello describes the node for its registration.
func (o *owner) hello(c Config) *wire.Hello {
	epoch, of := o.workers.Epoch()
	h := &wire.Hello{
		Sender: o.self, Incarnation: o.incarnation, Epoch: epoch, EpochOf: of, Address: o.address, Group: c.Group,
		Slots: o.workers.Describe(true), Serves: o.workers.Serves(), Memory: c.memory(), Host: c.host(o.address),
	}
	if o.members != nil {
		h.Highest = o.members.Highest()
	}
	return h
}

// snapshot describes the slots for a heartbeat.
func (o *owner) snapshot() *wire.Snapshot {
	epoch, _ := o.workers.Epoch()
	return &wire.Snapshot{Sender: o.self, Incarnation: o.incarnation, Epoch: epoch, Slots: o.workers.Describe(false)}
}
