package master_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/master"
)

// Two masters on two machines that both have the default address, say: the second one ends with an error
// that says so, and does not take the leadership from the first, whose process lives. One that starts again
// at its address takes it from its former process.
func TestTwoMastersOfOneAddress(t *testing.T) {
	t.Parallel()
	store, log := leadershiptest.NewMemory(), &daemontest.Text{}
	start := func(listen string) *oneOf {
		t.Helper()
		c := master.Default()
		c.Listen, c.Advertise, c.HTTP, c.Leadership, c.NATS = listen, "localhost", "", daemon.JetStreamLeadership, "nats://127.0.0.1:1"
		own := &cuttable{Memory: store}
		d, err := master.NewDaemon(c, master.Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Leaderships: own})
		if err != nil {
			t.Fatal(err)
		}
		return &oneOf{d, own, daemontest.Begin(t, d)}
	}
	first := start("127.0.0.1:0")
	daemontest.Await(t, "the first master leads", first.Leads)
	before := master.Incarnation(first.Daemon)
	_, port, err := net.SplitHostPort(first.Addr())
	if err != nil {
		t.Fatal(err)
	}
	second := start(net.JoinHostPort("127.0.0.2", port))
	daemontest.Await(t, "the second master says why it ends", func() bool { return strings.Contains(log.String(), "the master ends") })
	if err := second.process.End(); err == nil || !strings.Contains(err.Error(), "another master leads at the address of this one, localhost:"+port) {
		t.Errorf("the second master ended with %v", err)
	}
	if !first.Leads() || master.Incarnation(first.Daemon) != before {
		t.Error("the first master does not lead any more")
	}
	first.store.keeps.Store(true)
	master.Crash(first.Daemon)
	if err := first.process.End(); err == nil {
		t.Fatal("the first master did not end")
	}
	again := start(first.Addr())
	daemontest.Await(t, "the restarted master leads", again.Leads)
	again.process.Stop()
}
