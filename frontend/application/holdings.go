package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// orderAnswered applies a node's answer to an order.
func (reg *registry) orderAnswered(o *wire.Order, name string, r wire.OrderReply, now time.Time) {
	a := reg.apps[o.Application.ID]
	if a == nil || a.Incarnation != o.Application.Incarnation || a.tenure != o.Tenure {
		return // it has ended, or another order is due now
	}
	if r.Accepted {
		a.accepted = true
		s := a.deliveryTo(name)
		s.done, s.since = max(s.done, o.Sequence), now
		reg.forgetEnded(a)
		return
	}
	reg.orderSuperseded(a, name, r.Incarnation, r.Tenure, r.Frontend)
}

// orderSuperseded applies that a node follows another order for the application's id.
func (reg *registry) orderSuperseded(a *application, node string, incarnation, tenure int64, frontend string) {
	switch {
	case a.ended != "":
		s := a.deliveryTo(node)
		s.done = s.due // another frontend has to end it
		reg.forgetEnded(a)
	case incarnation != a.Incarnation && frontend == reg.frontend:
		// An order of this frontend for an earlier process of that id; its lease has
		// ended that one here, and will end it on the node.
	case incarnation != a.Incarnation:
		a.conflict = fmt.Sprintf("another process with this id is alive, registered with frontend %s", frontend)
		a.updates.next()
	case a.accepted && tenure > a.tenure:
		reg.supersede(a)
	case tenure >= a.tenure:
		a.tenure = tenure + 1
		for name := range a.deliveries {
			reg.orderDue(a, name)
		}
	}
}

// applyHoldings applies what a node holds; asked is when that was requested.
func (reg *registry) applyHoldings(name string, h *wire.Holdings, asked, now time.Time) {
	n := reg.nodes[name]
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
	for id, a := range reg.apps { // in any order
		if v := held[id]; v != nil && (v.Incarnation != a.Incarnation || v.Frontend != reg.frontend || v.Tenure != a.tenure) {
			reg.takeOver(a, name, h.Incarnation, v)
		} else if a.ended == "" {
			reg.reconcile(a, n, h.Incarnation, v, now)
		}
	}
	reg.placeAll(now)
}

// takeOver takes over what a node holds of an application for another frontend, or
// for an earlier process of this one, or gives the application up.
func (reg *registry) takeOver(a *application, name string, incarnation int64, v *wire.HeldApplication) {
	if v.Incarnation != a.Incarnation || v.Tenure >= a.tenure {
		reg.orderSuperseded(a, name, v.Incarnation, v.Tenure, v.Frontend)
	}
	if reg.apps[a.ID] != a || a.ended != "" || v.Incarnation != a.Incarnation {
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
		reg.holdSlots(a, a.executors[id], x.Slots-x.Held)
	}
	reg.orderDue(a, name)
}

// reconcile applies the states of an application's executors at a node; v is nil
// when the node holds nothing of it. An executor that was given up with its node,
// and runs, is stopped.
func (reg *registry) reconcile(a *application, n *node, incarnation int64, v *wire.HeldApplication, now time.Time) {
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
			reg.executorRefused(a, p, x, now)
		case x != nil && x.State.State == api.ExecutorExited:
			reg.executorExited(a, p, x.State, x.Ran, now)
		case x != nil:
			p.seen, p.state = true, x.State
			a.updates.setState(x.State)
			reg.holdSlots(a, p, x.Slots-x.Held)
		case p.incarnation != incarnation || !s.since.IsZero() && s.done >= s.due && n.askedAt.After(s.since):
			reg.executorLost(a, p, "its node monitor ended, and it with it")
		}
	}
	for id, x := range held {
		if p := a.executors[id]; (p == nil || p.node != n.name) && !x.Refused && x.State.State != api.ExecutorExited && s.done >= s.due {
			reg.orderDue(a, n.name) // it was given up, and has to be stopped
			break
		}
	}
	if v == nil && s.done > 0 && n.askedAt.After(s.since) {
		s.done, s.since = 0, time.Time{} // it has lost what was ordered
		reg.orderDue(a, n.name)
	}
}

// executorRefused removes an executor from a node that cannot run it.
func (reg *registry) executorRefused(a *application, p *executor, x *wire.HeldExecutor, now time.Time) {
	delete(a.executors, p.id)
	reg.freeSlots(p)
	s := a.deliveryTo(p.node)
	s.reason, s.memoryFull = x.State.Reason, x.State.State == api.ExecutorWaiting
	s.refused = now.Add(refusedFor)
	if s.memoryFull {
		s.refused = now.Add(memoryFullFor)
	} else {
		a.updates.setState(x.State)
		a.updates.addNote(x.State.Reason)
	}
	reg.orderDue(a, p.node)
}

// executorExited applies the end of an executor.
func (reg *registry) executorExited(a *application, p *executor, s api.ExecutorState, ran time.Duration, now time.Time) {
	delete(a.executors, p.id)
	reg.freeSlots(p)
	reg.orderDue(a, p.node)
	if !p.stop {
		_, running := a.countExecutors()
		if a.restarts.executorFailed(now, ran, running) {
			s.Final = true
			a.final = s.Reason
			a.updates.addNote(fmt.Sprintf("%s: %d executors in a row have ended soon after their start, and none runs (while replacing them); no other one is started: correct the cause that the last one reports and start the application again; executor %s on node %s: %s",
				subject(a.ID), a.restarts.failures, p.id, p.node, s.Reason))
		}
	}
	a.updates.setState(s)
}

// executorLost applies that a node no longer has an executor. It is replaced at
// once: it did not end by itself.
func (reg *registry) executorLost(a *application, p *executor, why string) {
	delete(a.executors, p.id)
	reg.freeSlots(p)
	s := p.state
	s.State, s.ExitStatus = api.ExecutorExited, -1
	s.Reason = (&api.Error{What: why, Subject: fmt.Sprintf("executor %s of application %q on node %q", p.id, a.ID, p.node), Next: "nothing; another one is started elsewhere"}).Error()
	a.updates.setState(s)
}

// nodeLost applies the loss of a node.
func (reg *registry) nodeLost(name string, now time.Time) {
	delete(reg.nodes, name)
	for _, a := range reg.apps { // in any order
		for _, p := range a.executors {
			if p.node == name {
				reg.executorLost(a, p, "its node is lost")
			}
		}
		delete(a.deliveries, name)
		reg.forgetEnded(a)
	}
	reg.placeAll(now)
}

// tick applies the passing of time: leases, overdue levels and missing nodes.
func (reg *registry) tick(now time.Time) {
	for _, a := range reg.apps { // in any order
		if silent := now.Sub(a.lastContact); silent > reg.lease && a.ended == "" {
			reg.end(a, fmt.Sprintf("it was silent for %v", reg.lease))
			continue
		}
		if a.ended == "" {
			reg.replaceOverdue(a, now)
		}
	}
	reg.placeAll(now)
	for name, n := range reg.nodes {
		if !n.missingSince.IsZero() && now.Sub(n.missingSince) >= missingFor {
			n.stop()
			reg.nodeLost(name, now)
		}
	}
}
