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
	// nodes, lest executors are started that it has elsewhere.
	holdingsWait = 2 * time.Second
	// missingFor is how long a node may be missing from the memberships before it is lost: a master
	// that starts anew has an empty one.
	missingFor = 3 * time.Second
	// A node that refused an executor is not asked again for a while, a shorter
	// one when it only had no room.
	refusedFor    = 30 * time.Second
	memoryFullFor = 2 * time.Second
)

// registry is what the service knows. Its service's lock guards it. Time comes in as
// an argument, and what is to be done goes out by errands.
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

// effects is what follows from a change, to be done by the service.
type effects struct {
	orders   map[string]bool // nodes that are to be told something
	submit   []Job
	withdraw []withdrawal
}

// node is a node monitor on a membership.
type node struct {
	name          string
	address       string
	host          string
	incarnation   int64
	memory        int64         // MB, as the membership has it
	used          int64         // MB, as its last holdings say
	holdingsKnown bool          // its holdings came
	askedAt       time.Time     // when the question of the last holdings was put
	missingSince  time.Time     // since when it is off the memberships; zero while it is on one
	wake          chan struct{} // orders are due; of size 1
	stop          func()        // ends its goroutines
}

// application is one that is served, or that is over and whose nodes do not all
// know it yet.
type application struct {
	api.Application
	tenure      int64
	accepted    bool  // by a node
	sequence    int64 // of its orders
	began       time.Time
	lastContact time.Time
	wants       api.Wants
	placeable   bool
	filesReady  bool   // its files are here
	ended       string // why, "" while it is not
	conflict    string // who else has its id, "" for nobody
	next        int    // number of the next executor
	executors   map[string]*executor
	deliveries  map[string]*delivery
	levels      map[string]*level
	jobs        int // that were given out
	restarts    restarts
	final       string // why nothing more is started, "" when that is not so
	updates     updates
}

// executor is an executor that was ordered or found at a node.
type executor struct {
	id          string
	node        string
	incarnation int64 // of the node
	state       api.ExecutorState
	seen        bool   // in the node's holdings
	stop        bool   // it is to end, and is not replaced
	holds       string // key of the job that holds its slots, "" for none
}

// delivery is what a node is to know of an application.
type delivery struct {
	due        int64     // sequence of the last change that concerns it
	done       int64     // sequence that it has accepted
	since      time.Time // of that
	refused    time.Time // until then it is not asked for executors
	reason     string    // it gave
	memoryFull bool      // it only had no room
}

func newRegistry(frontend, address string, lease time.Duration) *registry {
	return &registry{frontend: frontend, address: address, lease: lease, nodes: map[string]*node{}, apps: map[string]*application{}, effects: effects{orders: map[string]bool{}}}
}

// register takes an application in; the same process again changes nothing.
func (b *registry) register(r *api.Application, now time.Time) error {
	a := b.apps[r.ID]
	bad := func(p api.Problem, what, next string, after time.Duration) error {
		return &api.Error{Problem: p, What: what, Subject: subject(r.ID), Tried: "registering it", Next: next, RetryAfter: after}
	}
	if err := b.cancelledError(r.ID, r.Incarnation); err != nil {
		return err
	}
	switch {
	case a == nil && len(b.apps) >= maxApplications:
		return bad(api.Busy, "the frontend serves "+strconv.Itoa(len(b.apps))+" applications, its limit", "register with another frontend, or later", time.Second)
	case a != nil && a.ended != "":
		return bad(api.NotReady, "an application of this id is being ended: "+a.ended, "try again when its executors are gone", 200*time.Millisecond)
	case a != nil && a.Incarnation != r.Incarnation:
		return bad(api.Invalid, "another process with this id is alive", "choose another id, or wait until the other has been silent for "+b.lease.String(), 0)
	case a != nil:
		a.lastContact = now
		return nil
	}
	b.apps[r.ID] = &application{
		Application: *r, tenure: 1, began: now, lastContact: now, next: 1, executors: map[string]*executor{}, deliveries: map[string]*delivery{},
		levels: map[string]*level{}, updates: newUpdates(),
	}
	return nil
}

func subject(id string) string { return "application " + strconv.Quote(id) }

// maxApplications bounds the applications of one frontend.
const maxApplications = 1000

// lookup returns an application that is served, and renews its lease.
func (b *registry) lookup(id string, incarnation int64, now time.Time) (*application, error) {
	if err := b.cancelledError(id, incarnation); err != nil {
		return nil, err
	}
	a := b.apps[id]
	if a == nil || a.ended != "" || a.Incarnation != incarnation {
		return nil, &api.Error{Problem: api.NotFound, What: "it is not registered here, or another process is with its id", Subject: subject(id),
			Tried: "looking it up at frontend " + b.frontend, Next: "register it again"}
	}
	if a.conflict != "" {
		return nil, &api.Error{Problem: api.Invalid, What: a.conflict, Subject: subject(id), Tried: "serving it", Next: "choose another id, or end the other application"}
	}
	a.lastContact = now
	return a, nil
}

// deliveryTo returns what a node is to know of an application.
func (a *application) deliveryTo(node string) *delivery {
	s := a.deliveries[node]
	if s == nil {
		s = &delivery{}
		a.deliveries[node] = s
	}
	return s
}

// orderDue makes an order to a node due.
func (b *registry) orderDue(a *application, node string) {
	a.sequence++
	a.deliveryTo(node).due = a.sequence
	b.effects.orders[node] = true
}

// end ends an application: its grants are taken back and its nodes are told.
func (b *registry) end(a *application, why string) {
	if a.ended != "" {
		return
	}
	a.ended = why
	b.cancelJobs(a)
	for name := range a.deliveries {
		b.orderDue(a, name)
	}
	b.forgetEnded(a)
}

// cancelJobs cancels all jobs of an application.
func (b *registry) cancelJobs(a *application) {
	for name := range a.levels {
		b.dropLevel(a, name)
	}
	for _, p := range a.executors {
		b.freeSlots(p)
	}
	a.updates.next() // who waits for news is to look again
}

// supersede forgets an application that another frontend serves.
func (b *registry) supersede(a *application) {
	a.ended = "another frontend serves it"
	b.cancelJobs(a)
	delete(b.apps, a.ID)
}

// forgetEnded forgets an application that is over, when all its nodes know.
func (b *registry) forgetEnded(a *application) {
	if a.ended == "" {
		return
	}
	for name, s := range a.deliveries {
		if s.done < s.due && b.nodes[name] != nil {
			return
		}
	}
	delete(b.apps, a.ID)
}

// order is what a node is to be told now, nil when it knows.
func (b *registry) order(a *application, node string) *wire.Order {
	s := a.deliveries[node]
	if s == nil || s.done >= s.due {
		return nil
	}
	o := &wire.Order{Frontend: b.frontend, Address: b.address, Tenure: a.tenure, Sequence: a.sequence, Application: a.Application, Over: a.ended != ""}
	for _, p := range a.executors {
		if p.node == node && !p.stop && a.ended == "" {
			o.Executors = append(o.Executors, p.id)
		}
	}
	return o
}
