package application

import (
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Times of the service.
const (
	// holdingsWait is how long a new application waits for the holdings of all
	// nodes, so that no executors are started that it already has.
	holdingsWait = 2 * time.Second
	// missingFor is how long a node may be missing from the memberships before it is
	// lost: a master that has restarted publishes an empty one.
	missingFor = 3 * time.Second
	// A node that refused an executor is not tried again for a while, for a
	// shorter one when it only had no memory free.
	refusedFor    = 30 * time.Second
	memoryFullFor = 2 * time.Second
)

// registry is the state of the service, which its service's lock guards. Time is an
// argument, and a change leaves what is to be done in effects.
type registry struct {
	frontend  string
	address   string        // where nodes fetch files
	lease     time.Duration // for which an application may be silent
	nodes     map[string]*node
	apps      map[string]*application
	closing   []*application // that were removed, and whose grants may still be reported; the oldest first
	cancelled cancellations
	groups    int // of the cluster
	effects   effects
}

// effects is what the service has to do after a change.
type effects struct {
	orders   map[string]bool // nodes for which an order is due
	submit   []Job
	withdraw []withdrawal
	removed  []*application
	ended    []*api.JobUsage
}

// node is a node monitor of a membership.
type node struct {
	name          string
	address       string
	host          string
	incarnation   int64
	memory        int64         // MB, as the membership has it
	slots         int           // likewise
	used          int64         // MB, by its last holdings
	holdingsKnown bool          // they have arrived once
	requestedAt   time.Time     // when its last holdings were requested
	missingSince  time.Time     // since when it is missing from the memberships; zero while it is on one
	wake          chan struct{} // orders are due; of size 1
	stop          func()        // ends its goroutines
}

func newRegistry(frontend, address string, lease time.Duration) *registry {
	return &registry{frontend: frontend, address: address, lease: lease, nodes: map[string]*node{}, apps: map[string]*application{}, effects: effects{orders: map[string]bool{}}}
}

// register adds an application; a repetition by the same process changes nothing.
func (reg *registry) register(r *api.Application, now time.Time) error {
	a := reg.apps[r.ID]
	bad := func(p api.Problem, what, next string, after time.Duration) error {
		return badRegistration(p, r.ID, what, next, after)
	}
	if err := reg.cancelled.find(r.ID, r.Incarnation, reg.frontend); err != nil {
		return err
	}
	switch {
	case a == nil && len(reg.apps) >= maxApplications:
		return bad(api.Busy, "the frontend serves "+strconv.Itoa(len(reg.apps))+" applications, its limit", "register with another frontend, or later", time.Second)
	case a != nil && a.ended != "":
		return bad(api.NotReady, "an application of this id is being ended: "+a.ended, "try again when its executors have ended", 200*time.Millisecond)
	case a != nil && a.Submitter != r.Submitter:
		return bad(api.Denied, "an application of this id is that of "+a.Submitter, "choose another id", 0)
	case a != nil && a.Incarnation != r.Incarnation:
		return bad(api.Invalid, "another process with this id is alive", "choose another id, or wait until the other has been silent for "+reg.lease.String(), 0)
	case a != nil:
		a.lastContact = now
		return nil
	}
	reg.apps[r.ID] = newApplication(r, now, &reg.effects)
	return nil
}

// maxApplications bounds the applications of one frontend.
const maxApplications = 1000

// lookup returns an application that is served, and renews its lease.
func (reg *registry) lookup(id string, incarnation int64, now time.Time) (*application, error) {
	if err := reg.cancelled.find(id, incarnation, reg.frontend); err != nil {
		return nil, err
	}
	a := reg.apps[id]
	if a == nil || a.ended != "" || a.Incarnation != incarnation {
		return nil, notKnown(id, reg.frontend)
	}
	if a.conflict != "" {
		return nil, inConflict(id, a.conflict)
	}
	a.lastContact = now
	return a, nil
}

// end ends an application: its grants are withdrawn and its nodes are ordered to
// stop its executors.
func (reg *registry) end(a *application, why string) {
	if a.ended != "" {
		return
	}
	a.ended = why
	a.cancelJobs()
	a.orders.allDue()
	reg.forgetEnded(a)
}

// supersede forgets an application that another frontend serves.
func (reg *registry) supersede(a *application) {
	a.ended = "another frontend serves it"
	a.cancelJobs()
	reg.remove(a)
}

// forgetEnded forgets an application that has ended, when all its nodes have
// accepted that.
func (reg *registry) forgetEnded(a *application) {
	if a.ended == "" {
		return
	}
	for name, s := range a.orders.deliveries {
		if s.done < s.due && reg.nodes[name] != nil {
			return
		}
	}
	reg.remove(a)
}

// remove removes an application.
func (reg *registry) remove(a *application) {
	if reg.apps[a.ID] == a {
		delete(reg.apps, a.ID)
		reg.effects.removed = append(reg.effects.removed, a)
		reg.closing = append(reg.closing, a)
	}
}

// used counts what a task of an application's level, or a job that holds the slots of an executor, had of
// the cluster.
func (reg *registry) used(app, owner string, class sched.Class, slot time.Duration, done bool) {
	app, _, _ = strings.Cut(app, "/")
	a := reg.apps[app]
	for i := len(reg.closing) - 1; a == nil && i >= 0; i-- {
		if reg.closing[i].ID == app {
			a = reg.closing[i]
		}
	}
	if a != nil {
		a.used.add(owner, class, slot, done)
	}
}

// taskEnded applies the end of a task of an application's level, or of a job that holds the slots
// of an executor.
func (reg *registry) taskEnded(app, level, key string, missed bool) {
	app, executor, holds := strings.Cut(app, "/")
	a := reg.apps[app]
	switch {
	case a == nil:
	case !holds:
		a.jobs.taskEnded(level, key, missed)
	default:
		if p := a.executors.byID[executor]; p != nil {
			a.jobs.holdMissed(p, key, missed)
		}
	}
}
