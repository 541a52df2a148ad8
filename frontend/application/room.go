package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// memoryUse is what is taken of the nodes beyond their last holdings, and by whom all of
// it is, counted for a pass over many applications.
type memoryUse struct {
	ordered map[string]int64  // MB by node, of executors that its holdings did not show
	users   map[string]string // by node, for people; where somebody asked
}

func (b *registry) memoryUse() *memoryUse {
	r := &memoryUse{ordered: map[string]int64{}, users: map[string]string{}}
	for _, a := range b.apps {
		for _, p := range a.executors {
			if !p.seen {
				r.ordered[p.node] += a.Template.Memory
			}
		}
	}
	return r
}

// reserve takes note of one more executor that was ordered.
func (r *memoryUse) reserve(node string, memory int64) {
	r.ordered[node] += memory
	delete(r.users, node)
}

// usersOf returns which applications take a node's memory.
func (b *registry) usersOf(r *memoryUse, n *node) string {
	who, known := r.users[n.name]
	if !known {
		who = b.memoryUsers(n.name, n.used+r.ordered[n.name])
		r.users[n.name] = who
	}
	return who
}

// memoryUsers returns which applications take a node's memory; what is not of this
// frontend's is the rest.
func (b *registry) memoryUsers(node string, taken int64) string {
	var list []api.Share
	for id, a := range b.apps { // Shares puts them in order
		s := api.Share{Who: id}
		for _, p := range a.executors {
			if p.node == node {
				s.Amount += a.Template.Memory
			}
		}
		taken -= s.Amount
		list = append(list, s)
	}
	return api.Shares(append(list, api.Share{Who: "applications of other frontends", Amount: taken}), "MB")
}

// placementRefusal returns why the executors that lack fit nowhere, node by node.
func (b *registry) placementRefusal(r *memoryUse, a *application, n int, now time.Time) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		const most = 3
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d nodes more", len(b.nodes)-most))
			break
		}
		v, s := b.nodes[name], a.deliveries[name]
		switch {
		case s != nil && now.Before(s.refused):
			parts = append(parts, s.reason)
		case !v.holdingsKnown:
			parts = append(parts, fmt.Sprintf("node %q does not answer", name))
		default:
			parts = append(parts, fmt.Sprintf("node %q has %d MB for executors, %d MB of them taken%s", name, v.memory, v.used+r.ordered[name], b.usersOf(r, v)))
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
