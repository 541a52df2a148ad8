package master_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// While a job waits, idle workers that serve other applications, or whose nodes drain or cannot be
// reached, are not shown as idle for it: nothing but their absence makes it wait.
func TestIdleForAJob(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	serving := func(slot int32, app string) wire.Slot {
		return wire.Slot{Slot: slot, Seq: 1, Serves: []string{app}, Fixed: app != ""}
	}
	n := daemontest.Node(t, "busy", m.Addr())
	n.Register(wire.Hello{Slots: []wire.Slot{serving(0, ""), serving(1, "other")}})
	drains := daemontest.Node(t, "drains", m.Addr())
	drains.Register(wire.Hello{Slots: daemontest.Slots(2, 1), Draining: true})
	silent := daemontest.Node(t, "silent", m.Addr())
	silent.Register(wire.Hello{Slots: daemontest.Slots(3, 1)})
	silent.Close()
	m.await("one node cannot be reached", func(s api.MasterState) bool { return len(s.Nodes) == 3 && s.Nodes[2].State == api.StateUnreachable })
	waits := daemontest.Tasks(1, 2)
	f.Send(waits)
	n.AwaitGot(sched.Launch, 1)
	m.await("one task waits", func(s api.MasterState) bool { return s.QueuedShort == 1 })
	for app, want := range map[string]api.GroupShare{"": {Serving: 1}, "other": {Serving: 1, IdleGeneral: 1}, "none": {}} {
		v, err := m.client.JobView(t.Context(), waits.Msg.Job, app)
		if err != nil || v.Share.Serving != want.Serving || v.Share.IdleGeneral != want.IdleGeneral || v.Share.IdleReserve != 0 {
			t.Errorf("for application %q: %+v, %v", app, v.Share, err)
		}
	}
	if s := m.state(); s.Workers != 7 || s.BusyGeneral != 1 || s.IdleGeneral != 1 || s.BusyReserved+s.IdleReserved != 0 {
		t.Errorf("the group is %+v", s)
	}
}
