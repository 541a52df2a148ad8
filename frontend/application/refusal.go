package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// usersOf returns the applications that use a node's memory.
func (pl *placement) usersOf(n *node) string {
	list, known := pl.users[n.name]
	if !known {
		list = pl.countUsers(n.name, n.used+pl.ordered[n.name])
		pl.users[n.name] = list
	}
	return list
}

// countUsers computes usersOf. Memory that no application here uses belongs to
// applications of other frontends.
func (pl *placement) countUsers(node string, used int64) string {
	var list []api.Share
	for id, a := range pl.reg.apps { // Shares sorts them
		s := api.Share{Who: id}
		for _, p := range a.executors.byID {
			if p.node == node {
				s.Amount += a.Template.Memory
			}
		}
		used -= s.Amount
		list = append(list, s)
	}
	return api.Shares(append(list, api.Share{Who: "applications of other frontends", Amount: used}), "MB")
}

// refusal returns why the missing executors fit nowhere, node by node.
func (pl *placement) refusal(a *application, n int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(pl.reg.nodes)) {
		const most = 3
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more nodes", len(pl.reg.nodes)-most))
			break
		}
		v, s := pl.reg.nodes[name], a.orders.deliveries[name]
		switch {
		case s != nil && pl.now.Before(s.refused):
			parts = append(parts, s.reason)
		case !v.holdingsKnown:
			parts = append(parts, fmt.Sprintf("node %q does not answer", name))
		default:
			parts = append(parts, fmt.Sprintf("node %q has %d MB for executors, %d MB of them in use%s", name, v.memory, v.used+pl.ordered[name], pl.usersOf(v)))
		}
	}
	what := "no node is registered with a master"
	if len(parts) > 0 {
		what = strings.Join(parts, "; ")
	}
	return fitNowhere(a, n, what).Error()
}
