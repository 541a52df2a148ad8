package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// soundCluster is one in which nothing is wrong.
func soundCluster() *Cluster {
	return &Cluster{
		Frontends: []Frontend{{Address: "f0:1"}, {Address: "f1:1", Standby: true}},
		Groups: []api.MasterState{{
			Master:    &api.DaemonState{State: api.StateUp, Address: "m:1", Version: "v1"},
			Frontends: []api.DaemonState{{Name: "f0", State: api.StateUp, Version: "v1"}},
			Nodes:     []api.Node{{ID: "n0", State: api.StateUp, Slots: 4, Version: "v1"}, {ID: "n1", State: api.StateDraining, Version: "v1"}},
		}},
	}
}

// A cluster of one has no plurals.
func TestSingularCluster(t *testing.T) {
	c := soundCluster()
	c.Groups[0].Nodes = c.Groups[0].Nodes[:1]
	c.Groups[0].Nodes[0].Slots = 1
	for check, want := range map[string]string{c.masters().Found: "1 group has a master that is up", c.nodes().Found: "1 is up, with 1 slot"} {
		if check != want {
			t.Errorf("got %q, want %q", check, want)
		}
	}
}

// Each fault of a cluster is found by one check, and a sound one has none.
func TestCluster(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*Cluster)
		check  string
		status Status
		words  string
	}{
		"sound":             {func(*Cluster) {}, "", Good, ""},
		"a silent frontend": {func(c *Cluster) { c.Frontends[0].Err = errors.New("refuses connections") }, "frontends", Bad, "f0:1: refuses connections"},
		"a lost frontend": {func(c *Cluster) {
			c.Groups[0].Frontends[0].State, c.Groups[0].Frontends[0].Reason = api.StateLost, "silent"
		}, "frontends", Warn, "f0 at  is lost: silent"},
		"a lost master": {func(c *Cluster) {
			c.Groups[0].Master.State, c.Groups[0].Master.Reason = api.StateLost, "this is the master of group 1"
		}, "masters", Bad, "this is the master of group 1"},
		"a silent standby": {func(c *Cluster) {
			c.Groups[0].Role = api.Leader
			c.Groups[0].Masters = []api.GroupMaster{{Address: "m:1", Role: api.Leader}, {Address: "m:2"}, {Address: "m:3", Role: api.Standby}}
		}, "masters", Warn, "m:2, a standby of group 0, cannot be reached"},
		"no groups": {func(c *Cluster) { c.Groups = nil }, "masters", Bad, "no frontend has told"},
		"a refused node": {func(c *Cluster) {
			c.Groups[0].Departed = []api.Node{{ID: "n0", State: "refused", Reason: "its id is taken"}}
		}, "nodes", Warn, "n0 of group 0 is refused: its id is taken"},
		"a node whose backends are gone": {func(c *Cluster) {
			c.Groups[0].Nodes[0].Slots, c.Groups[0].Nodes[0].Reason = 0, "it has no slots"
		}, "nodes", Warn, "n0 of group 0 is up, and it has no slots"},
		"a server without JetStream": {func(c *Cluster) {
			c.Groups[0].Role, c.Groups[0].NATSFaults = api.Leader, []string{"NATS server n2 has switched JetStream off"}
		}, "nats", Bad, "n2 has switched JetStream off"},
		"no nodes":     {func(c *Cluster) { c.Groups[0].Nodes = nil }, "nodes", Bad, "group 0 has no node"},
		"two versions": {func(c *Cluster) { c.Groups[0].Nodes[1].Version = "v2" }, "versions", Warn, "v2: node n1"},
	} {
		cluster := soundCluster()
		c.spoil(cluster)
		found := c.check == ""
		for _, check := range ClusterChecks(cluster) {
			want, words := Good, ""
			if c.check != "" && check.Name == "cluster: "+c.check {
				found, want, words = true, c.status, c.words
			}
			if f := check.Run(); f.Status != want || !strings.Contains(f.Found, words) || (f.Advice == "") != (want == Good) {
				t.Errorf("%s: %s finds %+v", name, check.Name, f)
			}
		}
		if !found {
			t.Errorf("%s: no check is named cluster: %s", name, c.check)
		}
	}
}
