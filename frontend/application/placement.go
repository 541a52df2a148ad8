package application

import (
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
	a.executors.next = max(a.executors.next, w.LastExecutor+1)
	for _, id := range w.Stop {
		if p := a.executors.byID[id]; p != nil && !p.stop {
			a.stopExecutor(p)
		}
	}
	if a.Grants {
		a.jobs.want(w.Levels, class, now)
	}
	reg.place(a, now)
}

// place starts the executors that one application is missing, and stops surplus ones.
func (reg *registry) place(a *application, now time.Time) { reg.newPlacement(now).place(a) }

// placeAll does what place does, for every application in its turn. The memory in use is counted
// once for all of them: for some hundreds of applications on a hundred nodes that is a hundredth
// of the work.
func (reg *registry) placeAll(now time.Time) {
	pl := reg.newPlacement(now)
	for _, a := range reg.inTurn() {
		pl.place(a)
	}
}

// placement is one pass over applications that starts the executors that they want.
type placement struct {
	reg     *registry
	now     time.Time
	ordered map[string]int64  // MB by node, of executors that its holdings did not show
	users   map[string]string // of memory, by node, for errors; filled on demand
}

func (reg *registry) newPlacement(now time.Time) *placement {
	pl := &placement{reg: reg, now: now, ordered: map[string]int64{}, users: map[string]string{}}
	for _, a := range reg.apps {
		for _, p := range a.executors.byID {
			if !p.seen {
				pl.ordered[p.node] += a.Template.Memory
			}
		}
	}
	return pl
}

// place starts the executors that are missing, and stops surplus ones that do not run
// yet.
func (pl *placement) place(a *application) {
	if a.ended != "" || !a.filesReady || !pl.mayPlace(a) {
		return
	}
	missing := pl.missing(a)
	if missing < 0 {
		a.stopStarting(-missing)
	}
	if missing <= 0 {
		a.waitingSince = time.Time{}
		a.updates.removeState("")
		return
	}
	if a.executors.final != "" || pl.now.Before(a.executors.restarts.notBefore) {
		return
	}
	nodes := chooseNodes(pl.candidates(a), missing, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.executors.next)
		a.executors.next++
		a.executors.byID[id] = &executor{id: id, node: name, incarnation: pl.reg.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: pl.reg.nodes[name].host, State: api.ExecutorStarting}}
		pl.ordered[name] += a.Template.Memory
		delete(pl.users, name)
		a.orders.due(name)
	}
	if len(nodes) < missing {
		if a.waitingSince.IsZero() {
			a.waitingSince = pl.now
		}
		pl.reportWaiting(a, missing-len(nodes))
		pl.reclaim(a)
		return
	}
	a.waitingSince = time.Time{}
	a.updates.removeState("")
}

// missing returns how many more executors are wanted, a negative number when there
// are too many. More than can fill the slots of all nodes are not: Spark's dynamic allocation asks for one
// for every few waiting tasks, and does not know how few slots there are. An application that wants one on every node misses one for each node
// that has none and has memory for it, and at least one when it has none at all.
func (pl *placement) missing(a *application) int {
	all, _ := a.executors.count()
	if a.wants.Executors != api.EveryNode {
		useful := 0
		for _, n := range pl.reg.nodes {
			useful += a.mostOn(n)
		}
		if useful == 0 { // no node is known: the reason for waiting says so
			useful = 1
		}
		return min(a.wants.Executors, useful) - all
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

// candidates returns the nodes on which executors of the application may start.
func (pl *placement) candidates(a *application) []candidate {
	own := make(map[string]int, len(a.executors.byID))
	for _, p := range a.executors.byID {
		own[p.node]++
	}
	list := make([]candidate, 0, len(pl.reg.nodes))
	for _, name := range slices.Sorted(maps.Keys(pl.reg.nodes)) {
		n := pl.reg.nodes[name]
		if s := a.orders.deliveries[name]; !n.holdingsKnown || !n.missingSince.IsZero() || s != nil && pl.now.Before(s.refused) {
			continue
		}
		list = append(list, candidate{node: name, free: n.memory - n.used - pl.ordered[name], own: own[name], room: a.mostOn(n) - own[name]})
	}
	return list
}

// reportWaiting reports that n executors fit on no node, with the reason of each.
func (pl *placement) reportWaiting(a *application, n int) {
	reason := pl.refusal(a, n)
	all, running := a.executors.count()
	if pl.refusedEverywhere(a) && all == 0 && running == 0 {
		a.executors.final = reason
		a.updates.setState(api.ExecutorState{ID: strconv.Itoa(a.executors.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.executors.next++
		return
	}
	a.updates.setState(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// refusedEverywhere reports whether every node has refused for a reason that will not pass.
func (pl *placement) refusedEverywhere(a *application) bool {
	for name, n := range pl.reg.nodes {
		s := a.orders.deliveries[name]
		if !n.holdingsKnown {
			return false
		}
		never := n.memory < a.Template.Memory
		if !never && (s == nil || s.memoryFull || !pl.now.Before(s.refused)) {
			return false
		}
	}
	return len(pl.reg.nodes) > 0
}
