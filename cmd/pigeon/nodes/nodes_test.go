package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The table of nodes shows reasons and ages where one is not up, versions where they differ,
// and the frontends and masters that are not up below.
func TestPrintNodes(t *testing.T) {
	node := func(name, state string, seconds float64, reason string) api.Node {
		return api.Node{ID: name, Address: "h:1", Slots: 4, Up: state == api.StateUp, State: state, StateSeconds: seconds, Reason: reason, Version: "v1.2.0"}
	}
	up := api.DaemonState{Name: "0", Address: "h:2", State: api.StateUp, Version: "v1.2.0"}
	f0 := api.DaemonState{Name: "f0", Address: "h:3", State: api.StateUp, Version: "v1.2.0"}
	gone := api.DaemonState{Name: "f1", Address: "h:4", State: api.StateLost, StateSeconds: 7300, Reason: "it is silent", Version: "v1.2.0"}
	for _, c := range []struct {
		name   string
		states []api.MasterState
		want   string
	}{
		{"all are up", []api.MasterState{{Master: &up, Nodes: []api.Node{node("a", api.StateUp, 5, "")}, Frontends: []api.DaemonState{f0}}}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE
			a 0 h:1 4 0 0 - - up`},
		{"an application whose name a terminal would obey", []api.MasterState{{Master: &up, Nodes: []api.Node{{ID: "a", Address: "h:1", Up: true, State: api.StateUp, Apps: []string{"", "\x1b[2Jevil\nn9\tx"}, Version: "v1.2.0"}}}}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE
			a 0 h:1 0 0 0 ?[2Jevil?n9?x - up`},
		{"of a master of an earlier version", []api.MasterState{{Epoch: 1, Nodes: []api.Node{{ID: "a", Up: true}, {ID: "b", Address: "h"}}}}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE FOR REASON
			a 0 0 0 0 - - up 0s -
			b 0 h 0 0 0 - - unreachable 0s -`},
		{"a NATS server keeps nothing", []api.MasterState{
			{Master: &up, NATSFaults: []string{"NATS server n2 is down"}}, {Group: 1, Master: &up, NATSFaults: []string{"NATS server n2 is down"}},
		}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE
			NATS server n2 is down; 'pigeon doctor' says what to do`},
		{"some are not", []api.MasterState{
			{Master: &up, Nodes: []api.Node{node("a", api.StateUp, 5, ""), node("b", api.StateLost, 65.4, "it was silent for 2s")}, Frontends: []api.DaemonState{f0, gone}},
			{Group: 1, Master: &api.DaemonState{Name: "1", Address: "h:5", State: api.StateUnreachable, StateSeconds: 3, Reason: "connection refused"}},
			{Group: 2, Master: &up, Frontends: []api.DaemonState{gone}},
		}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE FOR REASON
			a 0 h:1 4 0 0 - - up 5s -
			b 0 h:1 4 0 0 - - lost 1m5s it was silent for 2s
			ROLE NAME GROUP ADDRESS STATE FOR REASON
			frontend f1 0,2 h:4 lost 2h1m it is silent
			master - 1 h:5 unreachable 3s connection refused`},
		{"versions differ", []api.MasterState{{Master: &api.DaemonState{Name: "0", State: api.StateUp, Address: "h:2", Version: "v1.3.0"}, Nodes: []api.Node{node("a", api.StateUp, 5, "")}}}, `
			NODE GROUP ADDRESS SLOTS RESERVED BUSY APPLICATIONS OWNERS STATE VERSION
			a 0 h:1 4 0 0 - - up v1.2.0
			ROLE NAME GROUP ADDRESS STATE FOR VERSION REASON
			master - 0 h:2 up 0s v1.3.0 -`},
	} {
		var out strings.Builder
		if err := printNodes(&out, c.states); err != nil {
			t.Fatal(err)
		}
		if got, want := fields(out.String()), fields(c.want); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// Without a master that answers, the groups are printed and the command fails.
func TestNodesNobodyAnswers(t *testing.T) {
	gone := api.MasterState{Group: 1, Master: &api.DaemonState{Name: "1", State: api.StateUnreachable, StateSeconds: 90, Reason: "connection refused"}}
	if err := nobodyToAsk([]api.MasterState{gone, {Epoch: 1}}); err != nil {
		t.Error(err)
	}
	var e *api.Error
	if err := nobodyToAsk([]api.MasterState{{}, gone}); !errors.As(err, &e) || e.Problem != api.NotReady || e.Next == "" || !strings.Contains(e.Subject, "2 groups") {
		t.Errorf("%v", err)
	}
	var out strings.Builder
	if err := printGroups(&out, []api.MasterState{gone}); err != nil || !strings.Contains(fields(out.String()), "1"+strings.Repeat(" -", 11)+" its master cannot be reached for 1m30s: connection refused") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Groups with standbys show which master leads.
func TestMastersOfGroups(t *testing.T) {
	var out strings.Builder
	led := api.MasterState{Group: 1, Epoch: 5, Role: api.Leader, Masters: []api.GroupMaster{{Address: "a:1", Role: api.Standby}, {Address: "b:1", Role: api.Leader}, {Address: "c:1"}}}
	if err := printGroups(&out, []api.MasterState{{Epoch: 3}, led}); err != nil || !strings.Contains(fields(out.String()), "GROUP MASTER ROLE\n1 a:1 standby\n1 b:1 leader\n1 c:1 cannot be reached") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	out.Reset()
	if err := printGroups(&out, []api.MasterState{{Epoch: 3}}); err != nil || strings.Contains(out.String(), "ROLE") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// A group whose master cannot be reached leaves the columns of the others aligned.
func TestGroupsStayAligned(t *testing.T) {
	up := func(group int) api.MasterState {
		return api.MasterState{Group: group, Epoch: 1, Workers: 1000, QueuedShort: 1_000_000}
	}
	gone := api.MasterState{Group: 1, Master: &api.DaemonState{Name: "1", State: api.StateUnreachable, Reason: "connection refused"}}
	var out strings.Builder
	if err := printGroups(&out, []api.MasterState{up(0), gone, up(2)}); err != nil {
		t.Fatal(err)
	}
	aligned(t, out.String(), "SHORT QUEUE")
}

// aligned fails unless each of the last three lines of a text has a cell that begins where the
// heading does.
func aligned(t *testing.T, text, heading string) {
	t.Helper()
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	head := list[len(list)-4]
	at := strings.Index(head, heading)
	for _, line := range list[len(list)-3:] {
		if at < 1 || len(line) <= at || line[at] == ' ' || line[at-1] != ' ' {
			t.Errorf("%q is not aligned in\n%s", line, text)
		}
	}
}
