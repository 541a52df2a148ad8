package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cmd/pigeon/connect"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/cli"
	"github.com/spf13/cobra"
)

// A drain that is waited for ends when the node's master, started again, does not hear of it.
func TestDrainOfNodeThatIsUnknown(t *testing.T) {
	known := []api.MasterState{{Group: 1, Nodes: []api.Node{{ID: "n", Group: 1, State: api.StateDraining}}}}
	unreachable := []api.MasterState{{Group: 1, Master: &api.DaemonState{State: api.StateUnreachable}}}
	unknown := []api.MasterState{{Group: 1, Master: &api.DaemonState{State: api.StateUp}}, {Group: 2}}
	begin := time.Now()
	for _, c := range []struct {
		name   string
		looks  [][]api.MasterState // 20 s apart
		failed bool
	}{
		{"it comes back", [][]api.MasterState{unknown, unknown, known, unknown, unknown}, false},
		{"nobody can tell", [][]api.MasterState{unknown, unreachable, unreachable, unknown, unknown}, false},
		{"another group's master answers", [][]api.MasterState{nil, unknown[1:], unknown[1:]}, false},
		{"it is unknown for 40 s", [][]api.MasterState{known, unknown, unknown, unknown}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var errs strings.Builder
			cmd := &cobra.Command{}
			cmd.SetErr(&errs)
			w := newDrainWait(cmd, &connect.Cluster{}, cli.OutputText)
			w.draining = []drainingNode{{NodeDrain: api.NodeDrain{Node: "n", Group: 1}}}
			for i, states := range c.looks {
				if err := w.look(states, begin.Add(time.Duration(i)*20*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			if w.failed != c.failed || len(w.draining) == 0 != c.failed || strings.Contains(errs.String(), "has not heard of it for 30s") != c.failed {
				t.Errorf("failed is %t, %d drain, %s", w.failed, len(w.draining), errs.String())
			}
		})
	}
}
