package application

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// application is an application that is served, or one that has ended and whose nodes
// have not all accepted that yet.
type application struct {
	api.Application
	began        time.Time
	lastContact  time.Time
	wants        api.Wants
	placeable    bool
	waitingSince time.Time                      // since when an executor finds no memory; zero: none waits
	filesReady   bool                           // its files have arrived
	arrivals     int                            // how often filesReady became true by a file that arrived
	incoming     map[string]*filestore.Incoming // by SHA-256: what receives its files
	used         useByOwner
	over         time.Time // when it was removed, as the next tick saw it
	endedItself  bool      // its own process ended it
	ended        string    // why it has ended, "" while it has not
	conflict     string    // the other user of its id, "" for none
	executors    executors
	orders       orders
	jobs         grantJobs
	updates      updates
}

func newApplication(r *api.Application, now time.Time, e *effects) *application {
	return &application{
		Application: *r, used: useByOwner{}, began: now, lastContact: now, incoming: map[string]*filestore.Incoming{}, executors: executors{byID: map[string]*executor{}, next: 1}, orders: newOrders(e),
		jobs: grantJobs{app: r.ID, user: r.User, owner: r.Owner, submitter: r.Submitter, began: now, levels: map[string]*level{}, effects: e}, updates: newUpdates(),
	}
}

// cancelJobs cancels all jobs of the application.
func (a *application) cancelJobs() {
	for name := range a.jobs.levels {
		a.jobs.drop(name)
	}
	for _, p := range a.executors.byID {
		a.jobs.free(p)
	}
	a.updates.next() // wakes a caller of News
}

func (a *application) stopExecutor(p *executor) {
	p.stop = true
	a.jobs.free(p)
	a.orders.due(p.node)
}

// stopStarting stops n executors that do not run yet, the newest first.
func (a *application) stopStarting(n int) {
	starting := a.executors.starting()
	for _, p := range starting[:min(n, len(starting))] {
		a.stopExecutor(p)
	}
}

// holdSlots holds slots for an executor of an application that takes no grants; slots are those
// that it misses. It misses more than its job has tasks when tasks of an earlier job, which the
// node still counted, have ended since: then a job for all of them replaces that one.
func (a *application) holdSlots(p *executor, slots int) {
	if a.Grants || p.stop || slots <= p.holding {
		return
	}
	a.jobs.free(p)
	a.jobs.hold(p, slots)
}

// adopt adds the executors that a node holds of the application.
func (a *application) adopt(name string, incarnation int64, v *wire.HeldApplication) {
	a.executors.next = max(a.executors.next, v.Last+1)
	for _, x := range v.Executors {
		id := x.State.ID
		if a.executors.byID[id] != nil || x.State.State == api.ExecutorExited || x.Refused {
			continue
		}
		a.executors.byID[id] = &executor{id: id, node: name, incarnation: incarnation, state: x.State, seen: true}
		a.updates.setState(x.State)
		a.executors.next = max(a.executors.next, number(id)+1)
		a.holdSlots(a.executors.byID[id], x.Slots-x.Held)
	}
	a.orders.due(name)
}

// reconcile applies the states of the application's executors on a node; v is nil
// when the node holds nothing of it. An executor that was given up with its node,
// and runs, is stopped.
func (a *application) reconcile(n *node, incarnation int64, v *wire.HeldApplication, now time.Time) {
	held := map[string]*wire.HeldExecutor{}
	if v != nil {
		for i := range v.Executors {
			held[v.Executors[i].State.ID] = &v.Executors[i]
		}
	}
	s := a.orders.to(n.name)
	for id, p := range a.executors.byID {
		if p.node != n.name {
			continue
		}
		x := held[id]
		switch {
		case x != nil && x.Refused:
			a.executorRefused(p, x, now)
		case x != nil && x.State.State == api.ExecutorExited:
			a.executorExited(p, x.State, x.Ran, now)
		case x != nil:
			p.seen, p.state = true, x.State
			a.updates.setState(x.State)
			a.holdSlots(p, x.Slots-x.Held)
		case p.incarnation != incarnation || !s.since.IsZero() && s.done >= s.due && n.requestedAt.After(s.since):
			a.executorLost(p, "its node monitor ended, and it with it")
		}
	}
	for id, x := range held {
		if p := a.executors.byID[id]; (p == nil || p.node != n.name) && !x.Refused && x.State.State != api.ExecutorExited && s.done >= s.due {
			a.orders.due(n.name) // it was given up, and has to be stopped
			break
		}
	}
	if v == nil && s.done > 0 && n.requestedAt.After(s.since) {
		s.done, s.since = 0, time.Time{} // it has lost what was ordered
		a.orders.due(n.name)
	}
}

// executorRefused removes an executor from a node that cannot run it.
func (a *application) executorRefused(p *executor, x *wire.HeldExecutor, now time.Time) {
	delete(a.executors.byID, p.id)
	a.jobs.free(p)
	s := a.orders.to(p.node)
	s.reason, s.memoryFull = x.State.Reason, x.State.State == api.ExecutorWaiting
	s.refused = now.Add(refusedFor)
	if s.memoryFull {
		s.refused = now.Add(memoryFullFor)
	} else {
		a.updates.setState(x.State)
		a.updates.addNote(x.State.Reason)
	}
	a.orders.due(p.node)
}

// executorExited applies the end of an executor.
func (a *application) executorExited(p *executor, s api.ExecutorState, ran time.Duration, now time.Time) {
	delete(a.executors.byID, p.id)
	a.jobs.free(p)
	a.orders.due(p.node)
	switch {
	case p.stop || s.ExitStatus < 0: // it did not end by itself: it, or its node, was stopped or lost
		if p.state.State == api.ExecutorRunning {
			a.executors.restarts.executorStopped(ran)
		}
	default:
		_, running := a.executors.count()
		if a.executors.restarts.executorFailed(now, ran, running) {
			s.Final = true
			a.executors.final = s.Reason
			a.updates.addNote(fmt.Sprintf("%s: %d executors in a row have ended soon after their start, and none runs (while replacing them); no other one is started: correct the cause that the last one reports and start the application again; executor %s on node %s: %s",
				subject(a.ID), a.executors.restarts.failures, p.id, p.node, s.Reason))
		}
	}
	a.updates.setState(s)
}

// executorLost applies that a node no longer has an executor. It is replaced at
// once: it did not end by itself.
func (a *application) executorLost(p *executor, why string) {
	delete(a.executors.byID, p.id)
	a.jobs.free(p)
	s := p.state
	s.State, s.ExitStatus = api.ExecutorExited, -1
	s.Reason = executorGone(p, a.ID, why).Error()
	a.updates.setState(s)
}
