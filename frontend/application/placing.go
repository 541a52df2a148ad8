package application

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// want takes what an application wants now; an older state than the last is
// ignored.
func (b *registry) want(a *application, w *api.Wants, class classify, now time.Time) {
	if w.Sequence < a.wants.Sequence {
		return
	}
	a.wants = *w
	a.next = max(a.next, w.LastExecutor+1)
	for _, id := range w.Stop {
		if p := a.executors[id]; p != nil && !p.stop {
			p.stop = true
			b.freeSlots(p)
			b.orderDue(a, p.node)
		}
	}
	b.wantLevels(a, class, now)
	b.place(a, now)
}

// countExecutors counts the executors that are to live, and those of them that run.
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

// place starts the executors that lack, and takes back those that are too many
// and do not run yet.
func (b *registry) place(a *application, now time.Time) { b.placeIn(b.memoryUse(), a, now) }

// placeAll does so for every application. The room is counted once for all of them:
// for some hundreds of applications on a hundred nodes that is a hundredth of the
// work. Where it is too little for all, the ids decide.
func (b *registry) placeAll(now time.Time) {
	r := b.memoryUse()
	for _, id := range slices.Sorted(maps.Keys(b.apps)) {
		b.placeIn(r, b.apps[id], now)
	}
}

func (b *registry) placeIn(r *memoryUse, a *application, now time.Time) {
	if a.ended != "" || !a.filesReady || !b.mayPlace(a, now) {
		return
	}
	need := b.missingExecutors(r, a, now)
	if need < 0 {
		b.stopStarting(a, -need)
	}
	if need <= 0 {
		a.updates.removeState("")
		return
	}
	if a.final != "" || now.Before(a.restarts.notBefore) {
		return
	}
	nodes := chooseNodes(b.candidates(r, a, now), need, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.next)
		a.next++
		a.executors[id] = &executor{id: id, node: name, incarnation: b.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: b.nodes[name].host, State: api.ExecutorStarting}}
		r.reserve(name, a.Template.Memory)
		b.orderDue(a, name)
	}
	if len(nodes) < need {
		b.reportWaiting(r, a, need-len(nodes), now)
		return
	}
	a.updates.removeState("")
}

// missingExecutors is how many executors more are wanted, below zero when there are too
// many. Who wants one on every node lacks one for each that has none and has room,
// and one at least when there is none at all.
func (b *registry) missingExecutors(r *memoryUse, a *application, now time.Time) int {
	all, _ := a.countExecutors()
	if a.wants.Executors != api.EveryNode {
		return a.wants.Executors - all
	}
	empty := 0
	for _, p := range b.candidates(r, a, now) {
		if p.own == 0 && p.free >= a.Template.Memory {
			empty++
		}
	}
	if all == 0 {
		return max(1, empty)
	}
	return empty
}

// mayPlace reports whether executors may be placed: when the holdings of all nodes have
// come, or enough time has passed.
func (b *registry) mayPlace(a *application, now time.Time) bool {
	if a.placeable {
		return true
	}
	heard := len(b.nodes) > 0
	for _, n := range b.nodes {
		heard = heard && n.holdingsKnown
	}
	a.placeable = heard || now.Sub(a.began) >= holdingsWait
	return a.placeable
}

// stopStarting stops so many executors that do not run yet, the newest first.
func (b *registry) stopStarting(a *application, n int) {
	var starting []*executor
	for _, p := range a.executors {
		if !p.stop && p.state.State != api.ExecutorRunning {
			starting = append(starting, p)
		}
	}
	slices.SortFunc(starting, func(x, y *executor) int { return cmp.Compare(number(y.id), number(x.id)) })
	for _, p := range starting[:min(n, len(starting))] {
		p.stop = true
		b.freeSlots(p)
		b.orderDue(a, p.node)
	}
}

func number(id string) int {
	n, _ := strconv.Atoi(id) // 0 for one that no frontend has numbered
	return n
}

// candidates are the nodes where executors of the application may be put.
func (b *registry) candidates(r *memoryUse, a *application, now time.Time) []candidate {
	own := make(map[string]int, len(a.executors))
	for _, p := range a.executors {
		own[p.node]++
	}
	list := make([]candidate, 0, len(b.nodes))
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[name]
		if s := a.deliveries[name]; !n.holdingsKnown || !n.missingSince.IsZero() || s != nil && now.Before(s.refused) {
			continue
		}
		list = append(list, candidate{node: name, free: n.memory - n.used - r.ordered[name], own: own[name]})
	}
	return list
}

// reportWaiting tells that executors fit nowhere, with the reason of each node.
func (b *registry) reportWaiting(r *memoryUse, a *application, n int, now time.Time) {
	reason := b.placementRefusal(r, a, n, now)
	all, running := a.countExecutors()
	if b.refusedEverywhere(a, now) && all == 0 && running == 0 {
		a.final = reason
		a.updates.setState(api.ExecutorState{ID: strconv.Itoa(a.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.next++
		return
	}
	a.updates.setState(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// refusedEverywhere reports whether every node has refused for a reason that will not pass.
func (b *registry) refusedEverywhere(a *application, now time.Time) bool {
	some := false
	for name, n := range b.nodes {
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
