package master_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A master whose leadership is over launches nothing, whatever it steps, and messages queued
// in a link are not sent any more either; it answers as a standby.
func TestNothingLeavesAFormerLeader(t *testing.T) {
	t.Parallel()
	p := &pair{t: t, policy: "pigeon"}
	m := p.master(leadershiptest.NewMemory(), "127.0.0.1:0")
	daemontest.Await(t, "the master leads", m.Leads)
	n, f := daemontest.Node(t, "n", m.Addr()), daemontest.Frontend(t, "f", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(8, 1), Serves: []string{""}})
	f.Register(wire.Hello{})
	tasks := func(job uint64) wire.Item {
		it := daemontest.Tasks(job, 1)
		it.From = f.Ref
		return it
	}
	master.Receive(m.Daemon, tasks(1)) // while it leads
	n.AwaitGot(sched.Launch, 1)

	n.Close() // tasks launched now wait in the link
	master.Receive(m.Daemon, tasks(2))
	m.store.cut.set(errCut)
	master.Pause(m.Daemon)
	master.Receive(m.Daemon, tasks(3))
	n.Reopen()
	if r, err := n.Master().Snapshot(t.Context(), &wire.Snapshot{Sender: n.Ref, Incarnation: n.Incarnation}); err != nil || !r.Standby || r.Known {
		t.Errorf("a snapshot is answered %+v, %v", r, err)
	}
	if r, err := n.Master().Hello(t.Context(), &wire.Hello{Sender: n.Ref, Incarnation: n.Incarnation, Address: n.Address()}); err != nil || !r.Standby || r.Accepted {
		t.Errorf("a hello is answered %+v, %v", r, err)
	}
	if _, err := f.Master().Deliver(t.Context(), &wire.Batch{Sender: f.Ref, Incarnation: f.Incarnation, Sequence: 99}); err == nil {
		t.Error("a batch was accepted")
	}
	if _, err := f.Master().Membership(t.Context(), 0, 0, 0); err == nil {
		t.Error("the membership was answered")
	}
	m.process.Stop() // its links have ended: their messages are dropped
	if got := n.Got(sched.Launch); len(got) != 1 || got[0].Msg.Job != tasks(1).Msg.Job {
		for _, it := range got {
			t.Errorf("launched: %v", it.Msg.Job)
		}
	}
}
