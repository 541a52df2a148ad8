package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// answered takes a node's answer to an order.
func (b *book) answered(o *wire.Order, name string, r wire.OrderReply, now time.Time) {
	a := b.apps[o.Application.ID]
	if a == nil || a.Incarnation != o.Application.Incarnation || a.tenure != o.Tenure {
		return // it has been ended, or tells something else now
	}
	if r.Accepted {
		a.accepted = true
		s := a.shareOf(name)
		s.done, s.since = max(s.done, o.Sequence), now
		b.leave(a)
		return
	}
	b.surpassed(a, name, r.Incarnation, r.Tenure, r.Frontend)
}

// surpassed takes note that a node follows another order of the application's id.
func (b *book) surpassed(a *application, node string, incarnation, tenure int64, frontend string) {
	switch {
	case a.over != "":
		s := a.shareOf(node)
		s.done = s.due // it is another's to end
		b.leave(a)
	case incarnation != a.Incarnation && frontend == b.frontend:
		// What this frontend ordered for an earlier process of that id; the lease of
		// that one has ended it here, and will there.
	case incarnation != a.Incarnation:
		a.conflict = fmt.Sprintf("another process with this id is alive, registered with frontend %s", frontend)
		a.news.next()
	case a.accepted && tenure > a.tenure:
		b.supersede(a)
	case tenure >= a.tenure:
		a.tenure = tenure + 1
		for name := range a.nodes {
			b.tell(a, name)
		}
	}
}

// holdings takes what a node holds; asked is when the question was put.
func (b *book) holdings(name string, h *wire.Holdings, asked, now time.Time) {
	n := b.nodes[name]
	if n == nil {
		return
	}
	n.heard, n.used, n.asked = true, h.Used, asked
	if h.Memory > 0 {
		n.memory = h.Memory
	}
	held := map[string]*wire.HeldApplication{}
	for i := range h.Applications {
		held[h.Applications[i].ID] = &h.Applications[i]
	}
	for id, a := range b.apps { // they do not depend on each other
		if v := held[id]; v != nil && (v.Incarnation != a.Incarnation || v.Frontend != b.frontend || v.Tenure != a.tenure) {
			b.foreign(a, name, h.Incarnation, v)
		} else if a.over == "" {
			b.compare(a, n, h.Incarnation, v, now)
		}
	}
	b.placeAll(now)
}

// foreign takes over what a node holds of an application for another frontend, or
// for this one before, or lets go of the application.
func (b *book) foreign(a *application, name string, incarnation int64, v *wire.HeldApplication) {
	if v.Incarnation != a.Incarnation || v.Tenure >= a.tenure {
		b.surpassed(a, name, v.Incarnation, v.Tenure, v.Frontend)
	}
	if b.apps[a.ID] != a || a.over != "" || v.Incarnation != a.Incarnation {
		return
	}
	a.next = max(a.next, v.Last+1)
	for _, x := range v.Executors {
		id := x.State.ID
		if a.executors[id] != nil || x.State.State == api.ExecutorExited || x.Refused {
			continue
		}
		a.executors[id] = &placed{id: id, node: name, incarnation: incarnation, state: x.State, seen: true}
		a.news.tell(x.State)
		a.next = max(a.next, number(id)+1)
		b.holdSlots(a, a.executors[id], x.Slots-x.Held)
	}
	b.tell(a, name)
}

// compare takes the states of an application's executors at a node, v nil when it
// holds nothing of it. One that was given up with its node, and lives, is to end.
func (b *book) compare(a *application, n *node, incarnation int64, v *wire.HeldApplication, now time.Time) {
	held := map[string]*wire.HeldExecutor{}
	if v != nil {
		for i := range v.Executors {
			held[v.Executors[i].State.ID] = &v.Executors[i]
		}
	}
	s := a.shareOf(n.name)
	for id, p := range a.executors {
		if p.node != n.name {
			continue
		}
		x := held[id]
		switch {
		case x != nil && x.Refused:
			b.refused(a, p, x, now)
		case x != nil && x.State.State == api.ExecutorExited:
			b.exited(a, p, x.State, x.Ran, now)
		case x != nil:
			p.seen, p.state = true, x.State
			a.news.tell(x.State)
			b.holdSlots(a, p, x.Slots-x.Held)
		case p.incarnation != incarnation || !s.since.IsZero() && s.done >= s.due && n.asked.After(s.since):
			b.vanished(a, p, "its node monitor ended, and it with it")
		}
	}
	for id, x := range held {
		if p := a.executors[id]; (p == nil || p.node != n.name) && !x.Refused && x.State.State != api.ExecutorExited && s.done >= s.due {
			b.tell(a, n.name) // it was given up, and is to end
			break
		}
	}
	if v == nil && s.done > 0 && n.asked.After(s.since) {
		s.done, s.since = 0, time.Time{} // it was told once, and knows no more
		b.tell(a, n.name)
	}
}

// refused takes an executor off a node that cannot have it.
func (b *book) refused(a *application, p *placed, x *wire.HeldExecutor, now time.Time) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	s := a.shareOf(p.node)
	s.reason, s.crowded = x.State.Reason, x.State.State == api.ExecutorWaiting
	s.refused = now.Add(refusedFor)
	if s.crowded {
		s.refused = now.Add(crowdedFor)
	} else {
		a.news.tell(x.State)
		a.news.note(x.State.Reason)
	}
	b.tell(a, p.node)
}

// exited takes note of the end of an executor.
func (b *book) exited(a *application, p *placed, s api.ExecutorState, ran time.Duration, now time.Time) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	b.tell(a, p.node)
	if !p.stop {
		_, running := a.living()
		if a.restarts.failed(now, ran, running) {
			s.Final = true
			a.final = s.Reason
			a.news.note(fmt.Sprintf("%s: %d executors in a row have ended soon after their start, and none runs (while replacing them); no other one is started: correct what the last one says and start the application again; executor %s on node %s: %s",
				subject(a.ID), a.restarts.failures, p.id, p.node, s.Reason))
		}
	}
	a.news.tell(s)
}

// vanished takes note of an executor that its node does not know any more. It is
// replaced at once: its end was none of its own.
func (b *book) vanished(a *application, p *placed, why string) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	s := p.state
	s.State, s.ExitStatus = api.ExecutorExited, -1
	s.Reason = (&api.Error{What: why, Subject: fmt.Sprintf("executor %s of application %q on node %q", p.id, a.ID, p.node), Next: "nothing; another one is started elsewhere"}).Error()
	a.news.tell(s)
}

// lose takes note that a node is gone.
func (b *book) lose(name string, now time.Time) {
	delete(b.nodes, name)
	for _, a := range b.apps { // they do not depend on each other
		for _, p := range a.executors {
			if p.node == name {
				b.vanished(a, p, "its node is lost")
			}
		}
		delete(a.nodes, name)
		b.leave(a)
	}
	b.placeAll(now)
}

// pass does what time alone brings about.
func (b *book) pass(now time.Time) {
	for _, a := range b.apps { // they do not depend on each other
		if silent := now.Sub(a.heard); silent > b.lease && a.over == "" {
			b.end(a, fmt.Sprintf("it was silent for %v", b.lease))
			continue
		}
		if a.over == "" {
			b.replaceOverdue(a, now)
		}
	}
	b.placeAll(now)
	for name, n := range b.nodes {
		if !n.off.IsZero() && now.Sub(n.off) >= missingFor {
			n.stop()
			b.lose(name, now)
		}
	}
}
