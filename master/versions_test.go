package master_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A node of a version that does not know how this master launches tasks receives such a
// message once. The task is not lost: it waits, and another node runs it.
func TestNodeThatDoesNotKnowAKind(t *testing.T) {
	m := start(t, settings())
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	old := daemontest.EarlierNode(t, "old", m.Addr(), sched.Launch)
	idle := func() []wire.Slot { return daemontest.Slots(1, 1) }
	old.Register(wire.Hello{Slots: idle()})
	alive(t, old, idle)
	f.Send(daemontest.Tasks(1, 1))
	m.await("the launch is refused and the task waits", func(s api.MasterState) bool { return s.RefusedLaunch == 1 && s.QueuedShort == 1 })
	next := daemontest.Node(t, "next", m.Addr())
	next.Register(wire.Hello{Slots: idle()})
	if l := next.AwaitGot(sched.Launch, 1)[0].Msg; l.Job.Lo != 1 || l.First != 0 {
		t.Errorf("the other node received %s", sched.Describe(&l))
	}
	if n := old.Unknown.Load(); n != 1 {
		t.Errorf("the first node received %d messages that it does not know, want one", n)
	}
}
