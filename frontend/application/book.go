package application

import (
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Times of the service.
const (
	// settleAfter is how long a new application waits for the holdings of all
	// nodes, lest executors are started that it has elsewhere.
	settleAfter = 2 * time.Second
	// missingFor is how long a node may be missing from the memberships before it is lost: a master
	// that starts anew has an empty one.
	missingFor = 3 * time.Second
	// A node that refused an executor is not asked again for a while, a shorter
	// one when it only had no room.
	refusedFor = 30 * time.Second
	crowdedFor = 2 * time.Second
)

// book is what the service knows. Its service's lock guards it. Time comes in as
// an argument, and what is to be done goes out by errands.
type book struct {
	frontend  string
	address   string        // where nodes fetch files
	lease     time.Duration // for which an application may be silent
	nodes     map[string]*node
	apps      map[string]*application
	cancelled []cancelled // the oldest first
	groups    int         // of the cluster
	errands   errands
}

// errands is what follows from a change, to be done by the service.
type errands struct {
	orders map[string]bool // nodes that are to be told something
	give   []Job
	cancel []cut
}

// node is a node monitor on a membership.
type node struct {
	name        string
	address     string
	host        string
	incarnation int64
	memory      int64         // MB, as the membership has it
	used        int64         // MB, as its last holdings say
	heard       bool          // its holdings came
	asked       time.Time     // when the question of the last holdings was put
	off         time.Time     // since when it is off the memberships; zero while it is on one
	wake        chan struct{} // orders are due; of size 1
	stop        func()        // ends its goroutines
}

// application is one that is served, or that is over and whose nodes do not all
// know it yet.
type application struct {
	api.Application
	tenure    int64
	accepted  bool  // by a node
	sequence  int64 // of its orders
	began     time.Time
	heard     time.Time
	wants     api.Wants
	settled   bool
	furnished bool   // its files are here
	over      string // why, "" while it is not
	conflict  string // who else has its id, "" for nobody
	next      int    // number of the next executor
	executors map[string]*placed
	nodes     map[string]*share
	levels    map[string]*level
	jobs      int // that were given out
	restarts  restarts
	final     string // why nothing more is started, "" when that is not so
	news      news
}

// placed is an executor that was ordered or found at a node.
type placed struct {
	id          string
	node        string
	incarnation int64 // of the node
	state       api.ExecutorState
	seen        bool   // in the node's holdings
	stop        bool   // it is to end, and is not replaced
	holds       string // key of the job that holds its slots, "" for none
}

// share is what a node is to know of an application.
type share struct {
	due     int64     // sequence of the last change that concerns it
	done    int64     // sequence that it has accepted
	since   time.Time // of that
	refused time.Time // until then it is not asked for executors
	reason  string    // it gave
	crowded bool      // it only had no room
}

func newBook(frontend, address string, lease time.Duration) *book {
	return &book{frontend: frontend, address: address, lease: lease, nodes: map[string]*node{}, apps: map[string]*application{}, errands: errands{orders: map[string]bool{}}}
}

// register takes an application in; the same process again changes nothing.
func (b *book) register(r *api.Application, now time.Time) error {
	a := b.apps[r.ID]
	bad := func(p api.Problem, what, next string, after time.Duration) error {
		return &api.Error{Problem: p, What: what, Subject: subject(r.ID), Tried: "registering it", Next: next, RetryAfter: after}
	}
	if err := b.verdict(r.ID, r.Incarnation); err != nil {
		return err
	}
	switch {
	case a == nil && len(b.apps) >= maxApplications:
		return bad(api.Busy, "the frontend serves "+strconv.Itoa(len(b.apps))+" applications, its limit", "register with another frontend, or later", time.Second)
	case a != nil && a.over != "":
		return bad(api.NotReady, "an application of this id is being ended: "+a.over, "try again when its executors are gone", 200*time.Millisecond)
	case a != nil && a.Incarnation != r.Incarnation:
		return bad(api.Invalid, "another process with this id is alive", "choose another id, or wait until the other has been silent for "+b.lease.String(), 0)
	case a != nil:
		a.heard = now
		return nil
	}
	b.apps[r.ID] = &application{
		Application: *r, tenure: 1, began: now, heard: now, next: 1, executors: map[string]*placed{}, nodes: map[string]*share{},
		levels: map[string]*level{}, news: newNews(),
	}
	return nil
}

func subject(id string) string { return "application " + strconv.Quote(id) }

// maxApplications bounds the applications of one frontend.
const maxApplications = 1000

// find returns an application that is served, and renews its lease.
func (b *book) find(id string, incarnation int64, now time.Time) (*application, error) {
	if err := b.verdict(id, incarnation); err != nil {
		return nil, err
	}
	a := b.apps[id]
	if a == nil || a.over != "" || a.Incarnation != incarnation {
		return nil, &api.Error{Problem: api.NotFound, What: "it is not registered here, or another process is with its id", Subject: subject(id),
			Tried: "looking it up at frontend " + b.frontend, Next: "register it again"}
	}
	if a.conflict != "" {
		return nil, &api.Error{Problem: api.Invalid, What: a.conflict, Subject: subject(id), Tried: "serving it", Next: "choose another id, or end the other application"}
	}
	a.heard = now
	return a, nil
}

// shareOf returns what a node is to know of an application.
func (a *application) shareOf(node string) *share {
	s := a.nodes[node]
	if s == nil {
		s = &share{}
		a.nodes[node] = s
	}
	return s
}

// tell makes an order to a node due.
func (b *book) tell(a *application, node string) {
	a.sequence++
	a.shareOf(node).due = a.sequence
	b.errands.orders[node] = true
}

// end ends an application: its grants are taken back and its nodes are told.
func (b *book) end(a *application, why string) {
	if a.over != "" {
		return
	}
	a.over = why
	b.letGo(a)
	for name := range a.nodes {
		b.tell(a, name)
	}
	b.leave(a)
}

// letGo cancels all jobs of an application.
func (b *book) letGo(a *application) {
	for name := range a.levels {
		b.dropLevel(a, name)
	}
	for _, p := range a.executors {
		b.freeSlots(p)
	}
	a.news.next() // who waits for news is to look again
}

// supersede forgets an application that another frontend serves.
func (b *book) supersede(a *application) {
	a.over = "another frontend serves it"
	b.letGo(a)
	delete(b.apps, a.ID)
}

// leave forgets an application that is over, when all its nodes know.
func (b *book) leave(a *application) {
	if a.over == "" {
		return
	}
	for name, s := range a.nodes {
		if s.done < s.due && b.nodes[name] != nil {
			return
		}
	}
	delete(b.apps, a.ID)
}

// order is what a node is to be told now, nil when it knows.
func (b *book) order(a *application, node string) *wire.Order {
	s := a.nodes[node]
	if s == nil || s.done >= s.due {
		return nil
	}
	o := &wire.Order{Frontend: b.frontend, Address: b.address, Tenure: a.tenure, Sequence: a.sequence, Application: a.Application, Over: a.over != ""}
	for _, p := range a.executors {
		if p.node == node && !p.stop && a.over == "" {
			o.Executors = append(o.Executors, p.id)
		}
	}
	return o
}
