package grants

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

var _ backend.Backend = (*Table)(nil)

// Start puts a grant to an executor of its application, or lets it wait for one
// with room.
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
			refuse(sched.Failed, t.words(&task, "this attempt runs here already", "wait for its end"))
		case t.holds[task.App] != nil:
			t.hold(e, t.holds[task.App], g)
		case a == nil:
			refuse(sched.Lost, t.words(&task, "no executor of its application is here any more", "nothing; it is tried elsewhere"))
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

// assign puts what waits to the executors with room, the emptiest first. It needs
// the lock.
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
		x.news()
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

// Kill ends a grant that has reached nobody. One that has is given back as soon
// as its executor says so: its end comes then, as Killed.
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
			g.executor.news()
		}
	})
}

// end takes a grant out and has its end told. It needs the lock.
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

// without makes a new list, as who ranges over the old one may call it.
func without(list []*grant, g *grant) []*grant {
	for i := range list {
		if list[i] == g {
			return append(append(make([]*grant, 0, len(list)), list[:i]...), list[i+1:]...)
		}
	}
	return list
}

// sweep takes back, until Close, what nobody has fetched in time.
func (t *Table) sweep() {
	defer close(t.gone)
	tick := time.NewTicker(t.cfg.Fetch / 4)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.takeBack(now)
		case <-t.stop:
			return
		}
	}
}

// takeBack ends as lost the grants that have waited for too long. An executor
// that left one lying gets no other before it asks again.
func (t *Table) takeBack(now time.Time) {
	t.update(func(e *ends) {
		for _, g := range t.grants { // they do not depend on each other
			if g.answered || now.Sub(g.began) < t.cfg.Fetch {
				continue
			}
			what := "no executor had room"
			if x := g.executor; x != nil {
				x.silent = true
				what = "executor " + x.id + " did not fetch it"
			}
			t.stats.Lost++
			t.end(e, g, sched.Lost, t.words(&g.task, fmt.Sprintf("%s within %v", what, t.cfg.Fetch), "nothing; it is tried again"))
		}
	})
}

// Close ends every grant and hold as Killed, wakes every executor that waits, and
// returns when all ends have been told.
func (t *Table) Close() {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.mu.Unlock()
	if first {
		close(t.stop)
	}
	<-t.gone
	t.update(func(e *ends) {
		for _, g := range t.grants { // they do not depend on each other
			t.end(e, g, sched.Killed, backend.Stopping)
		}
		for _, h := range t.holds {
			t.release(e, h, sched.Killed, backend.Stopping)
		}
		for _, a := range t.apps {
			for _, x := range a.executors {
				x.news()
			}
		}
		clear(t.apps)
		clear(t.holds)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.calls > 0 {
		t.empty.Wait()
	}
}
