package application

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// want applies what an application wants now; a state older than the last is
// ignored.
func (reg *registry) want(a *application, w *api.Wants, class classify, now time.Time) {
	if w.Sequence < a.wants.Sequence {
		return
	}
	a.wants = *w
	a.next = max(a.next, w.LastExecutor+1)
	for _, id := range w.Stop {
		if p := a.executors[id]; p != nil && !p.stop {
			p.stop = true
			reg.freeSlots(p)
			reg.orderDue(a, p.node)
		}
	}
	reg.wantLevels(a, class, now)
	reg.place(a, now)
}

// countExecutors counts the executors that are not to be stopped, and those of them
// that run.
func (a *application) countExecutors() (all, running int) {
	for _, p := range a.executors {
		if p.stop {
			continue
		}
		all++
		if p.state.State == api.ExecutorRunning {
			running++
		}
	}
	return all, running
}

// place starts the executors that are missing, and stops those that are too many
// and do not run yet.
func (reg *registry) place(a *application, now time.Time) { reg.placeIn(reg.memoryUse(), a, now) }

// placeAll does so for every application. The use of memory is counted once for all
// of them: for some hundreds of applications on a hundred nodes that is a hundredth
// of the work. When memory is short, applications are served in the order of ids.
func (reg *registry) placeAll(now time.Time) {
	r := reg.memoryUse()
	for _, id := range slices.Sorted(maps.Keys(reg.apps)) {
		reg.placeIn(r, reg.apps[id], now)
	}
}

func (reg *registry) placeIn(r *memoryUse, a *application, now time.Time) {
	if a.ended != "" || !a.filesReady || !reg.mayPlace(a, now) {
		return
	}
	missing := reg.missingExecutors(r, a, now)
	if missing < 0 {
		reg.stopStarting(a, -missing)
	}
	if missing <= 0 {
		a.updates.removeState("")
		return
	}
	if a.final != "" || now.Before(a.restarts.notBefore) {
		return
	}
	nodes := chooseNodes(reg.candidates(r, a, now), missing, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.next)
		a.next++
		a.executors[id] = &executor{id: id, node: name, incarnation: reg.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: reg.nodes[name].host, State: api.ExecutorStarting}}
		r.reserve(name, a.Template.Memory)
		reg.orderDue(a, name)
	}
	if len(nodes) < missing {
		reg.reportWaiting(r, a, missing-len(nodes), now)
		return
	}
	a.updates.removeState("")
}

// missingExecutors returns how many more executors are wanted, below zero when
// there are too many. An application that wants one on every node misses one for
// each node that has none and has memory for it, and at least one when it has none.
func (reg *registry) missingExecutors(r *memoryUse, a *application, now time.Time) int {
	all, _ := a.countExecutors()
	if a.wants.Executors != api.EveryNode {
		return a.wants.Executors - all
	}
	empty := 0
	for _, p := range reg.candidates(r, a, now) {
		if p.own == 0 && p.free >= a.Template.Memory {
			empty++
		}
	}
	if all == 0 {
		return max(1, empty)
	}
	return empty
}

// mayPlace reports whether executors may be placed: when the holdings of all nodes are known, or enough time has passed.
func (reg *registry) mayPlace(a *application, now time.Time) bool {
	if a.placeable {
		return true
	}
	known := len(reg.nodes) > 0
	for _, n := range reg.nodes {
		known = known && n.holdingsKnown
	}
	a.placeable = known || now.Sub(a.began) >= holdingsWait
	return a.placeable
}

// stopStarting stops so many executors that do not run yet, the newest first.
func (reg *registry) stopStarting(a *application, n int) {
	var starting []*executor
	for _, p := range a.executors {
		if !p.stop && p.state.State != api.ExecutorRunning {
			starting = append(starting, p)
		}
	}
	slices.SortFunc(starting, func(x, y *executor) int { return cmp.Compare(number(y.id), number(x.id)) })
	for _, p := range starting[:min(n, len(starting))] {
		p.stop = true
		reg.freeSlots(p)
		reg.orderDue(a, p.node)
	}
}

func number(id string) int {
	n, _ := strconv.Atoi(id) // 0 for an id that is no number
	return n
}

// candidates returns the nodes on which executors of the application may start.
func (reg *registry) candidates(r *memoryUse, a *application, now time.Time) []candidate {
	own := make(map[string]int, len(a.executors))
	for _, p := range a.executors {
		own[p.node]++
	}
	list := make([]candidate, 0, len(reg.nodes))
	for _, name := range slices.Sorted(maps.Keys(reg.nodes)) {
		n := reg.nodes[name]
		if s := a.deliveries[name]; !n.holdingsKnown || !n.missingSince.IsZero() || s != nil && now.Before(s.refused) {
			continue
		}
		list = append(list, candidate{node: name, free: n.memory - n.used - r.ordered[name], own: own[name]})
	}
	return list
}

// reportWaiting reports that executors fit nowhere, with the reason of each node.
func (reg *registry) reportWaiting(r *memoryUse, a *application, n int, now time.Time) {
	reason := reg.placementRefusal(r, a, n, now)
	all, running := a.countExecutors()
	if reg.refusedEverywhere(a, now) && all == 0 && running == 0 {
		a.final = reason
		a.updates.setState(api.ExecutorState{ID: strconv.Itoa(a.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.next++
		return
	}
	a.updates.setState(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// refusedEverywhere reports whether every node has refused for a reason that will not pass.
func (reg *registry) refusedEverywhere(a *application, now time.Time) bool {
	some := false
	for name, n := range reg.nodes {
		s := a.deliveries[name]
		if !n.holdingsKnown {
			return false
		}
		never := n.memory < a.Template.Memory
		if !never && (s == nil || s.memoryFull || !now.Before(s.refused)) {
			return false
		}
		some = true
	}
	return some
}
