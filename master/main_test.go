package master_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// TestMain makes the test binary its own guard of exec tasks.
func TestMain(m *testing.M) {
	guard.Register()
	goleak.VerifyTestMain(m)
}

// rig is a master that runs.
type rig struct {
	t testing.TB
	*master.Master
	process *daemontest.Process
	client  *wire.PeerClient
}

// settings are those of a master for tests: it loses nodes quickly, and all slots
// are general.
func settings() master.Config {
	c := master.Default()
	c.Policy = "pigeon"
	c.Listen, c.Reserved, c.LostAfter, c.MasterLost = "127.0.0.1:0", 0, 300*time.Millisecond, patient()
	return c
}

func start(t testing.TB, cfg master.Config) *rig {
	t.Helper()
	m, err := master.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Master: m, process: daemontest.Run(t, m)}
	r.client = daemontest.Dial(t, m.Addr(), daemontest.Codec())
	return r
}

func (r *rig) state() api.MasterState {
	r.t.Helper()
	s, err := r.client.MasterState(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// await waits until the master's own figures are as wanted.
func (r *rig) await(what string, holds func(api.MasterState) bool) {
	r.t.Helper()
	daemontest.Await(r.t, what, func() bool { return holds(r.state()) })
}

// alive sends heartbeats of a node until the test ends, saying each time what its
// slots do.
func alive(t testing.TB, p *daemontest.Peer, slots func() []wire.Slot) (stop func()) {
	t.Helper()
	end, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = p.Master().Snapshot(t.Context(), &wire.Snapshot{Sender: p.Ref, Incarnation: p.Incarnation, Slots: slots()}) // a test looks at the master
			case <-end:
				return
			}
		}
	}()
	stop = func() {
		select {
		case <-end:
		default:
			close(end)
		}
		<-gone
	}
	t.Cleanup(stop)
	return stop
}

// awaitServes waits until the last that the frontend received of the group is that it
// serves these applications.
func awaitServes(t testing.TB, f *daemontest.Peer, apps ...string) {
	t.Helper()
	daemontest.Await(t, fmt.Sprintf("the group serves %q", apps), func() bool {
		got := f.Got(sched.Serves)
		return len(got) > 0 && slices.Equal(got[len(got)-1].Msg.Serves, apps)
	})
}

// from is a message of a node's slot.
func from(p *daemontest.Peer, slot int32, m sched.Message) wire.Item {
	ref := p.Ref
	ref.Slot = slot
	return wire.Item{From: ref, Msg: m}
}
