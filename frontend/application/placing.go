package application

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
func (b *book) place(a *application, now time.Time) {
	if a.over != "" || !a.furnished || !b.settle(a, now) {
		return
	}
	need := b.lacking(a, now)
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
	nodes := spread(b.places(a, now), need, a.Template.Memory)
	for _, name := range nodes {
		id := strconv.Itoa(a.next)
		a.next++
		a.executors[id] = &placed{id: id, node: name, incarnation: b.nodes[name].incarnation, state: api.ExecutorState{ID: id, Node: name, Host: b.nodes[name].host, State: api.ExecutorStarting}}
		b.tell(a, name)
	}
	if len(nodes) < need {
		b.wait(a, need-len(nodes), now)
		return
	}
	a.news.retract("")
}

// lacking is how many executors more are wanted, below zero when there are too
// many. Who wants one on every node lacks one for each that has none and has room,
// and one at least when there is none at all.
func (b *book) lacking(a *application, now time.Time) int {
	all, _ := a.living()
	if a.wants.Executors != api.EveryNode {
		return a.wants.Executors - all
	}
	empty := 0
	for _, p := range b.places(a, now) {
		if p.own == 0 && p.free >= a.Template.Memory {
			empty++
		}
	}
	if all == 0 {
		return max(1, empty)
	}
	return empty
}

// settle says whether executors may be placed: when the holdings of all nodes have
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
func (b *book) places(a *application, now time.Time) []place {
	ordered := b.ordered()
	var list []place
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		n := b.nodes[name]
		if s := a.nodes[name]; !n.heard || !n.off.IsZero() || s != nil && now.Before(s.refused) {
			continue
		}
		p := place{node: name, free: n.memory - n.used - ordered[name]}
		for _, x := range a.executors {
			if x.node == name {
				p.own++
			}
		}
		list = append(list, p)
	}
	return list
}

// ordered is the memory, by node, of executors that its last holdings did not
// show.
func (b *book) ordered() map[string]int64 {
	m := map[string]int64{}
	for _, a := range b.apps {
		for _, p := range a.executors {
			if !p.seen {
				m[p.node] += a.Template.Memory
			}
		}
	}
	return m
}

// wait tells that executors fit nowhere, with the reason of each node.
func (b *book) wait(a *application, n int, now time.Time) {
	reason := b.whyNowhere(a, n, now)
	all, running := a.living()
	if b.hopeless(a, now) && all == 0 && running == 0 {
		a.final = reason
		a.news.tell(api.ExecutorState{ID: strconv.Itoa(a.next), State: api.ExecutorExited, Reason: reason, Final: true})
		a.next++
		return
	}
	a.news.tell(api.ExecutorState{State: api.ExecutorWaiting, Reason: reason}) // it has no number yet
}

// hopeless says whether every node has refused for a reason that will not pass.
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

// holders says which applications take a node's memory, those that take most first;
// what is not of this frontend's is the rest.
func (b *book) holders(node string, taken int64) string {
	type share struct {
		who    string
		memory int64
	}
	var list []share
	for id, a := range b.apps {
		s := share{who: id}
		for _, p := range a.executors {
			if p.node == node {
				s.memory += a.Template.Memory
			}
		}
		if taken -= s.memory; s.memory > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y share) int { return cmp.Or(cmp.Compare(y.memory, x.memory), cmp.Compare(x.who, y.who)) })
	if taken > 0 {
		list = append(list, share{"applications of other frontends", taken})
	}
	const most = 5
	var parts []string
	for i, s := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d others", len(list)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d MB", s.who, s.memory))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (b *book) whyNowhere(a *application, n int, now time.Time) string {
	var parts []string
	ordered := b.ordered()
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		const most = 3
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d nodes more", len(b.nodes)-most))
			break
		}
		v, s := b.nodes[name], a.nodes[name]
		switch {
		case s != nil && now.Before(s.refused):
			parts = append(parts, s.reason)
		case !v.heard:
			parts = append(parts, fmt.Sprintf("node %q does not answer", name))
		default:
			parts = append(parts, fmt.Sprintf("node %q has %d MB for executors, %d MB of them taken%s", name, v.memory, v.used+ordered[name], b.holders(name, v.used+ordered[name])))
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
