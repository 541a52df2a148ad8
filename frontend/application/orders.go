package application

import (
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// orders is the state of the orders of one application. An order states all of its
// executors on a node.
type orders struct {
	tenure     int64
	accepted   bool  // a node has accepted one of this tenure or a lower one
	sequence   int64 // of the last
	deliveries map[string]*delivery
	effects    *effects
}

// delivery is the state of the orders to one node.
type delivery struct {
	due        int64     // sequence of the last change for it
	done       int64     // sequence that the node has accepted
	since      time.Time // of that
	refused    time.Time // until then no executor is ordered from it
	reason     string    // of its refusal
	memoryFull bool      // it only had no memory free
}

func newOrders(e *effects) orders {
	return orders{tenure: 1, deliveries: map[string]*delivery{}, effects: e}
}

// to returns the state of the orders to a node.
func (o *orders) to(node string) *delivery {
	s := o.deliveries[node]
	if s == nil {
		s = &delivery{}
		o.deliveries[node] = s
	}
	return s
}

// due marks an order to a node as due.
func (o *orders) due(node string) {
	o.sequence++
	o.to(node).due = o.sequence
	o.effects.orders[node] = true
}

// allDue marks an order to every node that has received one as due.
func (o *orders) allDue() {
	for node := range o.deliveries {
		o.due(node)
	}
}

// order returns the order that is due to a node, nil when none is.
func (reg *registry) order(a *application, node string) *wire.Order {
	s := a.orders.deliveries[node]
	if s == nil || s.done >= s.due {
		return nil
	}
	o := &wire.Order{Frontend: reg.frontend, Address: reg.address, Tenure: a.orders.tenure, Sequence: a.orders.sequence, Application: a.Application, Over: a.ended != ""}
	for _, p := range a.executors.byID {
		if p.node == node && !p.stop && a.ended == "" {
			o.Executors = append(o.Executors, p.id)
		}
	}
	return o
}
