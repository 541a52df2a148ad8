package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// orderAnswered applies a node's answer to an order.
func (reg *registry) orderAnswered(o *wire.Order, name string, r wire.OrderReply, now time.Time) {
	a := reg.apps[o.Application.ID]
	if a == nil || a.Incarnation != o.Application.Incarnation || a.orders.tenure != o.Tenure {
		return // it has ended, or another order is due now
	}
	if r.Accepted {
		a.orders.accepted = true
		s := a.orders.to(name)
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
		s := a.orders.to(node)
		s.done = s.due // another frontend has to end it
		reg.forgetEnded(a)
	case incarnation != a.Incarnation && frontend == reg.frontend:
		// An order of this frontend for an earlier process of that id; its lease has
		// ended that one here, and will end it on the node.
	case incarnation != a.Incarnation:
		a.conflict = fmt.Sprintf("another process with this id is alive, registered with frontend %s", frontend)
		a.updates.next()
	case a.orders.accepted && tenure > a.orders.tenure:
		reg.supersede(a)
	case tenure >= a.orders.tenure:
		a.orders.tenure = tenure + 1
		a.orders.allDue()
	}
}

// applyHoldings applies what a node holds; requested is when that was requested.
func (reg *registry) applyHoldings(name string, h *wire.Holdings, requested, now time.Time) {
	n := reg.nodes[name]
	if n == nil {
		return
	}
	n.holdingsKnown, n.used, n.requestedAt = true, h.Used, requested
	if h.Memory > 0 {
		n.memory = h.Memory
	}
	held := map[string]*wire.HeldApplication{}
	for i := range h.Applications {
		held[h.Applications[i].ID] = &h.Applications[i]
	}
	for id, a := range reg.apps { // in any order
		if v := held[id]; v != nil && (v.Incarnation != a.Incarnation || v.Frontend != reg.frontend || v.Tenure != a.orders.tenure) {
			reg.takeOver(a, name, h.Incarnation, v)
		} else if a.ended == "" {
			a.reconcile(n, h.Incarnation, v, now)
		}
	}
	reg.placeAll(now)
}

// takeOver takes over what a node holds of an application for another frontend, or
// for an earlier process of this one, or ends the application here.
func (reg *registry) takeOver(a *application, name string, incarnation int64, v *wire.HeldApplication) {
	if v.Incarnation != a.Incarnation || v.Tenure >= a.orders.tenure {
		reg.orderSuperseded(a, name, v.Incarnation, v.Tenure, v.Frontend)
	}
	if reg.apps[a.ID] == a && a.ended == "" && v.Incarnation == a.Incarnation {
		a.adopt(name, incarnation, v)
	}
}

// nodeLost applies the loss of a node.
func (reg *registry) nodeLost(name string, now time.Time) {
	delete(reg.nodes, name)
	for _, a := range reg.apps { // in any order
		for _, p := range a.executors.byID {
			if p.node == name {
				a.executorLost(p, "its node is lost")
			}
		}
		delete(a.orders.deliveries, name)
		reg.forgetEnded(a)
	}
	reg.placeAll(now)
}

// postpone is called when this process did not run for a while: applications and nodes
// could not reach it, which does not count as their silence.
func (reg *registry) postpone(away time.Duration, now time.Time) {
	if away <= 0 {
		return
	}
	later := func(at time.Time) time.Time {
		if at = at.Add(away); at.After(now) {
			return now
		}
		return at
	}
	for _, a := range reg.apps { // in any order
		a.lastContact = later(a.lastContact)
	}
	for _, n := range reg.nodes { // in any order
		if !n.missingSince.IsZero() {
			n.missingSince = later(n.missingSince)
		}
	}
}

// tick applies the passing of time: leases, overdue levels and missing nodes.
func (reg *registry) tick(now time.Time) {
	for _, a := range reg.apps { // in any order
		if silent := now.Sub(a.lastContact); silent > reg.lease && a.ended == "" {
			reg.end(a, fmt.Sprintf("it was silent for %v", reg.lease))
			continue
		}
		if a.ended == "" && reg.groups > 1 { // with one group there is nowhere else to place them
			a.jobs.replaceOverdue(now)
		}
	}
	reg.placeAll(now)
	reg.closeOver(now, closingFor)
	for name, n := range reg.nodes {
		if !n.missingSince.IsZero() && now.Sub(n.missingSince) >= missingFor {
			n.stop()
			reg.nodeLost(name, now)
		}
	}
}
