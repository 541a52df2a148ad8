package frontend

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The name of another node is suggested only when all masters have answered: the one that is
// silent may have the node.
func TestUnknownNode(t *testing.T) {
	answers := api.MasterState{Group: 1, Epoch: 5, Nodes: []api.Node{{ID: "n1"}}}
	for name, c := range map[string]struct {
		states []api.MasterState
		want   string
		near   bool
	}{
		"all answer":    {[]api.MasterState{answers}, "no master has a node of this name", true},
		"one is silent": {[]api.MasterState{{Group: 0}, answers}, "those of some groups do not answer: 0", false},
	} {
		err := unknownNode(c.states, "n0", "draining it").Error()
		if !strings.Contains(err, c.want) || strings.Contains(err, "n1") != c.near {
			t.Errorf("%s: %s", name, err)
		}
	}
}
