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
func (b *book) want(a *application, w *api.Wants, class classify, now time.Time) {
	if w.Sequence < a.wants.Sequence {
		return
	}
	a.wants = *w
	a.next = max(a.next, w.LastExecutor+1)
	for _, id := range w.Stop {
		if p := a.executors[id]; p != nil && !p.stop {
			p.stop = true
			b.freeSlots(p)
			b.tell(a, p.node)
		}
	}
	b.wantLevels(a, class, now)
	b.place(a, now)
}

// living counts the executors that are to live, and those of them that run.
func (a *application) living() (all, running int) {
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
func (b *book) place(a *application, now time.Time) { b.placeIn(b.room(), a, now) }

// placeAll does so for every application. The room is counted once for all of them:
// for some hundreds of applications on a hundred nodes that is a hundredth of the
// work. Where it is too little for all, the ids decide.
func (b *book) placeAll(now time.Time) {
	r := b.room()
	for _, id := range slices.Sorted(maps.Keys(b.apps)) {
		b.placeIn(r, b.apps[id], now)
	}
}

func (b *book) placeIn(r *room, a *application, now time.Time) {
	if a.over != "" || !a.furnished || !b.settle(a, now) {
		return
	}
	need := b.lacking(r, a, now)
	if need < 0 {
		b.takeBack(a, -need)
	}
	if need <= 0 {
		a.news.retract("")
		return
	}
	if a.final != "" || now.Before(a.restarts.notBefore) {
		return
	}
	nodes := spread(b.places(r, a, now), need, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.next)
		a.next++
		a.executors[id] = &placed{id: id, node: name, incarnation: b.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: b.nodes[name].host, State: api.ExecutorStarting}}
		r.take(name, a.Template.Memory)
		b.tell(a, name)
	}
	if len(nodes) < need {
		b.wait(r, a, need-len(nodes), now)
		return
	}
	a.news.retract("")
}

// lacking is how many executors more are wanted, below zero when there are too
// many. Who wants one on every node lacks one for each that has none and has room,
// and one at least when there is none at all.
func (b *book) lacking(r *room, a *application, now time.Time) int {
	all, _ := a.living()
	if a.wants.Executors != api.EveryNode {
		return a.wants.Executors - all
	}
	empty := 0
	for _, p := range b.places(r, a, now) {
		if p.own == 0 && p.free >= a.Template.Memory {
			empty++
		}
	}
	if all == 0 {
		return max(1, empty)
	}
	return empty
}

// settle reports whether executors may be placed: when the holdings of all nodes have
// come, or enough time has passed.
func (b *book) settle(a *application, now time.Time) bool {
	if a.settled {
		return true
	}
	heard := len(b.nodes) > 0
	for _, n := range b.nodes {
		heard = heard && n.heard
	}
	a.settled = heard || now.Sub(a.began) >= settleAfter
	return a.settled
}

// takeBack stops so many executors that do not run yet, the newest first.
func (b *book) takeBack(a *application, n int) {
	var starting []*placed
	for _, p := range a.executors {
		if !p.stop && p.state.State != api.ExecutorRunning {
			starting = append(starting, p)
		}
	}
	slices.SortFunc(starting, func(x, y *placed) int { return cmp.Compare(number(y.id), number(x.id)) })
	for _, p := range starting[:min(n, len(starting))] {
		p.stop = true
		b.freeSlots(p)
		b.tell(a, p.node)
	}
}

func number(id string) int {
	n, _ := strconv.Atoi(id) // 0 for one that no frontend has numbered
	return n
}

// places are the nodes where executors of the application may be put.
func (b *book) places(r *room, a *application, now time.Time) []place {
	own := make(map[string]int, len(a.executors))
	for _, p := range a.executors {
		own[p.node]++
	}
	list := make([]place, 0, len(b.nodes))
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[name]
		if s := a.nodes[name]; !n.heard || !n.off.IsZero() || s != nil && now.Before(s.refused) {
			continue
		}
		list = append(list, place{node: name, free: n.memory - n.used - r.ordered[name], own: own[name]})
	}
	return list
}

// wait tells that executors fit nowhere, with the reason of each node.
func (b *book) wait(r *room, a *application, n int, now time.Time) {
	reason := b.whyNowhere(r, a, n, now)
	all, running := a.living()
	if b.hopeless(a, now) && all == 0 && running == 0 {
		a.final = reason
		a.news.tell(api.ExecutorState{ID: strconv.Itoa(a.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.next++
		return
	}
	a.news.tell(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// hopeless reports whether every node has refused for a reason that will not pass.
func (b *book) hopeless(a *application, now time.Time) bool {
	some := false
	for name, n := range b.nodes {
		s := a.nodes[name]
		if !n.heard {
			return false
		}
		never := n.memory < a.Template.Memory
		if !never && (s == nil || s.crowded || !now.Before(s.refused)) {
			return false
		}
		some = true
	}
	return some
}
