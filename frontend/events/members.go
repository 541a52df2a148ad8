package events

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// returnWithin is how long nodes and frontends may take to register with a new master before they
// count as gone.
const returnWithin = 15 * time.Second

// Members makes events from the memberships that the master of one group publishes. It is not safe
// for concurrent use.
//
//	Apply ──▶ joined, restarted, draining, resumed ──▶ events
//	     └──▶ absent ──named by Gone, at once or, of a new master, after a while──▶ Left ──▶ events
type Members struct {
	group     int
	frontends bool // events of frontends are made from this group's memberships
	self      string

	of      int64 // incarnation of the master; 0 before the first membership
	nodes   map[string]wire.MemberNode
	peers   map[string]wire.MemberFrontend
	absent  map[string]absence
	drained map[string]bool // draining nodes, and whether an event has reported that they are drained
}

// absence is a node that left the membership.
type absence struct {
	gone      time.Time // when it counts as gone
	newMaster bool      // it is missing since another process of the master publishes
}

// NewMembers returns a Members that makes events from a group's memberships, for the frontend of
// that name.
func NewMembers(group int, self string) *Members {
	return &Members{group: group, self: self, frontends: group == 0, nodes: map[string]wire.MemberNode{}, peers: map[string]wire.MemberFrontend{}, absent: map[string]absence{}, drained: map[string]bool{}}
}

func (m *Members) event(eventType, severity, node, what string) api.Event {
	return api.Event{Type: eventType, Severity: severity, Node: node, Group: new(m.group), Message: fmt.Sprintf("node %s of group %d %s", node, m.group, what)}
}

// Apply applies a membership. The nodes of the first membership are there already, and cause no
// event.
func (m *Members) Apply(v *wire.Membership, now time.Time) (list []api.Event) {
	first, patience := m.of == 0, time.Duration(0)
	if !first && m.of != v.Incarnation {
		patience = returnWithin
	}
	m.of = v.Incarnation
	on := map[string]bool{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		on[n.Name] = true
		list = append(list, m.applyNode(n, first)...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if _, known := m.absent[name]; !on[name] && !known {
			m.absent[name] = absence{gone: now.Add(patience), newMaster: patience > 0}
		}
	}
	if m.frontends {
		list = append(list, m.applyFrontends(v, first, patience > 0)...)
	}
	return list
}

// applyNode applies a node that is on the membership.
func (m *Members) applyNode(n *wire.MemberNode, first bool) (list []api.Event) {
	before, known := m.nodes[n.Name]
	m.nodes[n.Name] = *n
	delete(m.absent, n.Name)
	switch {
	case first:
	case !known:
		list = append(list, m.event(api.EventNodeJoined, api.SeverityInfo, n.Name, "has joined, at "+n.Address))
	case before.Incarnation != n.Incarnation:
		list = append(list, m.event(api.EventNodeRestarted, api.SeverityInfo, n.Name, "is served by another process of its node monitor than before"))
	}
	_, was := m.drained[n.Name]
	switch {
	case n.Draining && !was:
		m.drained[n.Name] = false
		if !first {
			e := m.event(api.EventNodeDraining, api.SeverityInfo, n.Name, "takes nothing new: it drains")
			if n.DiskFault != "" {
				e = m.event(api.EventNodeDraining, api.SeverityWarning, n.Name, "takes nothing new until this is over: "+n.DiskFault)
			}
			list = append(list, e)
		}
	case !n.Draining && was:
		delete(m.drained, n.Name)
		list = append(list, m.event(api.EventNodeResumed, api.SeverityInfo, n.Name, "takes tasks again"))
	}
	return list
}

// applyFrontends applies the frontends of a membership. With a new master those that are missing
// may still come.
func (m *Members) applyFrontends(v *wire.Membership, first, newMaster bool) (list []api.Event) {
	on := map[string]bool{m.self: true}
	for _, f := range v.Frontends {
		on[f.Name] = true
		if _, known := m.peers[f.Name]; !known && !first && f.Name != m.self {
			list = append(list, api.Event{Type: api.EventFrontendJoined, Severity: api.SeverityInfo, Message: fmt.Sprintf("frontend %s has joined, at %s", f.Name, f.Scheduler)})
		}
		m.peers[f.Name] = f
	}
	for _, name := range slices.Sorted(maps.Keys(m.peers)) {
		if !on[name] && !newMaster {
			delete(m.peers, name)
			list = append(list, api.Event{Type: api.EventFrontendLeft, Severity: api.SeverityWarning, Message: fmt.Sprintf("frontend %s is not registered any more: it has stopped, or cannot be reached", name)})
		}
	}
	return list
}

// Gone returns the nodes that count as gone by now, and when the next one will; the zero time for
// none.
func (m *Members) Gone(now time.Time) (names []string, next time.Time) {
	for _, name := range slices.Sorted(maps.Keys(m.absent)) {
		switch at := m.absent[name].gone; {
		case !at.After(now):
			names = append(names, name)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return names, next
}

// Unreturned reports whether a node was registered with an earlier process of the master, and has
// not registered with the present one. A node that left for another reason has a departure at its
// master, or was to be forgotten.
func (m *Members) Unreturned(name string) bool { return m.absent[name].newMaster }

// Node returns a node as the last membership that had it describes it.
func (m *Members) Node(name string) wire.MemberNode { return m.nodes[name] }

// Left removes a node that is gone; last is its state, with the reason, as its master knows it, nil
// when it does not.
func (m *Members) Left(name string, last *api.Node) api.Event {
	delete(m.absent, name)
	delete(m.nodes, name)
	delete(m.drained, name)
	e := m.event(api.EventNodeLost, api.SeverityWarning, name, "is not registered any more")
	if last == nil {
		return e
	}
	if last.State == api.StateStopped {
		e = m.event(api.EventNodeStopped, api.SeverityInfo, name, "has stopped")
	} else {
		e = m.event(api.EventNodeLost, api.SeverityWarning, name, "is lost")
	}
	if last.Reason != "" {
		e.Message += ": " + last.Reason
	}
	return e
}

// Draining returns the nodes that drain and that no event has yet reported as drained.
func (m *Members) Draining() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.drained)) {
		if !m.drained[name] {
			names = append(names, name)
		}
	}
	return names
}

// Drained notes that nothing runs on a node that drains.
func (m *Members) Drained(name string) api.Event {
	m.drained[name] = true
	return m.event(api.EventNodeDrained, api.SeverityInfo, name, "is drained: nothing runs there")
}
