package master_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Nodes and frontends that are gone are forgotten, with the links to them; one that returns
// registers as at first.
func TestGonePeersAreForgotten(t *testing.T) {
	t.Parallel()
	cfg := settings()
	cfg.LostAfter = 100 * time.Millisecond
	m, err := master.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	master.ForgetAfter(m, 200*time.Millisecond)
	daemontest.Run(t, m)
	f := daemontest.Frontend(t, "f", m.Addr())
	first := f.Register(wire.Hello{Token: 7})
	f.Send(daemontest.Tasks(1, 1))
	for i := range 20 {
		n := daemontest.Node(t, fmt.Sprint("n", i), m.Addr())
		n.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
		n.Send()
	}
	daemontest.Await(t, "all are forgotten", func() bool { links, senders := master.Known(m); return links == 0 && senders == 0 })
	again := f.Hello(wire.Hello{Token: 3}) // the store of leaderships was made anew
	if !again.Accepted {
		t.Errorf("a frontend that was forgotten is refused for a token of its former life: %s", again.Problem)
	}
	if again.Registration == first.Registration {
		t.Error("a frontend that was forgotten is not told that its messages were dropped")
	}
}
