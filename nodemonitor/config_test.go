package nodemonitor

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// TestCannotStart: a fault is reported before anything runs, and nothing stays open.
func TestCannotStart(t *testing.T) {
	w := newWorld(t, false)
	taken := servertest.Start(t, nil, server.Options{Name: "who was first"}).Addr().String()
	folder := t.TempDir()
	first, err := New(w.config(func(c *Config) { c.WorkDir = folder }), Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"setting":            {func(c *Config) { c.Slots = -2 }, "slots: use a number"},
		"port for backends":  {func(c *Config) { c.Listen = taken }, "backend service of node"},
		"port for daemons":   {func(c *Config) { c.InternalListen = taken }, "internal service of node"},
		"port for status":    {func(c *Config) { c.HTTP = taken }, "status server cannot listen"},
		"folder in use":      {func(c *Config) { c.WorkDir = folder }, "another node monitor uses the folder"},
		"every address told": {func(c *Config) { c.Advertise = "0.0.0.0" }, "give its name or one address"},
		"recording nowhere":  {func(c *Config) { c.Record = "/dev/null/x" }, "recordings cannot be made"},
		"NATS that is none":  {func(c *Config) { c.NATS = "nats://%" }, "NATS server"},
		"unknown policy":     {func(c *Config) { c.Policy = "pidgeon" }, `"pigeon"?`},
		"dots in no cluster": {func(c *Config) { c.Cluster = "" }, "cluster:"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := New(w.config(c.change), Deps{})
			if err == nil {
				n.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %q, want %q in it", err, c.want)
			}
		})
	}
}

// TestConfig: every setting is documented, and the defaults are valid.
func TestConfig(t *testing.T) {
	keys, err := config.Keys(Default())
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) < 20 {
		t.Errorf("%d settings", len(keys))
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	if got := (Config{ID: "n1"}).workDir("/tmp"); got != "/tmp/pigeon-n1" {
		t.Errorf("the folder is %q", got)
	}
}

// TestPolicySettings: settings that a policy cannot work with are refused before anything is
// opened.
func TestPolicySettings(t *testing.T) {
	for _, c := range []struct {
		policy       string
		group, slots int
		fault        string
	}{
		{"pigeon", 3, 0, ""}, {"pigeon-x", 3, 4, ""}, {"hawk", 0, 4, ""}, {"kairos:cores=2", 0, 4, ""},
		{"hawk", 1, 4, "policy hawk has one master for all nodes, of group 0, and this node is in group 1"},
		{"sparrow", 0, 0, "a node of 0 slots"},
		{"kairos:cores=4", 0, 6, "workers of 4 slots"}, {"kairos:q=0", 0, 1, "q="}, {"hawkk", 0, 1, `did you mean "hawk"`},
	} {
		cfg := Default()
		cfg.Policy, cfg.Group, cfg.Slots = c.policy, c.group, c.slots
		err := cfg.Validate()
		if (err == nil) != (c.fault == "") || err != nil && (!strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), "policy")) {
			t.Errorf("%s in group %d with %d slots: %v", c.policy, c.group, c.slots, err)
		}
	}
	for name, change := range map[string]func(*Config){
		"cutoff":     func(c *Config) { c.Cutoff = 0 },
		"reserved":   func(c *Config) { c.Reserved = 1 },
		"memory":     func(c *Config) { c.Memory = -1 },
		"local_dirs": func(c *Config) { c.LocalDirs = []string{"disk1"} },
		"max_processes: use 16 or more, a process for each of the slots": func(c *Config) { c.Slots, c.MaxProcesses = 16, 15 },
		"max_processes: use 1 or more":                                   func(c *Config) { c.Slots, c.MaxProcesses = 0, 0 },
	} {
		cfg := Default()
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMachine: what a node reports of its machine.
func TestMachine(t *testing.T) {
	if got := totalMemory("MemFree: 5 kB\nMemTotal:       2048000 kB\n"); got != 2000 {
		t.Errorf("%d MB", got)
	}
	if got := totalMemory("nothing"); got != 0 {
		t.Errorf("%d MB of nothing", got)
	}
	c := Default()
	if c.host("10.0.0.1:5") != "10.0.0.1" || c.memory() < 0 {
		t.Errorf("host %q, %d MB", c.host("10.0.0.1:5"), c.memory())
	}
}
