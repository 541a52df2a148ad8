package frontend

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// A drain names what only the drained node serves: each of its applications, and sleep and exec tasks only
// where its own slots run them.
func TestServedOnlyBy(t *testing.T) {
	node := func(id string, slots int, apps ...string) api.Node {
		return api.Node{ID: id, Up: true, State: api.StateUp, Slots: slots, Apps: apps}
	}
	for name, c := range map[string]struct {
		drained, other api.Node
		want           string
	}{
		"several applications":    {node("a", 3, "", "etl", "sql"), node("b", 1, ""), "etl sql"},
		"backends only":           {node("a", 1, "etl"), node("b", 1, "etl"), ""},
		"the last slots":          {node("a", 1, ""), node("b", 1, "etl"), `""`},
		"executors hold slots":    {node("a", 1, "", "app/3"), node("b", 1, ""), ""},
		"the other one has none ": {node("a", 1, "etl"), node("b", 0), "etl"},
	} {
		only := servedOnlyBy([]api.MasterState{{Nodes: []api.Node{c.drained, c.other}}}, &c.drained)
		if got := strings.TrimSpace(strings.Join(only, " ")); got != strings.Trim(c.want, `"`) || len(only) != len(strings.Fields(c.want)) {
			t.Errorf("%s: %q, want %s", name, only, c.want)
		}
	}
}

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
