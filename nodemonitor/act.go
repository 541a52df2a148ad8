package nodemonitor

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// act carries out one action of the core that is being stepped.
func (o *owner) act(self sched.Addr, act *sched.Action) {
	w := o.stepping
	switch act.Kind {
	case sched.Send:
		o.send(w, act)
	case sched.Timer:
		o.timers.Set(self, act.At, act.Token)
	case sched.Start:
		o.start(w, act.Msg.AttemptID())
	case sched.Stop:
		if a := w.find(act.Msg.AttemptID()); a != nil {
			o.kill(a)
		}
	case sched.Suspend, sched.Resume:
		if a := w.find(act.Msg.AttemptID()); a != nil {
			o.hold(a, act.Kind == sched.Suspend)
		}
	}
}

// start runs an attempt: that of the launch being stepped, or one that has waited.
func (o *owner) start(w *worker, id sched.AttemptID) {
	a := w.find(id)
	if a == nil {
		a = o.admit(w) // cores start only what was launched
	}
	o.results.Reached(a.owner, a.OwnerAddress)
	o.enter(a, running)
	if o.known(id) {
		// The attempt runs in another slot, or its result is kept: a master that
		// was told so too late. It is not run twice.
		a.twin = true
		w.done(backend.Result{ID: id, Outcome: sched.Done})
		return
	}
	o.runs[id] = a
	t := a.task()
	b := o.backends[t.Payload.Backend]
	if b == nil {
		w.done(backend.Result{ID: id, Outcome: sched.Failed, Reason: o.noBackend(&t)})
		return
	}
	a.backend = b
	b.Start(t, w.done)
}

// known reports whether the attempt has started here, or has ended here a while ago.
func (o *owner) known(id sched.AttemptID) bool {
	if o.results.Keeps(id) {
		return true
	}
	_, runs := o.runs[id]
	return runs
}

// task returns what a backend is to run.
func (a *attempt) task() backend.Task {
	return backend.Task{
		ID: a.id, JobName: a.JobName, TaskName: a.TaskID(a.id.Task, 0), App: a.app, User: a.User,
		HT: a.class == sched.Short, Owner: a.SchedulerAddress, Slot: a.worker.number, Payload: a.Payload(0), Contended: a.Contended,
	}
}

func (o *owner) noBackend(t *backend.Task) string {
	return (&api.Error{
		What: fmt.Sprintf("there is no backend %q", t.Payload.Backend), Subject: t.Subject(),
		Tried: fmt.Sprintf("starting it on node %q", o.self.Name), Next: "run the same version of pigeon on all hosts",
	}).Error()
}

// kill stops what has started; its end comes as an event.
func (o *owner) kill(a *attempt) {
	if a.backend != nil {
		a.killed = true
		a.backend.Kill(a.id)
	}
}

// hold suspends or resumes an attempt. One whose backend cannot goes on beside the
// task that takes its slot: frontends and masters see to it that there is none.
func (o *owner) hold(a *attempt, suspend bool) {
	to, err := running, error(nil)
	if suspend {
		to = suspended
	}
	o.enter(a, to)
	b, can := a.backend.(backend.Suspender)
	switch {
	case a.twin:
	case !can:
		o.log.Warn("an attempt cannot be held or continued by its backend", "attempt", a.id, "job", a.JobName)
	case suspend:
		err = b.Suspend(a.id)
	default:
		err = b.Resume(a.id)
	}
	if err != nil {
		o.log.Debug("an attempt ended before it could be held or continued", "attempt", a.id, "error", err)
	}
}
