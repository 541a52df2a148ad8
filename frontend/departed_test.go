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
