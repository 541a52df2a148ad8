package application

import (
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Times of the service.
const (
	// holdingsWait is how long a new application waits for the holdings of all
	// nodes, so that no executors are started that it has already.
	holdingsWait = 2 * time.Second
	// missingFor is how long a node may be missing from the memberships before it is
	// lost: a master that has restarted publishes an empty one.
	missingFor = 3 * time.Second
	// A node that refused an executor is not tried again for a while, for a
	// shorter one when it only had no memory free.
	refusedFor    = 30 * time.Second
	memoryFullFor = 2 * time.Second
)

// registry is the state of the service. Its service's lock guards it. Time is an
// argument, and what follows from a change is left in effects.
type registry struct {
	frontend  string
	address   string        // where nodes fetch files
	lease     time.Duration // for which an application may be silent
	nodes     map[string]*node
	apps      map[string]*application
	cancelled []cancelled // the oldest first
	groups    int         // of the cluster
	effects   effects
}

// effects is what follows from a change, for the service to carry out.
type effects struct {
	orders   map[string]bool // nodes for which an order is due
	submit   []Job
	withdraw []withdrawal
}

// node is a node monitor of a membership.
type node struct {
	name          string
	address       string
	host          string
	incarnation   int64
	memory        int64         // MB, as the membership has it
	used          int64         // MB, by its last holdings
	holdingsKnown bool          // they have arrived once
	askedAt       time.Time     // when its last holdings were requested
	missingSince  time.Time     // since when it is missing from the memberships; zero while it is on one
	wake          chan struct{} // orders are due; of size 1
	stop          func()        // ends its goroutines
}

// application is one that is served, or that has ended and whose nodes have not all
// accepted that yet.
type application struct {
	api.Application
	tenure      int64
	accepted    bool  // by a node
	sequence    int64 // of its orders
	began       time.Time
	lastContact time.Time
	wants       api.Wants
	placeable   bool
	filesReady  bool   // its files have arrived
	ended       string // why, "" while it is not
	conflict    string // the other user of its id, "" for none
	next        int    // number of the next executor
	executors   map[string]*executor
	deliveries  map[string]*delivery
	levels      map[string]*level
	jobs        int // that were submitted
	restarts    restarts
	final       string // why nothing more is started, "" while executors are
	updates     updates
}

// executor is one that was ordered from a node or found there.
type executor struct {
	id          string
	node        string
	incarnation int64 // of the node
	state       api.ExecutorState
	seen        bool   // in the node's holdings
	stop        bool   // it is to be stopped, and is not replaced
	holds       string // key of the job that holds its slots, "" for none
}

// delivery is the state of an application's orders to one node.
type delivery struct {
	due        int64     // sequence of the last change for it
	done       int64     // sequence that it has accepted
	since      time.Time // of that
	refused    time.Time // until then no executor is ordered from it
	reason     string    // of its refusal
	memoryFull bool      // it only had no memory free
}

func newRegistry(frontend, address string, lease time.Duration) *registry {
	return &registry{frontend: frontend, address: address, lease: lease, nodes: map[string]*node{}, apps: map[string]*application{}, effects: effects{orders: map[string]bool{}}}
}

// register adds an application; a repetition by the same process changes nothing.
func (reg *registry) register(r *api.Application, now time.Time) error {
	a := reg.apps[r.ID]
	bad := func(p api.Problem, what, next string, after time.Duration) error {
		return &api.Error{Problem: p, What: what, Subject: subject(r.ID), Tried: "registering it", Next: next, RetryAfter: after}
	}
	if err := reg.cancelledError(r.ID, r.Incarnation); err != nil {
		return err
	}
	switch {
	case a == nil && len(reg.apps) >= maxApplications:
		return bad(api.Busy, "the frontend serves "+strconv.Itoa(len(reg.apps))+" applications, its limit", "register with another frontend, or later", time.Second)
	case a != nil && a.ended != "":
		return bad(api.NotReady, "an application of this id is being ended: "+a.ended, "try again when its executors have ended", 200*time.Millisecond)
	case a != nil && a.Incarnation != r.Incarnation:
		return bad(api.Invalid, "another process with this id is alive", "choose another id, or wait until the other has been silent for "+reg.lease.String(), 0)
	case a != nil:
		a.lastContact = now
		return nil
	}
	reg.apps[r.ID] = &application{
		Application: *r, tenure: 1, began: now, lastContact: now, next: 1, executors: map[string]*executor{}, deliveries: map[string]*delivery{},
		levels: map[string]*level{}, updates: newUpdates(),
	}
	return nil
}

func subject(id string) string { return "application " + strconv.Quote(id) }

// maxApplications bounds the applications of one frontend.
const maxApplications = 1000

// lookup returns an application that is served, and renews its lease.
func (reg *registry) lookup(id string, incarnation int64, now time.Time) (*application, error) {
	if err := reg.cancelledError(id, incarnation); err != nil {
		return nil, err
	}
	a := reg.apps[id]
	if a == nil || a.ended != "" || a.Incarnation != incarnation {
		return nil, &api.Error{Problem: api.NotFound, What: "it is not registered here, or another process has its id", Subject: subject(id),
			Tried: "looking it up at frontend " + reg.frontend, Next: "register it again"}
	}
	if a.conflict != "" {
		return nil, &api.Error{Problem: api.Invalid, What: a.conflict, Subject: subject(id), Tried: "serving it", Next: "choose another id, or end the other application"}
	}
	a.lastContact = now
	return a, nil
}

// deliveryTo returns the state of an application's orders to a node.
func (a *application) deliveryTo(node string) *delivery {
	s := a.deliveries[node]
	if s == nil {
		s = &delivery{}
		a.deliveries[node] = s
	}
	return s
}

// orderDue marks an order to a node as due.
func (reg *registry) orderDue(a *application, node string) {
	a.sequence++
	a.deliveryTo(node).due = a.sequence
	reg.effects.orders[node] = true
}

// end ends an application: its grants are withdrawn and its nodes are ordered to
// stop its executors.
func (reg *registry) end(a *application, why string) {
	if a.ended != "" {
		return
	}
	a.ended = why
	reg.cancelJobs(a)
	for name := range a.deliveries {
		reg.orderDue(a, name)
	}
	reg.forgetEnded(a)
}

// cancelJobs cancels all jobs of an application.
func (reg *registry) cancelJobs(a *application) {
	for name := range a.levels {
		reg.dropLevel(a, name)
	}
	for _, p := range a.executors {
		reg.freeSlots(p)
	}
	a.updates.next() // wakes a caller that waits for news
}

// supersede forgets an application that another frontend serves.
func (reg *registry) supersede(a *application) {
	a.ended = "another frontend serves it"
	reg.cancelJobs(a)
	delete(reg.apps, a.ID)
}

// forgetEnded forgets an application that has ended, when all its nodes have
// accepted that.
func (reg *registry) forgetEnded(a *application) {
	if a.ended == "" {
		return
	}
	for name, s := range a.deliveries {
		if s.done < s.due && reg.nodes[name] != nil {
			return
		}
	}
	delete(reg.apps, a.ID)
}

// order returns the order that is due to a node, nil when none is.
func (reg *registry) order(a *application, node string) *wire.Order {
	s := a.deliveries[node]
	if s == nil || s.done >= s.due {
		return nil
	}
	o := &wire.Order{Frontend: reg.frontend, Address: reg.address, Tenure: a.tenure, Sequence: a.sequence, Application: a.Application, Over: a.ended != ""}
	for _, p := range a.executors {
		if p.node == node && !p.stop && a.ended == "" {
			o.Executors = append(o.Executors, p.id)
		}
	}
	return o
}
