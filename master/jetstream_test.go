package master_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/master"
)

// jetStreamMaster is a master whose leadership is kept by the server at the URL.
func jetStreamMaster(t *testing.T, url string, change ...func(*master.Config)) *master.Daemon {
	t.Helper()
	c := settings()
	c.HTTP, c.Leadership, c.NATS, c.NATSReplicas = "", daemon.JetStreamLeadership, url, 1
	for _, set := range change {
		set(&c)
	}
	d, err := master.NewDaemon(c, master.Deps{Log: daemontest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// With JetStream one of two masters leads, each names the leader, and the other leads when
// that one stops, under a higher epoch.
func TestLeadershipInJetStream(t *testing.T) {
	url := natsservertest.Start(t, 1).URL()
	first := jetStreamMaster(t, url)
	process := daemontest.Run(t, first)
	daemontest.Await(t, "the first master leads", first.Leads)
	second := jetStreamMaster(t, url)
	daemontest.Run(t, second)
	daemontest.Await(t, "the second one knows who leads", func() bool { s, err := second.MasterState(t.Context()); return err == nil && s.Leader == first.Addr() })
	led, err := first.MasterState(t.Context())
	if err != nil || led.Role != api.Leader || led.Leader != first.Addr() || led.Epoch == 0 {
		t.Errorf("the leader: %+v, %v", led, err)
	}
	waits, err := second.MasterState(t.Context())
	if err != nil || waits.Role != api.Standby || second.Leads() {
		t.Errorf("the standby: %+v, %v", waits, err)
	}
	process.Stop()
	daemontest.Await(t, "the second master leads", second.Leads)
	if now, err := second.MasterState(t.Context()); err != nil || now.Role != api.Leader || now.Epoch <= led.Epoch {
		t.Errorf("after the takeover: %+v, %v, with epoch %d before", now, err, led.Epoch)
	}
}

// A permanent refusal of JetStream ends the master with the reason; it does not wait as
// a standby forever.
func TestRefusedLeadership(t *testing.T) {
	url := natsservertest.Start(t, 1).URL()
	daemontest.Run(t, jetStreamMaster(t, url, func(c *master.Config) { c.ClusterID = "one" }))
	other := jetStreamMaster(t, url, func(c *master.Config) { c.ClusterID = "two" })
	first := jetStreamMaster(t, url, func(c *master.Config) { c.ClusterID = "one" })
	process := daemontest.Run(t, first)
	daemontest.Await(t, "one of the masters knows the cluster", func() bool { s, err := first.MasterState(t.Context()); return err == nil && s.Leader != "" })
	err := daemontest.Begin(t, other).End()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("the master of another cluster ended with %v", err)
	}
	process.Stop()
}

// Settings that cannot work are refused by name.
func TestLeadershipSettings(t *testing.T) {
	for key, change := range map[string]func(*master.Config){
		"nats":       func(c *master.Config) { c.NATS = "" },
		"leader_ttl": func(c *master.Config) { c.LeaderTTL = 1 },
		"advertise":  func(c *master.Config) { c.Listen, c.Insecure = "0.0.0.0:20502", true },
		"masters":    func(c *master.Config) { c.Masters = []string{"a:1/a:1"} },
	} {
		c := settings()
		c.Leadership, c.NATS = daemon.JetStreamLeadership, "nats://a:1"
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if field, ok := errors.AsType[*config.FieldError](c.Validate()); !ok || field.Key != key {
			t.Errorf("%s: %v", key, c.Validate())
		}
		if c.Leadership = daemon.NoLeadership; key == "advertise" && c.Validate() != nil {
			t.Errorf("without leadership: %v", c.Validate())
		}
	}
	c := settings()
	c.Insecure, c.Listen, c.Advertise, c.Leadership, c.NATS = true, "0.0.0.0:20502", "host-1", daemon.JetStreamLeadership, "nats://a:1"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Advertise = "host-1:20502"
	if c.Validate() == nil {
		t.Error("a port in advertise")
	}
}

// A master whose group is led from an address that its settings do not list is of another
// cluster with the same name, and ends.
func TestTwoClustersWithOneName(t *testing.T) {
	store := leadershiptest.NewMemory()
	open := func(listen string, masters func(own string) string) *master.Daemon {
		c := settings()
		c.HTTP, c.Leadership, c.NATS, c.Listen = "", daemon.JetStreamLeadership, "nats://127.0.0.1:1", listen
		c.Masters = []string{masters(listen)}
		d, err := master.NewDaemon(c, master.Deps{Log: daemontest.Log(t), Leaderships: store})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	free := ports.Addresses(t, 3)
	first := open(free[0], func(own string) string { return own + "/" + free[1] })
	daemontest.Run(t, first)
	daemontest.Await(t, "the first master leads", first.Leads)
	daemontest.Run(t, open(free[1], func(own string) string { return free[0] + "/" + own }))
	err := daemontest.Begin(t, open(free[2], func(own string) string { return own })).End()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Invalid || !strings.Contains(err.Error(), "two clusters are named") {
		t.Errorf("the master of the other cluster ended with %v", err)
	}
}
