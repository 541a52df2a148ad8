package master

import (
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of the least time between two rolls, which grows with those who read each:
// while a cluster starts all its nodes say hello at once, and when its machines are
// overloaded nodes are lost and found all the time. What the roll costs then is a
// small share of one processor, whatever the size of the cluster.
const (
	rollEvery     = 20 * time.Millisecond
	rollEveryMost = time.Second
	rollForEach   = 2 * time.Millisecond // node or frontend
)

func (o *owner) rollInterval() time.Duration {
	peers := len(o.nodes) + len(o.frontends)
	return min(max(rollEvery, time.Duration(peers)*rollForEach), rollEveryMost)
}

// enrol puts the roll up when it has changed, at once after a quiet time.
func (o *owner) enrol() {
	if !o.rollChanged || o.rollDue {
		return
	}
	if wait := o.rollInterval() - time.Since(o.enrolled); wait > 0 {
		o.rollDue = true
		time.AfterFunc(wait, func() {
			o.urge(func() { o.rollDue = false }) // the flush that follows puts it up
		})
		return
	}
	o.rollChanged, o.enrolled = false, time.Now()
	o.board.put(o.rollNodes(), o.rollFrontends())
}

func (o *owner) rollNodes() []wire.MemberNode {
	list := make([]wire.MemberNode, 0, len(o.nodes))
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		n := o.nodes[name]
		list = append(list, wire.MemberNode{
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

func (o *owner) rollFrontends() []wire.MemberFrontend {
	list := make([]wire.MemberFrontend, 0, len(o.frontends))
	for _, name := range slices.Sorted(maps.Keys(o.frontends)) {
		if f := o.frontends[name]; !f.silent {
			list = append(list, wire.MemberFrontend{Name: f.id, Address: f.address, Incarnation: f.incarnation, Scheduler: f.scheduler})
		}
	}
	return list
}
