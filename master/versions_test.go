package master_test

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A node of a version that does not know how this master launches tasks receives such a
// message once. The task is not lost: it waits, and another node runs it.
func TestNodeThatDoesNotKnowAKind(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	old := daemontest.EarlierNode(t, "old", m.Addr(), sched.Launch)
	idle := func() []wire.Slot { return daemontest.Slots(1, 1) }
	old.Register(wire.Hello{Slots: idle()})
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

// A daemon whose version is more than one minor version away is refused with the reason and
// shown with it; the answer states the master's version.
func TestVersionsNextToEachOther(t *testing.T) {
	process, err := master.New(settings(), daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	master.SetVersion(process, "v1.4.0 0123456789ab")
	m := &rig{t: t, Master: process, process: daemontest.Run(t, process)}
	m.client = daemontest.Dial(t, m.Addr(), daemontest.Codec())
	for name, c := range map[string]struct {
		version string
		fits    bool
	}{"same": {"v1.4.7", true}, "next": {"v1.5.0", true}, "before": {"v1.3.2", true}, "development": {"(devel)", true}, "silent": {"", true}, "far": {"v1.6.0", false}, "old": {"v1.2.9", false}} {
		n := daemontest.Node(t, name, m.Addr())
		r := n.Hello(wire.Hello{Slots: daemontest.Slots(1, 1), Version: c.version})
		if r.Accepted != c.fits || r.Version != "v1.4.0 0123456789ab" || len(r.Features) == 0 {
			t.Errorf("a node of version %q is answered %+v", c.version, r)
		}
		if !c.fits && (!strings.Contains(r.Problem, c.version) || !strings.Contains(r.Problem, "one minor version at a time")) {
			t.Errorf("a node of version %q is refused: %s", c.version, r.Problem)
		}
	}
	s := m.state()
	for _, n := range s.Departed {
		if n.Version != "v1.6.0" && n.Version != "v1.2.9" || !strings.Contains(n.Reason, "more than one minor version apart") {
			t.Errorf("%+v is shown", n)
		}
	}
	if len(s.Nodes) != 5 || len(s.Departed) != 2 {
		t.Errorf("%d nodes are registered, %d are not", len(s.Nodes), len(s.Departed))
	}
	if refused := master.RefusedHellos(m.Master, "version"); refused != 2 {
		t.Errorf("%v hellos were refused for their version", refused)
	}
}
