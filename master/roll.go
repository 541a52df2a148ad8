package master

import (
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rollEvery is the least time between two rolls: while a cluster starts, all its
// nodes say hello at once, and everybody reads each roll.
const rollEvery = 20 * time.Millisecond

// enrol puts the roll up when it has changed, at once after a quiet time.
func (o *owner) enrol() {
	if !o.rollChanged || o.rollDue {
		return
	}
	if since := time.Since(o.enrolled); since < rollEvery {
		o.rollDue = true
		time.AfterFunc(rollEvery-since, func() {
			o.urge(func() { o.rollDue = false }) // the flush that follows puts it up
		})
		return
	}
	o.rollChanged, o.enrolled = false, time.Now()
	o.board.put(o.rollNodes(), o.rollFrontends())
}

func (o *owner) rollNodes() []wire.RollNode {
	list := make([]wire.RollNode, 0, len(o.nodes))
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		n := o.nodes[name]
		list = append(list, wire.RollNode{
			Name: n.id, Address: n.address, Incarnation: n.incarnation, Numbers: o.rollNumbers(n), Memory: n.memory, Host: n.host,
		})
	}
	return list
}

// rollNumbers are those of a node's workers, by slot.
func (o *owner) rollNumbers(n *node) []int32 {
	if !o.rules.numbered || len(n.slots) == 0 {
		return nil
	}
	slots := sortedSlots(n.slots)
	list := make([]int32, slots[len(slots)-1]+1)
	for _, slot := range slots {
		list[slot] = n.slots[slot].worker.ID + 1
	}
	return list
}

func (o *owner) rollFrontends() []wire.RollFrontend {
	list := make([]wire.RollFrontend, 0, len(o.frontends))
	for _, name := range slices.Sorted(maps.Keys(o.frontends)) {
		if f := o.frontends[name]; !f.silent {
			list = append(list, wire.RollFrontend{Name: f.id, Address: f.address, Incarnation: f.incarnation, Scheduler: f.scheduler})
		}
	}
	return list
}
