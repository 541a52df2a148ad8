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

// place starts the executors that one application is missing, and stops those that
// are too many.
func (reg *registry) place(a *application, now time.Time) { reg.newPlacement(now).place(a) }

// placeAll does so for every application. The use of memory is counted once for all
// of them: for some hundreds of applications on a hundred nodes that is a hundredth
// of the work. When memory is short, applications are served in the order of ids.
func (reg *registry) placeAll(now time.Time) {
	pl := reg.newPlacement(now)
	for _, id := range slices.Sorted(maps.Keys(reg.apps)) {
		pl.place(reg.apps[id])
	}
}

// placement is one pass over applications that gives them the executors that they
// want, with the memory in use counted once.
type placement struct {
	reg     *registry
	now     time.Time
	ordered map[string]int64  // MB by node, of executors that its holdings did not show
	users   map[string]string // of memory, by node, for errors; filled on demand
}

func (reg *registry) newPlacement(now time.Time) *placement {
	pl := &placement{reg: reg, now: now, ordered: map[string]int64{}, users: map[string]string{}}
	for _, a := range reg.apps {
		for _, p := range a.executors {
			if !p.seen {
				pl.ordered[p.node] += a.Template.Memory
			}
		}
	}
	return pl
}

// place starts the executors that are missing, and stops those that are too many and
// do not run yet.
func (pl *placement) place(a *application) {
	if a.ended != "" || !a.filesReady || !pl.mayPlace(a) {
		return
	}
	missing := pl.missing(a)
	if missing < 0 {
		pl.reg.stopStarting(a, -missing)
	}
	if missing <= 0 {
		a.updates.removeState("")
		return
	}
	if a.final != "" || pl.now.Before(a.restarts.notBefore) {
		return
	}
	nodes := chooseNodes(pl.candidates(a), missing, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.next)
		a.next++
		a.executors[id] = &executor{id: id, node: name, incarnation: pl.reg.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: pl.reg.nodes[name].host, State: api.ExecutorStarting}}
		pl.ordered[name] += a.Template.Memory
		delete(pl.users, name)
		pl.reg.orderDue(a, name)
	}
	if len(nodes) < missing {
		pl.reportWaiting(a, missing-len(nodes))
		return
	}
	a.updates.removeState("")
}

// missing returns how many more executors are wanted, below zero when
// there are too many. An application that wants one on every node misses one for
// each node that has none and has memory for it, and at least one when it has none.
func (pl *placement) missing(a *application) int {
	all, _ := a.countExecutors()
	if a.wants.Executors != api.EveryNode {
		return a.wants.Executors - all
	}
	empty := 0
	for _, p := range pl.candidates(a) {
		if p.own == 0 && p.free >= a.Template.Memory {
			empty++
		}
	}
	if all == 0 {
		return max(1, empty)
	}
	return empty
}

// mayPlace reports whether executors may be placed: when the holdings of all nodes
// are known, or enough time has passed.
func (pl *placement) mayPlace(a *application) bool {
	if a.placeable {
		return true
	}
	known := len(pl.reg.nodes) > 0
	for _, n := range pl.reg.nodes {
		known = known && n.holdingsKnown
	}
	a.placeable = known || pl.now.Sub(a.began) >= holdingsWait
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
func (pl *placement) candidates(a *application) []candidate {
	own := make(map[string]int, len(a.executors))
	for _, p := range a.executors {
		own[p.node]++
	}
	list := make([]candidate, 0, len(pl.reg.nodes))
	for _, name := range slices.Sorted(maps.Keys(pl.reg.nodes)) {
		n := pl.reg.nodes[name]
		if s := a.deliveries[name]; !n.holdingsKnown || !n.missingSince.IsZero() || s != nil && pl.now.Before(s.refused) {
			continue
		}
		list = append(list, candidate{node: name, free: n.memory - n.used - pl.ordered[name], own: own[name]})
	}
	return list
}

// reportWaiting reports that executors fit nowhere, with the reason of each node.
func (pl *placement) reportWaiting(a *application, n int) {
	reason := pl.refusal(a, n)
	all, running := a.countExecutors()
	if pl.refusedEverywhere(a) && all == 0 && running == 0 {
		a.final = reason
		a.updates.setState(api.ExecutorState{ID: strconv.Itoa(a.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.next++
		return
	}
	a.updates.setState(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// refusedEverywhere reports whether every node has refused for a reason that will not pass.
func (pl *placement) refusedEverywhere(a *application) bool {
	some := false
	for name, n := range pl.reg.nodes {
		s := a.deliveries[name]
		if !n.holdingsKnown {
			return false
		}
		never := n.memory < a.Template.Memory
		if !never && (s == nil || s.memoryFull || !pl.now.Before(s.refused)) {
			return false
		}
		some = true
	}
	return some
}
