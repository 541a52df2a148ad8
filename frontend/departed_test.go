package frontend_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// A node and a frontend that were stopped are shown until they are forgotten, and a master
// that was stopped is shown as unreachable with the reason; a daemon that is up is not
// forgotten, nor is a node that no master knows.
func TestDepartedAreShownAndForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quick := func(c *master.Config) { c.LostAfter = 300 * time.Millisecond }
	w.master(quick)
	second := w.master(quick)
	n := w.node(0, 2)
	f, other := w.frontend(), w.frontend(func(c *frontend.Config) { c.ID = "other" })
	states := func() []api.MasterState {
		list, err := f.Nodes(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		return list
	}
	frontends := func(s api.MasterState) map[string]string {
		m := map[string]string{}
		for _, d := range s.Frontends {
			m[d.Name] = d.State
		}
		return m
	}
	daemontest.Await(t, "all are up", func() bool {
		s := states()
		return len(s[0].Nodes) == 1 && s[0].Nodes[0].State == api.StateUp && s[1].Master.State == api.StateUp && frontends(s[1])["other"] == api.StateUp
	})
	name := states()[0].Nodes[0].ID
	refused := func(what, name string, problem api.Problem) {
		t.Helper()
		groups, err := f.ForgetNode(t.Context(), name)
		e, _ := errors.AsType[*api.Error](err)
		if e == nil || len(groups) != 0 || e.Problem != problem || !strings.Contains(e.Subject, name) || e.Tried == "" || e.Next == "" {
			t.Errorf("%s: %v, %v", what, groups, err)
		}
	}
	refused("a node that is up", name, api.Invalid)
	refused("a frontend that is up", "other", api.Invalid)
	refused("a stranger", "stranger", api.NotFound)

	n.process.Stop()
	other.process.Stop()
	daemontest.Await(t, "the node and the frontend are shown as stopped", func() bool {
		s := states()[0]
		all := slices.Concat(s.Nodes, s.Departed)
		return len(all) == 1 && all[0].State == api.StateStopped && all[0].Reason != "" && frontends(s)["other"] == api.StateStopped
	})
	second.process.Stop()
	daemontest.Await(t, "the second master is shown as unreachable", func() bool {
		d := states()[1].Master
		return d != nil && d.State == api.StateUnreachable && d.Reason != "" && d.Address == second.Addr()
	})
	daemontest.Await(t, "the node is forgotten", func() bool {
		groups, err := f.ForgetNode(t.Context(), name)
		return err == nil && len(groups) == 1 && groups[0] == 0 && len(states()[0].Nodes)+len(states()[0].Departed) == 0
	})
	refused("a node that is forgotten, while a master is away", name, api.NotReady)
}

// A master that is started again shows the nodes that had departed before, for how long and why,
// because a frontend has kept them, and a node that has not returned since; not those that have
// returned or were forgotten.
func TestRestartedMasterShowsTheDeparted(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the 15 s in which nodes may register with a new master")
	}
	t.Parallel()
	w := newWorld(t)
	m := w.master(func(c *master.Config) { c.LostAfter = 300 * time.Millisecond })
	named := func(name string) func(*nodemonitor.Config) {
		return func(c *nodemonitor.Config) { c.ID = name }
	}
	w.node(0, 1, named("stays"))
	gone := map[string]*nodeOf{}
	for _, name := range []string{"stops", "returns", "forgotten", "meanwhile"} {
		gone[name] = w.node(0, 1, named(name))
	}
	f := w.frontend()
	departed := func() map[string]api.Node {
		list, err := f.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]api.Node{}
		for _, n := range list[0].Departed {
			shown[n.ID] = n
		}
		return shown
	}
	daemontest.Await(t, "all nodes are registered", func() bool { return len(m.state(t).Nodes) == 5 })
	for _, name := range []string{"stops", "returns", "forgotten"} {
		gone[name].process.Stop()
	}
	daemontest.Await(t, "three nodes are shown as stopped", func() bool { return len(departed()) == 3 })
	if _, err := f.ForgetNode(t.Context(), "forgotten"); err != nil {
		t.Fatal(err)
	}
	daemontest.Await(t, "the frontend has heard of two of them", func() bool {
		list := f.Departed(0)
		return len(list) == 2 && list[0].ID == "returns" && list[1].ID == "stops"
	})
	before := departed()["stops"].StateSeconds

	m.process.Stop()
	if n := departed()["stops"]; n.State != api.StateStopped {
		t.Errorf("while the master is away the node that stopped is shown as %+v", n)
	}
	gone["meanwhile"].process.Stop()
	w.runMaster(m.cfg)
	w.node(0, 1, named("returns"))
	daemontest.Await(t, "the next master shows the one that stopped and the one that did not return", func() bool {
		shown := departed()
		return len(shown) == 2 && shown["stops"].State == api.StateStopped && shown["meanwhile"].State == api.StateLost
	})
	shown := departed()
	if n := shown["stops"]; n.Reason != "its node monitor was stopped in order" || n.StateSeconds <= before || n.Address == "" {
		t.Errorf("the node that stopped %v s before the restart is shown as %+v", before, n)
	}
	if n := shown["meanwhile"]; !strings.Contains(n.Reason, "has not registered with the present one") || n.Address == "" {
		t.Errorf("the node that did not return is shown as %+v", n)
	}
	daemontest.Await(t, "the frontend knows the same two", func() bool {
		list := f.Departed(0)
		return len(list) == 2 && list[0].ID == "meanwhile" && list[1].ID == "stops"
	})
}
