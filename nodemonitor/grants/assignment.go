package grants

import (
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

var _ backend.Backend = (*Table)(nil)

// Start assigns a grant to an executor of its application, or has it wait for one with
// room.
func (t *Table) Start(task backend.Task, done func(backend.Result)) {
	t.update(func(e *ends) {
		g := &grant{task: task, done: done}
		refuse := func(o sched.Outcome, reason string) {
			e.add(func() { done(backend.Result{ID: task.ID, Outcome: o, Reason: reason}) })
		}
		a := t.apps[task.App]
		switch {
		case t.closed:
			refuse(sched.Killed, backend.Stopping)
		case t.grants[task.ID] != nil:
			refuse(sched.Failed, t.reason(&task, "this attempt runs here already", "wait for its end"))
		case t.holds[task.App] != nil:
			t.hold(e, t.holds[task.App], g)
		case a == nil:
			refuse(sched.Lost, t.reason(&task, "no executor of its application is here any more", "nothing; it is tried elsewhere"))
		default:
			g.began = time.Now()
			t.grants[task.ID] = g
			a.waiting = append(a.waiting, g)
			t.assign(a)
			if task.Contended {
				t.recall(classOf(task.HT), func(other *grant) bool { return other == g })
			}
		}
	})
}

// assign assigns the grants that wait to the executors with room, the emptiest first.
// It needs the lock.
func (t *Table) assign(a *application) {
	for len(a.waiting) > 0 {
		x := a.emptiest()
		if x == nil {
			return
		}
		g := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		x.seq++
		g.executor, g.seq = x, x.seq
		x.held[g.task.ID] = g
		x.queue = append(x.queue, g)
		x.wakeUp()
	}
	a.waiting = nil
}

// emptiest returns the executor for the next grant, nil when none has room.
func (a *application) emptiest() *executor {
	var best *executor
	for _, x := range a.executors { // the order of attachment decides between equals
		if x.room() == 0 {
			continue
		}
		if best == nil || len(x.held) < len(best.held) || len(x.held) == len(best.held) && x.order < best.order {
			best = x
		}
	}
	return best
}

// Kill ends a grant that has not reached its executor. One that has ends, as Killed,
// when its executor returns it.
func (t *Table) Kill(id sched.AttemptID) {
	t.update(func(e *ends) {
		g := t.grants[id]
		switch {
		case g == nil:
			t.killHold(e, id)
		case !g.answered:
			t.end(e, g, sched.Killed, "")
		case !g.killed:
			g.killed = true
			g.executor.giveBack = true
			g.executor.wakeUp()
		}
	})
}

// end removes a grant and has done called for it. It needs the lock.
func (t *Table) end(e *ends, g *grant, o sched.Outcome, reason string) {
	delete(t.grants, g.task.ID)
	if x := g.executor; x != nil {
		delete(x.held, g.task.ID)
		x.queue = without(x.queue, g)
	} else if a := t.apps[g.task.App]; a != nil {
		a.waiting = without(a.waiting, g)
	}
	if g.killed {
		o = sched.Killed
	}
	r := backend.Result{ID: g.task.ID, Outcome: o, Reason: reason}
	if g.answered {
		r.Started, r.Finished = g.began, time.Now()
	}
	e.add(func() { g.done(r) })
}

// without returns a new list: the caller may be ranging over the old one.
func without(list []*grant, g *grant) []*grant {
	for i := range list {
		if list[i] == g {
			return append(append(make([]*grant, 0, len(list)), list[:i]...), list[i+1:]...)
		}
	}
	return list
}
