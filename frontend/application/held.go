package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// orderAnswered takes a node's answer to an order.
func (b *registry) orderAnswered(o *wire.Order, name string, r wire.OrderReply, now time.Time) {
	a := b.apps[o.Application.ID]
	if a == nil || a.Incarnation != o.Application.Incarnation || a.tenure != o.Tenure {
		return // it has been ended, or tells something else now
	}
	if r.Accepted {
		a.accepted = true
		s := a.deliveryTo(name)
		s.done, s.since = max(s.done, o.Sequence), now
		b.forgetEnded(a)
		return
	}
	b.orderSuperseded(a, name, r.Incarnation, r.Tenure, r.Frontend)
}

// orderSuperseded takes note that a node follows another order of the application's id.
func (b *registry) orderSuperseded(a *application, node string, incarnation, tenure int64, frontend string) {
	switch {
	case a.ended != "":
		s := a.deliveryTo(node)
		s.done = s.due // it is another's to end
		b.forgetEnded(a)
	case incarnation != a.Incarnation && frontend == b.frontend:
		// What this frontend ordered for an earlier process of that id; the lease of
		// that one has ended it here, and will there.
	case incarnation != a.Incarnation:
		a.conflict = fmt.Sprintf("another process with this id is alive, registered with frontend %s", frontend)
		a.updates.next()
	case a.accepted && tenure > a.tenure:
		b.supersede(a)
	case tenure >= a.tenure:
		a.tenure = tenure + 1
		for name := range a.deliveries {
			b.orderDue(a, name)
		}
	}
}

// applyHoldings takes what a node holds; asked is when the question was put.
func (b *registry) applyHoldings(name string, h *wire.Holdings, asked, now time.Time) {
	n := b.nodes[name]
	if n == nil {
		return
	}
	n.holdingsKnown, n.used, n.askedAt = true, h.Used, asked
	if h.Memory > 0 {
		n.memory = h.Memory
	}
	held := map[string]*wire.HeldApplication{}
	for i := range h.Applications {
		held[h.Applications[i].ID] = &h.Applications[i]
	}
	for id, a := range b.apps { // they do not depend on each other
		if v := held[id]; v != nil && (v.Incarnation != a.Incarnation || v.Frontend != b.frontend || v.Tenure != a.tenure) {
			b.takeOver(a, name, h.Incarnation, v)
		} else if a.ended == "" {
			b.reconcile(a, n, h.Incarnation, v, now)
		}
	}
	b.placeAll(now)
}

// takeOver takes over what a node holds of an application for another frontend, or
// for this one before, or lets go of the application.
func (b *registry) takeOver(a *application, name string, incarnation int64, v *wire.HeldApplication) {
	if v.Incarnation != a.Incarnation || v.Tenure >= a.tenure {
		b.orderSuperseded(a, name, v.Incarnation, v.Tenure, v.Frontend)
	}
	if b.apps[a.ID] != a || a.ended != "" || v.Incarnation != a.Incarnation {
		return
	}
	a.next = max(a.next, v.Last+1)
	for _, x := range v.Executors {
		id := x.State.ID
		if a.executors[id] != nil || x.State.State == api.ExecutorExited || x.Refused {
			continue
		}
		a.executors[id] = &executor{id: id, node: name, incarnation: incarnation, state: x.State, seen: true}
		a.updates.setState(x.State)
		a.next = max(a.next, number(id)+1)
		b.holdSlots(a, a.executors[id], x.Slots-x.Held)
	}
	b.orderDue(a, name)
}

// reconcile takes the states of an application's executors at a node, v nil when it
// holds nothing of it. One that was given up with its node, and lives, is to end.
func (b *registry) reconcile(a *application, n *node, incarnation int64, v *wire.HeldApplication, now time.Time) {
	held := map[string]*wire.HeldExecutor{}
	if v != nil {
		for i := range v.Executors {
			held[v.Executors[i].State.ID] = &v.Executors[i]
		}
	}
	s := a.deliveryTo(n.name)
	for id, p := range a.executors {
		if p.node != n.name {
			continue
		}
		x := held[id]
		switch {
		case x != nil && x.Refused:
			b.executorRefused(a, p, x, now)
		case x != nil && x.State.State == api.ExecutorExited:
			b.executorExited(a, p, x.State, x.Ran, now)
		case x != nil:
			p.seen, p.state = true, x.State
			a.updates.setState(x.State)
			b.holdSlots(a, p, x.Slots-x.Held)
		case p.incarnation != incarnation || !s.since.IsZero() && s.done >= s.due && n.askedAt.After(s.since):
			b.executorLost(a, p, "its node monitor ended, and it with it")
		}
	}
	for id, x := range held {
		if p := a.executors[id]; (p == nil || p.node != n.name) && !x.Refused && x.State.State != api.ExecutorExited && s.done >= s.due {
			b.orderDue(a, n.name) // it was given up, and is to end
			break
		}
	}
	if v == nil && s.done > 0 && n.askedAt.After(s.since) {
		s.done, s.since = 0, time.Time{} // it was told once, and knows no more
		b.orderDue(a, n.name)
	}
}

// executorRefused takes an executor off a node that cannot have it.
func (b *registry) executorRefused(a *application, p *executor, x *wire.HeldExecutor, now time.Time) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	s := a.deliveryTo(p.node)
	s.reason, s.memoryFull = x.State.Reason, x.State.State == api.ExecutorWaiting
	s.refused = now.Add(refusedFor)
	if s.memoryFull {
		s.refused = now.Add(memoryFullFor)
	} else {
		a.updates.setState(x.State)
		a.updates.addNote(x.State.Reason)
	}
	b.orderDue(a, p.node)
}

// executorExited takes note of the end of an executor.
func (b *registry) executorExited(a *application, p *executor, s api.ExecutorState, ran time.Duration, now time.Time) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	b.orderDue(a, p.node)
	if !p.stop {
		_, running := a.countExecutors()
		if a.restarts.executorFailed(now, ran, running) {
			s.Final = true
			a.final = s.Reason
			a.updates.addNote(fmt.Sprintf("%s: %d executors in a row have ended soon after their start, and none runs (while replacing them); no other one is started: correct what the last one says and start the application again; executor %s on node %s: %s",
				subject(a.ID), a.restarts.failures, p.id, p.node, s.Reason))
		}
	}
	a.updates.setState(s)
}

// executorLost takes note of an executor that its node does not know any more. It is
// replaced at once: its end was none of its own.
func (b *registry) executorLost(a *application, p *executor, why string) {
	delete(a.executors, p.id)
	b.freeSlots(p)
	s := p.state
	s.State, s.ExitStatus = api.ExecutorExited, -1
	s.Reason = (&api.Error{What: why, Subject: fmt.Sprintf("executor %s of application %q on node %q", p.id, a.ID, p.node), Next: "nothing; another one is started elsewhere"}).Error()
	a.updates.setState(s)
}

// nodeLost takes note that a node is gone.
func (b *registry) nodeLost(name string, now time.Time) {
	delete(b.nodes, name)
	for _, a := range b.apps { // they do not depend on each other
		for _, p := range a.executors {
			if p.node == name {
				b.executorLost(a, p, "its node is lost")
			}
		}
		delete(a.deliveries, name)
		b.forgetEnded(a)
	}
	b.placeAll(now)
}

// tick does what time alone brings about.
func (b *registry) tick(now time.Time) {
	for _, a := range b.apps { // they do not depend on each other
		if silent := now.Sub(a.lastContact); silent > b.lease && a.ended == "" {
			b.end(a, fmt.Sprintf("it was silent for %v", b.lease))
			continue
		}
		if a.ended == "" {
			b.replaceOverdue(a, now)
		}
	}
	b.placeAll(now)
	for name, n := range b.nodes {
		if !n.missingSince.IsZero() && now.Sub(n.missingSince) >= missingFor {
			n.stop()
			b.nodeLost(name, now)
		}
	}
}
