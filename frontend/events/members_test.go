package events_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func typesOf(list []api.Event) (types []string) {
	for i := range list {
		types = append(types, list[i].Type)
	}
	return types
}

// Each membership, one after the other, causes the events of its nodes and frontends.
func TestMembers(t *testing.T) {
	m, now := events.NewMembers(0, "self"), time.Unix(1000, 0)
	node := func(name string, incarnation int64, draining bool) wire.MemberNode {
		return wire.MemberNode{Name: name, Incarnation: incarnation, Draining: draining}
	}
	self := []wire.MemberFrontend{{Name: "self"}, {Name: "other"}}
	for i, c := range []struct {
		of        int64
		nodes     []wire.MemberNode
		frontends []wire.MemberFrontend
		want      []string
	}{
		{1, []wire.MemberNode{node("a", 1, false)}, self, nil}, // a node that is there already causes no event
		{1, []wire.MemberNode{node("a", 1, false), node("b", 1, false)}, self, []string{api.EventNodeJoined}},
		{1, []wire.MemberNode{node("a", 2, false), node("b", 1, true)}, self[:1], []string{api.EventNodeRestarted, api.EventNodeDraining, api.EventFrontendLeft}},
		{1, []wire.MemberNode{node("a", 2, false), node("b", 1, false)}, self, []string{api.EventNodeResumed, api.EventFrontendJoined}},
		{2, nil, nil, nil}, // a new master: they may still register
		{2, []wire.MemberNode{node("a", 2, false)}, self, nil},
	} {
		got := typesOf(m.Apply(&wire.Membership{Incarnation: c.of, Nodes: c.nodes, Frontends: c.frontends}, now))
		if !slices.Equal(got, c.want) {
			t.Errorf("membership %d: %q, want %q", i, got, c.want)
		}
	}
	faulty := node("c", 1, true)
	m.Apply(&wire.Membership{Incarnation: 2, Nodes: []wire.MemberNode{node("a", 2, false), node("c", 1, false)}, Frontends: self}, now)
	faulty.DiskFault = "no space left"
	got := m.Apply(&wire.Membership{Incarnation: 2, Nodes: []wire.MemberNode{node("a", 2, false), faulty}, Frontends: self}, now)
	if len(got) != 1 || got[0].Type != api.EventNodeDraining || got[0].Severity != api.SeverityWarning || !strings.Contains(got[0].Message, "no space left") {
		t.Errorf("a faulty disk: %+v", got)
	}
	m.Apply(&wire.Membership{Incarnation: 2, Nodes: []wire.MemberNode{node("a", 2, false)}, Frontends: self}, now)
	m.Left("c", nil)
	gone, next := m.Gone(now)
	if len(gone) != 0 || !next.After(now) {
		t.Fatalf("%q are gone, the next one at %v", gone, next)
	}
	if gone, _ = m.Gone(next); !slices.Equal(gone, []string{"b"}) {
		t.Fatalf("%q are gone", gone)
	}
	if !m.Unreturned("b") {
		t.Error("b has not returned to a new master, and does not count as that")
	}
	if e := m.Left("b", &api.Node{State: api.StateStopped}); e.Type != api.EventNodeStopped || e.Node != "b" || *e.Group != 0 {
		t.Errorf("%+v", e)
	}
	m.Apply(&wire.Membership{Incarnation: 2}, now)
	if gone, _ = m.Gone(now); !slices.Equal(gone, []string{"a"}) {
		t.Errorf("%q are gone", gone)
	}
	if m.Unreturned("a") {
		t.Error("a left while the same master was there, and counts as one that has not returned to a new one")
	}
	if e := m.Left("a", &api.Node{State: api.StateLost, Reason: "it was silent"}); e.Type != api.EventNodeLost || e.Message != "node a of group 0 is lost: it was silent" {
		t.Errorf("%+v", e)
	}
}
