package master_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/leadership/leadershiptest"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func writeOwners(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) owners() api.GroupOwners {
	r.t.Helper()
	g, err := r.client.GroupOwners(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// share returns an owner of the list, the zero one when it is not there.
func share(g *api.GroupOwners, owner string) api.OwnerShare {
	for i := range g.Owners {
		if g.Owners[i].Owner == owner {
			return g.Owners[i]
		}
	}
	return api.OwnerShare{}
}

// Shares of the configuration are in effect from the start, and are shown with the waiting tasks.
func TestShares(t *testing.T) {
	cfg := settings()
	cfg.LostAfter = patient()
	cfg.Shares.Shares = []owners.Share{{Owner: "team", Weight: 2, Max: 0.5, Min: 0.25}, {Owner: "team/alice", Weight: 3}}
	m := start(t, cfg)
	f := daemontest.Frontend(t, "f1", m.Addr())
	f.Register(wire.Hello{})
	n := daemontest.Node(t, "n1", m.Addr())
	n.Register(wire.Hello{Slots: daemontest.Slots(4, 1)})
	it := daemontest.Tasks(1, 5)
	it.Msg.Owner = "team/alice"
	f.Send(it)
	daemontest.Await(t, "all is placed", func() bool { g := m.owners(); a := share(&g, "team/alice"); return a.RunningShort+a.QueuedShort == 5 })
	g := m.owners()
	team, alice := share(&g, "team"), share(&g, "team/alice")
	if !g.Reachable || !g.Fair || g.Slots != 4 || len(g.Owners) != 3 || g.Owners[0].Owner != "" {
		t.Errorf("%+v", g)
	}
	if team.Weight != 2 || team.Max != 0.5 || team.Min != 0.25 || alice.Weight != 3 || team.RunningShort != 2 || team.QueuedShort != 3 || alice.RunningShort != 2 {
		t.Errorf("%+v\n%+v", team, alice)
	}
	if m.Reload() {
		t.Error("there is a file to read again")
	}
}

// Shares are read again when their file changes and on request. With a mistake in it those
// before stay in effect, and the mistake is shown until the file is read well. The core
// gets them as an input, which is recorded.
func TestSharesAreReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "owners.yaml")
	writeOwners(t, path, "shares: [{owner: a, weight: 2}]\nquotas: [{owner: a, tasks: 5}]")
	cfg := settings()
	cfg.LostAfter, cfg.OwnersFile, cfg.Record = patient(), path, t.TempDir()
	m := start(t, cfg)
	weight := func() float64 { g := m.owners(); return share(&g, "a").Weight }
	daemontest.Await(t, "the first shares are in effect", func() bool { return weight() == 2 })
	writeOwners(t, path, "shares: [{owner: a, weight: 0}]")
	if !m.Reload() {
		t.Error("there is no file to read again")
	}
	daemontest.Await(t, "the mistake is shown", func() bool {
		g := m.owners()
		return strings.Contains(g.Problem, "weight") && strings.Contains(g.Problem, `"a"`) && g.ProblemSince > 0 && share(&g, "a").Weight == 2
	})
	writeOwners(t, path, "shares: &x [{owner: *x}]")
	daemontest.Await(t, "another mistake is shown", func() bool { return strings.Contains(m.owners().Problem, "alias") })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	daemontest.Await(t, "the missing file is shown", func() bool { return strings.Contains(m.owners().Problem, "no such file") })
	writeOwners(t, path, "half_life: 1h\nshares: [{owner: a, weight: 5}]")
	daemontest.Await(t, "the change is noticed", func() bool {
		g := m.owners()
		return share(&g, "a").Weight == 5 && g.Problem == "" && g.HalfLife == 3600
	})
	m.process.Stop()

	file, err := os.Open(filepath.Join(cfg.Record, "master-0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	steps, err := runloop.Verify(file, func(self sched.Addr) sched.Core {
		return pigeon.NewMaster(sched.MasterConfig{Self: self, Seed: cfg.Seed, Params: sched.Params{Cutoff: sched.Time(cfg.Cutoff)}, MaxTasks: cfg.MaxTasks, Recover: true})
	})
	if err != nil || steps < 2 {
		t.Errorf("%d inputs: %v", steps, err)
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `"Shares":[{`); n != 2 {
		t.Errorf("shares are recorded %d times, want twice:\n%s", n, data)
	}
}

// A file that cannot be read at the start is refused; so are shares in two places.
func TestOwnersFileAtTheStart(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "owners.yaml")
	writeOwners(t, bad, "shares: [{owner: a, wieght: 2}]")
	both := settings()
	both.OwnersFile, both.Shares.Shares = bad, []owners.Share{{Owner: "a", Weight: 1}}
	for want, change := range map[string]func(*master.Config){
		`"weight"`:     func(c *master.Config) { c.OwnersFile = bad },
		"no such file": func(c *master.Config) { c.OwnersFile = bad + ".absent" },
		"one place":    func(c *master.Config) { *c = both },
		"half_life":    func(c *master.Config) { c.HalfLife = -1 },
		"policy hawk does not share slots": func(c *master.Config) {
			c.Policy, c.Shares.Shares = "hawk", []owners.Share{{Owner: "a", Weight: 1}}
		},
		"two shares": func(c *master.Config) {
			c.Shares.Shares = []owners.Share{{Owner: "a", Weight: 1}, {Owner: "a", Weight: 1}}
		},
	} {
		cfg := settings()
		change(&cfg)
		m, err := master.New(cfg, daemontest.Log(t))
		if err == nil {
			t.Errorf("%s: it was accepted: %v", want, m.Close())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Policies whose masters share slots between owners accept shares, and the others say that
// they do not. A file of owners, which all daemons may have, is accepted by all.
func TestPoliciesThatShare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "owners.yaml")
	writeOwners(t, file, "shares: [{owner: a}]")
	for name, fair := range map[string]bool{"pigeon": true, "pigeon-sort": true, "pigeon-x": true, "fifo": true, "priority": true, "sparrow": false, "hawk": false, "eagle": false, "kairos": false, "peacock": false, "random": false} {
		cfg := settings()
		cfg.Policy, cfg.Shares.Shares = name, []owners.Share{{Owner: "a", Weight: 1}}
		if err := cfg.Validate(); (err == nil) != fair {
			t.Errorf("%s: %v", name, err)
		}
		cfg.Shares.Shares, cfg.OwnersFile = nil, file
		m := start(t, cfg)
		if g := m.owners(); g.Fair != fair {
			t.Errorf("%s: it shows that it shares: %v", name, g.Fair)
		}
	}
}

// The refusal of shares names all policies that accept them, and no others.
func TestRefusedSharesNamePoliciesThatShare(t *testing.T) {
	cfg := settings()
	cfg.Shares.Shares = []owners.Share{{Owner: "a", Weight: 1}}
	validate := func(name string) error {
		cfg.Policy = name
		return cfg.Validate()
	}
	refused := validate("kairos")
	if refused == nil {
		t.Fatal("kairos accepts shares")
	}
	_, list, _ := strings.Cut(refused.Error(), "one of the policies ")
	named := strings.Split(list, ", ")
	for _, name := range policy.Names() {
		if err := validate(name); (err == nil) != slices.Contains(named, name) {
			t.Errorf("%s with shares: %v; the refusal under another policy names %q", name, err, named)
		}
	}
}

// A master that has lost its leadership continues with the shares as they were read last, also
// when they cannot be read any more.
func TestSharesAfterALostLeadership(t *testing.T) {
	for name, separate := range map[string]bool{"a mistake in the file of owners": true, "a mistake in its own settings": false} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "owners.yaml")
			writeOwners(t, file, "shares: [{owner: a, weight: 2}]")
			own := &cuttable{Memory: leadershiptest.NewMemory()}
			c := settings()
			c.Leadership, c.NATS = daemon.JetStreamLeadership, "nats://127.0.0.1:1"
			load := func() (master.Config, error) {
				f, err := owners.Load(file)
				c := c
				c.Shares = f.Shares
				return c, err
			}
			if separate {
				c.OwnersFile = file
			}
			d, err := master.NewDaemon(c, master.Deps{Log: daemontest.Log(t), Leaderships: own})
			if err != nil {
				t.Fatal(err)
			}
			d.ReadSharesFrom(file, load)
			daemontest.Run(t, d)
			peer := daemontest.Dial(t, d.Addr(), daemontest.Codec())
			has := func(weight float64, problem string) func() bool {
				return func() bool {
					g, err := peer.GroupOwners(t.Context())
					return err == nil && share(&g, "a").Weight == weight && strings.Contains(g.Problem, problem)
				}
			}
			daemontest.Await(t, "it leads", d.Leads)
			writeOwners(t, file, "shares: [{owner: a, weight: 3}]")
			if !d.Reload() {
				t.Fatal("there is no file to read again")
			}
			daemontest.Await(t, "the shares were read again", has(3, ""))
			writeOwners(t, file, "shares: [{owner: a, wieght: 2}]")
			before := master.Incarnation(d)
			own.cut.set(errCut)
			daemontest.Await(t, "another master takes the place", func() bool { return master.Incarnation(d) != before })
			own.cut.set(nil)
			daemontest.Await(t, "it has the shares", has(3, "wieght"))
		})
	}
}
