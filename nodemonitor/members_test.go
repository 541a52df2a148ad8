package nodemonitor

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// missing reports whether a frontend is missing from the membership and still current.
func missing(o *owner) bool {
	_, some := o.members.Sessions().Next()
	return some
}

// TestNodeRestarts: a node that comes back is another one to its peers, with other
// workers; messages of its former process that are still in transit are ignored.
func TestNodeRestarts(t *testing.T) {
	w, _ := newPeerWorld(t)
	list := w.under("hawk", func(c *Config) { c.Slots = 1 }, "n1", "n2")
	stays, leaves := list[0], list[1]
	stays.until("it knows both", func(o *owner) bool { return len(o.members.Known()) == 2 })
	former := leaves.self.Incarnation
	if err := leaves.stop(); err != nil {
		t.Fatal(err)
	}
	again := w.under("hawk", func(c *Config) { c.Slots = 1 }, "n2")[0]
	stays.until("it knows the new process", func(o *owner) bool {
		return o.members.Sessions().Status(again.ref, again.self.Incarnation) == protocol.Current && len(o.members.Known()) == 2 && o.members.Known()[1].Worker.ID == 2
	})
	b := &wire.Batch{Sender: again.ref, Receiver: stays.ref, Incarnation: former, Sequence: 99, Items: []wire.Item{{From: again.ref, To: stays.ref, Msg: sched.Message{Kind: sched.Steal}}}}
	if r, err := stays.peer.Deliver(t.Context(), b); err != nil || r.Problem != "" || r.Sequence != 99 {
		t.Errorf("a batch of the former process was answered %+v, %v", r, err)
	}
	stays.look(func(o *owner) {
		at, _ := o.addrs.Find(again.ref)
		if at.ID != 2 {
			t.Errorf("the new worker is %v", at)
		}
	})
}
