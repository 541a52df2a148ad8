package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// memoryUse is the memory of the nodes that is used beyond their last holdings, and
// the users of all of it, counted once for many applications.
type memoryUse struct {
	ordered map[string]int64  // MB by node, of executors that its holdings did not show
	users   map[string]string // by node, for errors; filled on demand
}

func (reg *registry) memoryUse() *memoryUse {
	r := &memoryUse{ordered: map[string]int64{}, users: map[string]string{}}
	for _, a := range reg.apps {
		for _, p := range a.executors {
			if !p.seen {
				r.ordered[p.node] += a.Template.Memory
			}
		}
	}
	return r
}

// reserve counts one more executor that was ordered.
func (r *memoryUse) reserve(node string, memory int64) {
	r.ordered[node] += memory
	delete(r.users, node)
}

// usersOf returns the applications that use a node's memory.
func (reg *registry) usersOf(r *memoryUse, n *node) string {
	list, known := r.users[n.name]
	if !known {
		list = reg.memoryUsers(n.name, n.used+r.ordered[n.name])
		r.users[n.name] = list
	}
	return list
}

// memoryUsers returns the applications that use a node's memory; the rest is that of
// other frontends.
func (reg *registry) memoryUsers(node string, used int64) string {
	var list []api.Share
	for id, a := range reg.apps { // Shares sorts them
		s := api.Share{Who: id}
		for _, p := range a.executors {
			if p.node == node {
				s.Amount += a.Template.Memory
			}
		}
		used -= s.Amount
		list = append(list, s)
	}
	return api.Shares(append(list, api.Share{Who: "applications of other frontends", Amount: used}), "MB")
}

// placementRefusal returns why the missing executors fit nowhere, node by node.
func (reg *registry) placementRefusal(r *memoryUse, a *application, n int, now time.Time) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(reg.nodes)) {
		const most = 3
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d nodes more", len(reg.nodes)-most))
			break
		}
		v, s := reg.nodes[name], a.deliveries[name]
		switch {
		case s != nil && now.Before(s.refused):
			parts = append(parts, s.reason)
		case !v.holdingsKnown:
			parts = append(parts, fmt.Sprintf("node %q does not answer", name))
		default:
			parts = append(parts, fmt.Sprintf("node %q has %d MB for executors, %d MB of them taken%s", name, v.memory, v.used+r.ordered[name], reg.usersOf(r, v)))
		}
	}
	what := "no node is registered with a master"
	if len(parts) > 0 {
		what = strings.Join(parts, "; ")
	}
	return (&api.Error{
		What: what, Subject: fmt.Sprintf("%d executors of %d MB each of application %q", n, a.Template.Memory, a.ID), Tried: "finding nodes for them",
		Next: "give executors less memory, end other applications, or add nodes or memory (the nodes' setting memory); it is tried again when anything changes",
	}).Error()
}
