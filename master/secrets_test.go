package master_test

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A launch carries the secret of its attempt and not the key of its job.
func TestLaunchesCarryTheirSecret(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(2, 1)})
	key, tasks := launchsecret.JobKey{Hi: 1, Lo: 2}, daemontest.Tasks(1, 2)
	tasks.ReportKey = key
	f.Send(tasks)
	for _, l := range n.AwaitGot(sched.Launch, 2) {
		if want := key.Attempt(l.Msg.First, l.Msg.Attempt); l.Secret != want || l.ReportKey != (launchsecret.JobKey{}) {
			t.Errorf("task %d is launched with the secret %d and the key %v, want %d and none", l.Msg.First, l.Secret, l.ReportKey, want)
		}
	}
}

// A master states that launch secrets are known while all its nodes know them.
func TestFeaturesOfNodes(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	known := func() bool { return slices.Contains(f.Register(wire.Hello{}).Features, daemon.LaunchSecrets) }
	if !known() {
		t.Error("a master without nodes does not state it")
	}
	next := daemontest.Node(t, "next", m.Addr())
	next.Register(wire.Hello{Slots: daemontest.Slots(1, 1), Features: daemon.Features()})
	if !known() {
		t.Error("a master whose nodes all know them does not state it")
	}
	old := daemontest.Node(t, "old", m.Addr())
	old.Register(wire.Hello{Slots: daemontest.Slots(1, 1)})
	if known() {
		t.Error("a master with a node of an earlier version states it")
	}
}
