package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

var _ backend.Backend = (*Registry)(nil)

// Start launches the task at the backend that brought its slot, or else at the
// resident backend of its application with the fewest tasks.
func (r *Registry) Start(t backend.Task, done func(backend.Result)) {
	defer r.callbacks.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	refuse := func(o sched.Outcome, reason string) {
		r.callbacks.put(func() { done(backend.Result{ID: t.ID, Outcome: o, Reason: reason}) })
	}
	if r.closed {
		refuse(sched.Killed, backend.Stopping)
		return
	}
	if r.table.byID[t.ID] != nil {
		refuse(sched.Failed, r.reason(&t, "this attempt runs here already", "wait for its end"))
		return
	}
	if len(r.table.byID) >= r.cfg.MaxRunning {
		refuse(sched.Lost, r.reason(&t, fmt.Sprintf("the node runs %d tasks of applications, its limit", r.cfg.MaxRunning), "raise the limit"))
		return
	}
	p := r.choose(&t)
	if p == nil {
		refuse(sched.Lost, r.reason(&t, fmt.Sprintf("no backend of application %q is registered here for slot %d", t.App, t.Slot), "nothing; the task is tried elsewhere"))
		return
	}
	u := &run{task: t, done: done, home: p, started: time.Now()}
	r.table.add(u)
	p.running[u] = struct{}{}
	r.stats.Launches++
	r.work.Go(func() { r.launch(u) })
}

// choose returns the backend for a task, nil when there is none. It needs the lock.
func (r *Registry) choose(t *backend.Task) *process {
	if p := r.bySlot[t.Slot]; p != nil {
		if p.app != t.App {
			return nil
		}
		return p
	}
	if t.Slot >= r.cfg.FirstSlot {
		return nil // a slot that is gone
	}
	var best *process
	for _, p := range r.known {
		if p.kind != Resident || p.app != t.App || p.contact.resting {
			continue
		}
		if best == nil || len(p.running) < len(best.running) || len(p.running) == len(best.running) && p.order < best.order {
			best = p
		}
	}
	return best
}

// launch makes the call. The attempt may have ended when it returns.
func (r *Registry) launch(u *run) {
	ctx, cancel := context.WithTimeout(u.home.ctx, r.cfg.LaunchTimeout)
	defer cancel()
	err := r.cfg.Launch(ctx, u.home.address, &u.task)
	if err == nil || errors.Is(err, ErrRefused) {
		r.record(u.home, nil, r.launched)
	}
	switch {
	case err == nil:
		return
	case errors.Is(err, ErrRefused):
		r.end(u, sched.Failed, fmt.Sprintf("the backend at %s refused it: %v", u.home.address, err), "see the backend's own log")
		return
	case errors.Is(err, ErrClosed) && r.closings(u) >= maxClosings:
		r.end(u, sched.Failed, fmt.Sprintf("the backend at %s closed the connection at %d of its launches: its launchTask seems to fail on it", u.home.address, maxClosings), "see the backend's own log")
	default:
		r.end(u, sched.Lost, fmt.Sprintf("the launch call to the backend at %s failed: %v", u.home.address, err), "nothing; the task is tried again")
	}
	r.record(u.home, err, r.launched)
}

// maxClosings is how many launches of a task on this node may end with a closed connection.
const maxClosings = 3

// closings counts a launch that ended with a closed connection, and returns how many of the
// task's launches did.
func (r *Registry) closings(u *run) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.closedAgain(u.names())
}

// end ends a run that may have ended meanwhile.
func (r *Registry) end(u *run, outcome sched.Outcome, what, next string) {
	defer r.callbacks.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table.byID[u.task.ID] == u {
		r.finish(u, outcome, r.reason(&u.task, what, next))
	}
}

// finish removes a run and queues the call of done. It needs the lock.
func (r *Registry) finish(u *run, outcome sched.Outcome, reason string) {
	r.table.remove(u)
	delete(u.home.running, u)
	if u.killed {
		outcome, reason = sched.Killed, ""
	}
	res := backend.Result{ID: u.task.ID, Outcome: outcome, Reason: reason, Started: u.started, Finished: time.Now()}
	r.callbacks.put(func() { u.done(res) })
}

// void ends the runs in a backend as Lost. It needs the lock.
func (r *Registry) void(p *process, reason string) {
	for u := range p.running {
		r.finish(u, sched.Lost, r.reason(&u.task, reason, "nothing; the task is tried again"))
	}
}

// killAll ends every run as Killed. It needs the lock.
func (r *Registry) killAll() {
	for _, u := range r.table.byID {
		r.finish(u, sched.Killed, backend.Stopping)
	}
}

// Kill marks the attempt: the published service cannot stop it, so its end comes
// when the backend reports it or goes away, and is then Killed.
func (r *Registry) Kill(id sched.AttemptID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.table.byID[id]; u != nil {
		u.killed = true
	}
}

// Finished handles a report of ended tasks. The worker is the address that the backend
// registered or another one of its host with the same port; "" when the report names none,
// as Sparrow's does not. The error names the first task that runs in another backend; the
// others are ended all the same.
func (r *Registry) Finished(ctx context.Context, worker string, tasks []TaskRef) (err error) {
	worker = r.registeredAs(ctx, worker)
	defer r.callbacks.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range tasks {
		if u := r.table.find(ref, worker); u != nil {
			r.finish(u, sched.Done, "")
			continue
		}
		what := "it never got"
		if other := r.table.find(ref, ""); other != nil {
			r.stats.Unknown++
			what = "that runs in another backend"
			err = cmp.Or(err, r.elsewhere(&other.task, worker, other.home.address))
		} else if r.table.ended(ref) {
			r.stats.Repeated++
			what = "that had ended already"
		} else {
			r.stats.Unknown++
		}
		r.warn(worker, ref, what)
	}
	return err
}

func (r *Registry) elsewhere(t *backend.Task, worker, home string) error {
	return &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("it runs in the backend at %s, and the report is by a worker at %s", home, worker), Subject: t.Subject(),
		Tried: fmt.Sprintf("ending it on node %q; it runs on", r.cfg.Node), Next: "send as worker the address that the backend registered as its listenSocket",
	}
}

// warn logs a report that is ignored, at most once a second. It needs the lock.
func (r *Registry) warn(worker string, ref TaskRef, what string) {
	if now := time.Now(); r.logged.IsZero() || now.Sub(r.logged) >= time.Second {
		r.logged = now
		r.cfg.Logger.Warn("a backend reported a task "+what+"; the report was ignored",
			"worker", worker, "job", api.Clip(ref.Job, api.MaxKeyBytes), "task", api.Clip(ref.Task, api.MaxKeyBytes), "unknown", r.stats.Unknown, "repeated", r.stats.Repeated)
	}
}

// reason returns a reason of four parts.
func (r *Registry) reason(t *backend.Task, what, next string) string {
	return (&api.Error{What: what, Subject: t.On(r.cfg.Node), Tried: "running it", Next: next}).Error()
}
